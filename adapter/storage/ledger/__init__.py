"""The queue manager's write-ahead log: append, replay, owner change.

It knows who may write and which records count. It must not know what is written: payloads are
opaque bytes here, and neither messages nor their encoding are imported.
"""
