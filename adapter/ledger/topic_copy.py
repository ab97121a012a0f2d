"""A whole ledger topic, raw: read to its present end, or written anew from a backup.

What is written back lies at the offsets that it had, so that positions in it stay true. Nothing
here decides which records count.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.ledger.backup import Raw
from adapter.ledger.failures import describe
from adapter.ledger.kafka_reader import PARTITION, Source, offset_of, wrong_settings
from adapter.ledger.kafka_settings import LedgerSettings, producer_settings
from adapter.ledger.port import LedgerError, LedgerMismatch, LedgerUnavailable

POLL_S = 0.1
STALL_S = 30.0
"""Without a record for so long, though there are some: the broker is gone."""


class RestoreError(LedgerError):
    """A ledger topic could not be written from a backup; the text says what to do."""


class Whole:
    """The records that a ledger topic holds now: offsets first to end, end excluded."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        with Source(settings) as source:
            source.check_topic()
            self.first, self.end = source.bounds()

    def records(self) -> Iterator[Raw]:
        """Read them in order."""
        following = self.first
        with Source(self._settings) as source:
            source.start(following)
            heard_s = time.monotonic()
            while following < self.end:
                for message in source.take(POLL_S):
                    heard_s = time.monotonic()
                    offset = offset_of(message)
                    following = offset + 1
                    if offset < self.end:
                        yield Raw(offset, message.timestamp()[1], message.value())
                self._check_that_it_answers(heard_s)

    def _check_that_it_answers(self, heard_s: float) -> None:
        if time.monotonic() - heard_s > STALL_S:
            raise LedgerUnavailable(
                f"{self._settings.topic}: nothing came for {STALL_S:.0f} s; check that Kafka runs"
            )


class Restoring:
    """Writes records into an empty ledger topic, each at the offset that it had."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._next = 0
        self._problem = ""
        self._last_error = ""

    def write(self, records: Iterable[Raw]) -> int:
        """Write them all; how many, when all are durable and where they were.

        Raises LedgerMismatch if the topic is not empty, RestoreError for all that fails later.
        """
        self.require_empty()
        producer = self._producer()
        count = 0
        for raw in records:
            self._produce(producer, raw)
            count += 1
            if self._problem:
                break
        self._await_all(producer)
        if self._problem or self._next != count:
            raise self._failed(self._problem or f"{count - self._next} records were not confirmed")
        return count

    def require_empty(self) -> None:
        """Raise LedgerMismatch if the topic has ever had a record."""
        whole = Whole(self._settings)
        if whole.end:
            raise LedgerMismatch(
                f"{self._settings.topic} is not empty: it has had {whole.end} records, and a queue "
                "manager may be running on it. A backup is restored into an empty ledger: stop the "
                "queue manager, make sure that this ledger is not needed, delete its topic, and "
                "restore again"
            )

    def _producer(self) -> Producer:
        settings = {**producer_settings(self._settings, self._on_error), "linger.ms": 20}
        try:
            return Producer(settings)
        except KafkaException as error:
            raise wrong_settings(self._settings, error) from error

    def _produce(self, producer: Producer, raw: Raw) -> None:
        topic = self._settings.topic
        while not self._problem:
            try:
                producer.produce(topic, raw.value, None, PARTITION, on_delivery=self._reported)
            except BufferError:
                producer.poll(POLL_S)
            except KafkaException as error:
                self._problem = f"offset {raw.offset} was refused: {describe(error)}"
            else:
                producer.poll(0)
                return

    def _await_all(self, producer: Producer) -> None:
        deadline_s = time.monotonic() + self._settings.message_timeout_ms / 1000
        while len(producer) and not self._problem and time.monotonic() < deadline_s:
            producer.poll(POLL_S)
        producer.purge()
        producer.poll(0)

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        if self._problem:
            return
        if error is not None:
            self._problem = f"{describe(error)} {self._last_error}".strip()
        elif offset_of(message) != self._next:
            self._problem = (
                f"what belongs at offset {self._next} came to lie at offset {offset_of(message)}: "
                "another program writes to the topic"
            )
        self._next += 1

    def _failed(self, why: str) -> RestoreError:
        return RestoreError(
            f"{self._settings.topic} was restored in part only: {why}. Stop the queue manager if "
            "it runs, delete the topic, and restore again"
        )

    def _on_error(self, error: KafkaError) -> None:
        self._last_error = describe(error)
