"""How much of what happened has been copied to the queues' topics, as the mover itself records.

It reads the topic of the movers' progress. The checker does not rely on it.
"""

from __future__ import annotations

from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from adapter.demo.errors import DemoError
from adapter.format import names, progress

STREAM = 0
"""The partition of the mover that copies messages."""


class TopicCopies:
    """Follows the mover's progress; a context manager."""

    def __init__(self, servers: str, queue_manager: str) -> None:
        self._topic = names.progress_topic(queue_manager)
        self._copied = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "mqk-demo",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
            }
        )
        self._consumer.assign([TopicPartition(self._topic, STREAM, 0)])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._consumer.close()

    def count(self, wait_s: float) -> int:
        """How many messages are copied; looks for news for so long."""
        try:
            for message in self._consumer.consume(10_000, wait_s):
                if message.error() is None and not progress.is_mark(message.key()):
                    self._copied = progress.decode(message.value() or b"").copied
        except KafkaException as problem:
            raise DemoError(f"{self._topic} cannot be read: {problem}") from problem
        return self._copied
