"""The queue manager's process: listener, owner, movers, one wiring file.

This room knows sockets and processes; it knows no rule of queues.
"""
