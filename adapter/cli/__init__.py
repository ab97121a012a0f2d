"""The mqk command: one subject a file, exit status 0, 1 (the work failed) or 2 (wrong use).

A face like the others: it calls the SDK and the rooms that start things, and must not know how
messages are decided or stored. No traceback ever reaches the user.
"""
