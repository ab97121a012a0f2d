"""What can go wrong with a local Kafka: one error, whose text says what happened and what to do."""

from adapter.errors import Error


class LocalKafkaError(Error):
    """A local Kafka could not be prepared, started or stopped."""

    def __str__(self) -> str:
        return self.text  # no queue manager was involved, so a reason code would mislead
