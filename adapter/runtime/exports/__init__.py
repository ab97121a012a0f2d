"""Exports: the messages of a queue, written to a topic of Kafka."""
