"""Between queue managers: topics that carry messages from one to another, and the directory.

The parts know transports, records and transmission queues; they must not know the rules of queues.
"""
