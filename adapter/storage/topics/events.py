"""The events topic of a queue manager, read from its first record on, and then as records come.

Only committed records are shown, so the last offset of the topic says nothing: it may be that of a
transaction's marker. That everything there is has been read is what Kafka's client reports at the
end of the partition, again after whatever came later. This module does not know what an event says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from adapter.core.contract.records import EventRaised
from adapter.errors import KafkaNotAvailable
from adapter.storage.format import events, names
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.failures import describe
from adapter.storage.ledger.kafka_settings import ASSIGNED, LOG, TIMINGS, LastError

ANSWER_MS = 10_000
"""How long Kafka may take for the first record, or to report that the topic is empty."""
LOOK_MS = 200
"""How long a Ctrl-C, and the end of a read from outside, may have to wait."""
IsEnded = Callable[[], bool]


class EventReader:
    """Reads the events of one queue manager; a context manager."""

    def __init__(
        self, queue_manager: str, bootstrap_servers: str, options: Mapping[str, Any]
    ) -> None:
        """options: further settings of librdkafka, for security. Raises KafkaNotAvailable."""
        self._servers = bootstrap_servers
        self._topic = names.events_topic(queue_manager)
        self._error = LastError()
        settings = {
            **TIMINGS,
            "client.id": "mqk-events",
            "fetch.wait.max.ms": 100,
            **options,
            "bootstrap.servers": bootstrap_servers,
            "group.id": "mqk-events",  # asked for by the client, never used
            **ASSIGNED,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",  # old events are deleted while they are read
            "isolation.level": "read_committed",
            "error_cb": self._error,
            "logger": LOG,
        }
        try:
            self._consumer = Consumer(settings)
        except KafkaException as error:
            raise KafkaNotAvailable(f"the settings of Kafka's client: {describe(error)}") from error
        self._consumer.assign([TopicPartition(self._topic, 0, OFFSET_BEGINNING)])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._consumer.close()

    def read(self, wait_ms: int, is_ended: IsEnded = lambda: False) -> Iterator[EventRaised]:
        """Give the events, oldest first, until none has come for so long; -1: without end.

        is_ended: asked while nothing comes; the read ends too when it is so.
        Raises KafkaNotAvailable. A record that is no event is left out.
        """
        at_end = False
        while True:
            record = self._next(wait_ms if at_end else ANSWER_MS, is_ended)
            if record is None and (at_end or is_ended()):
                return
            if record is None:
                raise self._failure(self._error.text or f"no answer in {ANSWER_MS // 1000} s")
            error = record.error()
            at_end = error is not None and error.code() == KafkaError._PARTITION_EOF
            if error is not None and not at_end:
                raise self._failure(describe(error))
            event = _event(record) if error is None else None
            if event is not None:
                yield event

    def _next(self, wait_ms: int, is_ended: IsEnded) -> Message | None:
        """Wait for a record, in short steps; None if none came."""
        left_ms = wait_ms
        while True:
            step_ms = min(left_ms, LOOK_MS) if wait_ms >= 0 else LOOK_MS
            record = self._consumer.poll(step_ms / 1000)
            left_ms -= step_ms
            if record is not None or (wait_ms >= 0 and left_ms <= 0) or is_ended():
                return record

    def _failure(self, why: str) -> KafkaNotAvailable:
        return KafkaNotAvailable(f"topic {self._topic} on {self._servers} cannot be read: {why}")


def _event(record: Message) -> EventRaised | None:
    try:
        return events.decode(record.value() or b"")[1]
    except UnreadableError:
        return None
