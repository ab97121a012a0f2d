"""What can go wrong with a local Kafka: one error, whose text says what happened and what to do."""


class LocalKafkaError(Exception):
    """A local Kafka could not be prepared, started or stopped."""
