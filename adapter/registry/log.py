"""Where a registry's changes lie: a log of records with keys, in memory or a compacted topic.

Every record has a key of its own, so that compaction removes only what was marked for removal: a
late record of a deposed writer can never take another's place. It knows neither schemas nor who may
write.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import structlog
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from msgspec import Struct

from adapter.storage.ledger.failures import Failure
from adapter.storage.ledger.kafka_producers import await_reports, end
from adapter.storage.ledger.kafka_reader import (
    PARTITION,
    LedgerSource,
    ledger_failure,
    offset_of,
    unavailable,
    wrong_settings,
)
from adapter.storage.ledger.kafka_settings import LedgerSettings, producer_settings
from adapter.storage.ledger.memory import MemoryLog
from adapter.storage.ledger.port import LedgerError, LedgerMismatch, LedgerUnavailable
from adapter.storage.topics import admin as topics
from adapter.storage.topics.specs import TopicSettings, schemas_spec

SCHEMAS = "_schemas"
"""The default topic."""
WRITE_TIMEOUT_MS = 15_000
"""After it a write is doubtful. A client that registers a schema waits for it, over HTTP."""
READ_TIMEOUT_S = 15.0
FETCH_WAIT_MS = 2
NOWHERE = -1
CHECK_S = 1.0
"""Between two questions for the topic's id, each of some milliseconds, while it ends where it did:
another topic would have to end just there."""
MADE_AGAIN = "it was created again; restart the registry, so that it reads the new topic"
SPARE_S = 5.0
"""The producer times its messages by itself, and somewhat late."""

log = structlog.get_logger("mqk.registry")


class TopicRemadeError(LedgerMismatch):
    """The topic is another one of its name. What was read of the former one is not true of it."""


class RecordsMissingError(LedgerError):
    """Of what was written since the last read compaction has removed something. So it is not known
    what: the next read begins at the first record.
    """


class Kept(Struct):
    """One record as it lies there. value: None if its key is to be forgotten."""

    key: bytes
    value: bytes | None


class SchemaLog(Protocol):
    """A log of one registry. For one thread at a time."""

    topic: str

    def write(self, key: bytes, value: bytes) -> None:
        """Write a record, durably. LedgerUnavailable: it may be there or not, or come later."""

    def read(self) -> list[Kept]:
        """Return what was written since the last read, up to the end as it is now.

        Raises LedgerUnavailable, RecordsMissingError, or LedgerMismatch: TopicRemadeError if it is
        another log.
        """

    def forget(self, keys: Sequence[bytes]) -> bool:
        """Let compaction remove records; whether that is sure. What fails is logged: they only take
        room.
        """

    def close(self) -> None:
        """Let go of connections; they are made again when needed. May be called twice."""


class MemorySchemaLog:
    """A SchemaLog on a MemoryLog, which several may share, as a topic."""

    def __init__(self, log: MemoryLog | None = None) -> None:
        self._log = log or MemoryLog(SCHEMAS)
        self.topic = self._log.topic
        self._next = self._log.first

    def write(self, key: bytes, value: bytes) -> None:  # noqa: ARG002 -- memory is not compacted
        self._log.write(value)

    def read(self) -> list[Kept]:
        records = self._log.read(self._next, self._log.end)
        self._next += len(records)
        return [Kept(b"", one.value) for one in records]

    def forget(self, keys: Sequence[bytes]) -> bool:  # noqa: ARG002 -- memory is not compacted
        return True

    def close(self) -> None:
        pass


class TopicLog:
    """A SchemaLog on a topic of Kafka, which is made if it is missing.

    Kafka's clients read by name and offset: if the topic is deleted and made again, as by a
    restore, they go on in the midst of the new one. So its id is asked for behind each read of
    records, and before they are handed on: an id is never used again. Nor do they say what
    compaction has removed behind the last read: of that even the markers go after a day. But
    offsets have no gaps, other than those that compaction makes.

    Nothing is asked of Kafka before the first call.
    client: further librdkafka settings, for security. replication: copies of the topic, if it is
    made; 0: as many as there are brokers, three at most. read_timeout_s: for Kafka to answer.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str = SCHEMAS,
        client: Mapping[str, Any] | None = None,
        replication: int = 0,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> None:
        self.topic = topic
        self._replication = replication
        self._settings = LedgerSettings(
            bootstrap_servers=bootstrap_servers,
            topic=topic,
            # The next question waits behind a fetch that waits for records.
            client=client or {},
            reader={"fetch.wait.max.ms": FETCH_WAIT_MS},
            message_timeout_ms=WRITE_TIMEOUT_MS,
            read_timeout_s=read_timeout_s,
        )
        self._source: LedgerSource | None = None
        self._admin: topics.TopicAdmin | None = None
        self._topic_id = ""
        self._checked_s = 0.0
        self._producer: Producer | None = None
        self._next = NOWHERE
        self._unread: list[Kept] = []  # what was read before a read failed
        self._has_read = False  # up to an end: behind it no offset is missing yet

    def write(self, key: bytes, value: bytes) -> None:
        """See the port. A producer that failed once is of no more use: its record may come late."""
        self._open_source()
        reports: list[tuple[KafkaError | None, Message]] = []
        producer = self._writer()
        deadline_s = time.monotonic() + WRITE_TIMEOUT_MS / 1000 + SPARE_S
        try:
            producer.produce(
                self.topic,
                value,
                key,
                PARTITION,
                on_delivery=lambda error, message: reports.append((error, message)),
            )
            await_reports(producer, self.topic, lambda: bool(reports), deadline_s)
        except KafkaException as error:
            self._drop_producer()
            raise ledger_failure(self._settings, "writing", error, "Write") from error
        except BufferError as error:
            self._drop_producer()
            raise unavailable(self._settings, "writing", str(error), Failure.RETRY) from error
        failure = reports[0][0] if reports else KafkaError(KafkaError._MSG_TIMED_OUT)
        if failure is not None:
            self._drop_producer()
            raise ledger_failure(self._settings, "writing", failure, "Write")

    def read(self) -> list[Kept]:
        source = self._open_source()
        end = source.bounds()[1]
        if end < self._next:
            self._check_topic()
            raise TopicRemadeError(
                f"{self.topic} ends at offset {end}, and was read up to {self._next}: {MADE_AGAIN}"
            )
        if self._next < end:
            source.start(self._next)
            while self._next < end:
                for message in source.take_some():
                    offset = offset_of(message)
                    if self._has_read and offset != self._next:
                        self._begin_again(source)
                    self._unread.append(Kept(message.key() or b"", message.value()))
                    self._next = offset + 1
            source.rest()
        if self._unread or time.monotonic() - self._checked_s >= CHECK_S:
            self._check_topic()
        self._has_read = True
        found, self._unread = self._unread, []
        return found

    def forget(self, keys: Sequence[bytes]) -> bool:
        failures: list[str] = []

        def note(error: KafkaError | None, _message: Message) -> None:
            failures.extend([] if error is None else [str(error)])

        try:
            producer = self._writer()
            for key in keys:
                producer.produce(self.topic, None, key, PARTITION, on_delivery=note)
            if left := producer.flush(WRITE_TIMEOUT_MS / 1000):
                failures.append(f"{left} of {len(keys)} are not written in time")
        except (KafkaException, BufferError, LedgerUnavailable) as error:
            failures.append(str(error))
        if failures:
            log.warning("records were not forgotten", topic=self.topic, why=failures[0])
        return not failures

    def close(self) -> None:
        self._drop_producer()
        if self._source is not None:
            self._source.close()
            self._source = None
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _open_source(self) -> LedgerSource:
        if self._source is None:
            self._source = self._open()
        return self._source

    def _open(self) -> LedgerSource:
        settings = self._settings
        servers, client = settings.bootstrap_servers, settings.client
        try:
            wanted = topics.settings_for(servers, client, settings.read_timeout_s)
            if copies := self._replication:
                wanted = TopicSettings(replication=copies, min_insync_replicas=max(1, copies - 1))
            if self._admin is None:
                self._admin = topics.TopicAdmin(servers, wanted, client)
            self._admin.ensure([schemas_spec(self.topic)])
        except topics.TopicError as error:
            raise LedgerUnavailable(str(error), retriable=error.retriable) from error
        self._check_topic()
        source = LedgerSource(settings)
        try:
            if self._next == NOWHERE:
                self._next = source.bounds()[0]
        except BaseException:
            source.close()
            raise
        return source

    def _begin_again(self, source: LedgerSource) -> None:
        """Let the next read begin at the first record, and say so."""
        source.rest()
        missing = self._next
        self._next, self._unread, self._has_read = source.bounds()[0], [], False
        raise RecordsMissingError(f"{self.topic} has no record at offset {missing} any more")

    def _check_topic(self) -> None:
        """Refuse another topic than the one that was read before."""
        assert self._admin is not None, "the source is open"
        try:
            found = self._admin.identities([self.topic]).get(self.topic)
        except topics.TopicError as error:
            raise LedgerUnavailable(str(error), retriable=error.retriable) from error
        if found is None:
            why = f"{self.topic} is not there at the moment, as far as the broker knows"
            raise LedgerUnavailable(f"{why}: try again")
        self._topic_id = self._topic_id or found
        self._checked_s = time.monotonic()
        if found != self._topic_id:
            raise TopicRemadeError(f"{self.topic} is another topic than before: {MADE_AGAIN}")

    def _writer(self) -> Producer:
        if self._producer is None:
            try:
                settings = producer_settings(self._settings, lambda _error: None)
                self._producer = Producer(settings)
            except KafkaException as error:
                raise wrong_settings(self._settings, error) from error
        return self._producer

    def _drop_producer(self) -> None:
        if self._producer is not None:
            end(self._producer)
            self._producer = None
