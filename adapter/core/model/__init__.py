"""What a queue manager holds in memory: messages, queues, units, sessions, handles.

Data and the invariants of each structure live here; what a verb means lives in core.rules.
"""
