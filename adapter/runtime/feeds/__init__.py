"""Reads the topics that feeds name, on a Kafka. It must not know what becomes of a message."""
