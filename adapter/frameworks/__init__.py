"""What adapters for task frameworks share: names of queues, and units that hold a message each.

This room knows the SDK, and no framework.
"""
