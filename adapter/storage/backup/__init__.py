"""A whole queue manager in a file, and back on a Kafka that knows nothing of it.

What a backup consists of, taking one, reading it, restoring it. It must not know what any message
or entry means, beyond which messages a snapshot speaks of.
"""
