"""What a queue manager's process does beside serving requests: movers, exporters, feeds, senders,
the command server, its own schemas.
"""
