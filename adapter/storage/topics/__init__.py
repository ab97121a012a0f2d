"""Queue topics on Kafka: created, read, decoded and trimmed here, and nowhere else.

This room does not know the rules of queues, nor who asks.
"""
