"""What adapters for task frameworks share: names of queues, units that hold a message each,
and what becomes of a message that is rejected.

This room knows the SDK, and no framework.
"""
