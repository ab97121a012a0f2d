"""The demo: a year of real flights through transactional queues, and an independent check.

This package lies beside adapter. It drives a queue manager from outside, as a user would: through
the command, the SDK, the page of figures, and a proxy between them, in which it counts commits. It
must not know how the queue manager works inside.
"""
