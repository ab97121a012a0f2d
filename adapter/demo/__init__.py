"""The demo: a year of real flights through transactional queues, and an independent check.

This room drives a queue manager from outside, as a user would: through the command, the SDK and a
proxy between them. It must not know how the queue manager works inside.
"""
