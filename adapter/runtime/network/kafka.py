"""Topics between queue managers on a Kafka.

A writer is a plain idempotent producer; after a failure it is thrown away, because its records may
come late. A follower is one consumer of all topics, which reads committed records only: a topic
with a transaction that has not ended is not read beyond it, and the others are. What the consumer
fetches ahead is bounded for all topics together. This module knows no message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from adapter.runtime.network.port import (
    NetworkError,
    ReceivedRecord,
    SentRecord,
    TopicLost,
    TopicMissing,
)
from adapter.storage.format import names
from adapter.storage.format.record_headers import bytes_of, headers_of
from adapter.storage.ledger import kafka_settings
from adapter.storage.ledger.failures import (
    OF_CONNECTIONS,
    TOPIC_FORBIDDEN,
    TOPIC_MISSING,
    describe,
    error_of,
    explain,
)
from adapter.storage.ledger.kafka_producers import await_reports
from adapter.storage.ledger.port import RECORD_BYTES_MAX
from adapter.storage.topics.admin import TopicAdmin, TopicError, settings_for
from adapter.storage.topics.specs import TopicSettings, TopicSpec, directory_spec, inbound_spec

PARTITION = 0
ANSWER_S = 10.0
WRITE_S = 20.0
"""After it a record that Kafka has not acknowledged is sent again, by another writer."""
SPARE_S = 5.0
"""The producer times its records by itself, and somewhat late."""
AHEAD_KBYTES = 16 * 1024
"""What a follower fetches ahead, of all topics together."""
READ_RECORDS = 500
LOST = frozenset(
    {
        *TOPIC_MISSING,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._AUTO_OFFSET_RESET,
        KafkaError.OFFSET_OUT_OF_RANGE,
    }
)
"""What reading a topic is answered with that was deleted, or lost the records to be read."""
NOT_ACCEPTED = "the settings for Kafka at {!r} are not accepted"


@contextmanager
def _network_errors(doing: str = "") -> Iterator[None]:
    """Raise NetworkError for what Kafka's clients raise. doing: what a client has failed in."""
    try:
        yield
    except TopicError as error:
        raise NetworkError(str(error)) from error
    except KafkaException as error:
        raise NetworkError(f"{doing}: {describe(error)}") from error


class KafkaTransport:
    """A Transport on Kafka. It connects when it is first used.

    topics: how topics are made; None: as many copies as there are brokers, three at most.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        options: Mapping[str, Any] | None = None,
        topics: TopicSettings | None = None,
    ) -> None:
        self._servers = bootstrap_servers
        self._options = dict(options or {})
        self._topics = topics
        self._made: TopicAdmin | None = None

    def open(self, topic: str) -> str:
        return self._open(inbound_spec(topic))

    def open_directory(self, topic: str) -> str:
        return self._open(directory_spec(topic))

    def identities(self, topics: Sequence[str], *, to_write: bool = False) -> dict[str, str]:
        right = "Write" if to_write else "Describe"
        with _network_errors():
            return self._admin().identities(topics, right) if topics else {}

    def identity(self, topic: str) -> str:
        """Return the id of a topic that is there. Raises TopicMissing, also if the broker that was
        asked does not know it yet: it was made just now.
        """
        found = self.identities([topic])
        if topic not in found:
            raise TopicMissing(f"{topic} is not known on {self._servers}; it is asked for again")
        return found[topic]

    def bounds(self, topic: str) -> tuple[int, int]:
        with _network_errors():
            return self._admin().bounds(topic)

    def trim(self, offsets: Mapping[str, int]) -> None:
        with _network_errors():
            self._admin().trim(offsets)

    def writer(self) -> KafkaTopicWriter:
        return KafkaTopicWriter(self._servers, self._options)

    def follower(self) -> KafkaFollower:
        return KafkaFollower(self._servers, self._options)

    def close(self) -> None:
        self._made = None

    def _open(self, spec: TopicSpec) -> str:
        with _network_errors():
            self._admin().ensure([spec])
        return self.identity(spec.name)

    def _admin(self) -> TopicAdmin:
        made = self._made  # another thread may close it meanwhile
        if made is None:
            topics = self._topics or settings_for(self._servers, self._options, ANSWER_S)
            self._made = made = TopicAdmin(self._servers, topics, self._options)
        return made


class KafkaTopicWriter:
    """A TopicWriter on Kafka."""

    def __init__(self, bootstrap_servers: str, options: Mapping[str, Any]) -> None:
        self._servers = bootstrap_servers
        self._failures: list[KafkaError] = []
        self._has_written = False
        self._error = kafka_settings.LastError()
        failures = self._failures

        def report(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error)

        self._report = report
        settings = {
            **kafka_settings.TIMINGS,
            "request.timeout.ms": 2500,
            "client.id": "mqk-sender",
            **options,
            "bootstrap.servers": bootstrap_servers,
            "message.timeout.ms": round(WRITE_S * 1000),
            "topic.metadata.propagation.max.ms": 5000,
            "enable.idempotence": True,
            "acks": "all",
            **kafka_settings.BATCH_BY_BATCH,
            "linger.ms": 1,
            "batch.size": 512 * 1024,
            "message.max.bytes": RECORD_BYTES_MAX,
            "delivery.report.only.error": True,
            "enable.metrics.push": False,
            "error_cb": self._error,
            "logger": kafka_settings.LOG,
        }
        with _network_errors(NOT_ACCEPTED.format(bootstrap_servers)):
            self._producer: Producer | None = Producer(settings)

    def append(self, topic: str, records: Sequence[SentRecord]) -> None:
        producer = self._producer
        if producer is None:
            raise NetworkError("the writer is closed")
        for record in records:
            self._produce(producer, topic, record)
        deadline_s = time.monotonic() + WRITE_S + SPARE_S
        if not self._has_written:
            self._has_written = True
            # Its flush would wait for a timer of half a second.
            await_reports(
                producer, topic, lambda: bool(self._failures) or not len(producer), deadline_s
            )
        left = producer.flush(max(0.0, deadline_s - time.monotonic()))
        if self._failures:
            failure = self._failures[0]
            kind = TopicMissing if failure.code() in TOPIC_MISSING else NetworkError
            why = explain(failure, "Write", topic)
            raise kind(f"writing to {topic} on {self._servers} failed: {why}")
        if left:
            raise NetworkError(
                f"writing to {topic} on {self._servers}: {left} records had no answer"
            )
        if time.monotonic() > deadline_s:  # as after a stop of the process
            raise NetworkError(
                f"writing to {topic} on {self._servers} took so long that the destination may not "
                "have waited"
            )

    def _produce(self, producer: Producer, topic: str, record: SentRecord) -> None:
        deadline_s = time.monotonic() + WRITE_S
        while True:
            try:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    PARTITION,
                    headers=list(record.headers),
                    on_delivery=self._report,
                )
            except BufferError as error:
                if time.monotonic() > deadline_s:
                    raise NetworkError(f"writing to {topic}: Kafka takes no more") from error
                producer.poll(0.1)
            except KafkaException as error:
                why = explain(error, "Write", topic)
                raise NetworkError(f"writing to {topic} failed: {why}") from error
            else:
                return

    def close(self) -> None:
        """See TopicWriter. What is on its way may still arrive."""
        if self._producer is not None:
            self._producer.purge(blocking=False)
            self._producer = None


class KafkaFollower:
    """A TopicFollower on Kafka."""

    def __init__(self, bootstrap_servers: str, options: Mapping[str, Any]) -> None:
        self._servers = bootstrap_servers
        self._next: dict[str, int] = {}
        """Up to where each topic was read that is followed."""
        self._error = kafka_settings.LastError()
        self._settings = kafka_settings.of_follower(
            bootstrap_servers, options, "mqk-receiver", AHEAD_KBYTES
        ) | {"error_cb": self._error, "enable.partition.eof": True}

    @cached_property
    def _consumer(self) -> Consumer:
        """Made when it is first asked: one that rests meanwhile drops its first connection, and
        waits for half of reconnect.backoff.ms before it makes another one.
        """
        with _network_errors(NOT_ACCEPTED.format(self._servers)):
            return Consumer(self._settings)

    def follow(self, topic: str, offset: int) -> None:
        self.leave(topic)
        with _network_errors(f"reading {topic}"):
            self._consumer.incremental_assign([TopicPartition(topic, PARTITION, offset)])
        self._next[topic] = offset

    def leave(self, topic: str) -> None:
        if self._next.pop(topic, None) is not None:
            self._consumer.incremental_unassign([TopicPartition(topic, PARTITION)])

    def pause(self, topic: str) -> None:
        if topic in self._next:
            self._consumer.pause([TopicPartition(topic, PARTITION)])

    def resume(self, topic: str) -> None:
        if topic in self._next:
            self._consumer.resume([TopicPartition(topic, PARTITION)])

    def bounds(self, topic: str) -> tuple[int, int]:
        try:
            bounds = self._ask_bounds(topic)
        except KafkaException as error:
            kind = TopicMissing if error_of(error).code() in LOST else NetworkError
            why = explain(error, "Describe", topic)
            raise kind(f"asking for the bounds of {topic}: {why}") from error
        if bounds is None:
            raise NetworkError(f"asking for the bounds of {topic}: no answer")
        return bounds[0], bounds[1]

    def _ask_bounds(self, topic: str) -> tuple[int, int] | None:
        place = TopicPartition(topic, PARTITION)
        try:
            return self._consumer.get_watermark_offsets(place, ANSWER_S)
        except KafkaException as error:
            if error_of(error).code() != KafkaError._UNKNOWN_PARTITION:
                raise
        # It had no leader, which the client remembers for five minutes, unless it is asked for.
        self._consumer.list_topics(topic, ANSWER_S)
        return self._consumer.get_watermark_offsets(place, ANSWER_S)

    def has_read_all(self, topic: str) -> bool:
        """See TopicFollower. Markers of transactions are passed when the consumer says so."""
        end = self.bounds(topic)[1]
        return self._next.get(topic, 0) >= end

    def read(self, timeout_s: float) -> list[ReceivedRecord | TopicLost]:
        with _network_errors(f"reading on {self._servers}"):
            first = self._consumer.poll(timeout_s)  # consume() would wait until all are there
            if first is None:
                return []
            rest = self._consumer.consume(READ_RECORDS, 0)
        found = [self._read(one) for one in (first, *rest)]
        return [one for one in found if one is not None]

    def close(self) -> None:
        if "_consumer" in vars(self):
            self._consumer.close()

    def _read(self, message: Message) -> ReceivedRecord | TopicLost | None:
        topic, error = message.topic() or "", message.error()
        if error is not None:
            return self._problem(topic, message.offset() or 0, error)
        if topic not in self._next:
            return None
        self._next[topic] = (message.offset() or 0) + 1
        headers = headers_of(message)
        return ReceivedRecord(
            topic,
            message.offset() or 0,
            bytes_of(message.value()),
            None if headers is None else dict(headers),
            bytes_of(message.key()),
        )

    def _problem(self, topic: str, offset: int, error: KafkaError) -> TopicLost | None:
        """An error of one topic; others are of connections, which the client makes again."""
        if error.code() == KafkaError._PARTITION_EOF:
            if topic in self._next:
                self._next[topic] = max(self._next[topic], offset)
            return None
        if topic not in self._next or error.code() in OF_CONNECTIONS:
            return None
        self.leave(topic)
        if error.code() in LOST | TOPIC_FORBIDDEN:
            why, is_there = explain(error, "Read", topic), error.code() in TOPIC_FORBIDDEN
            return TopicLost(topic, why, is_there)
        remedy = "delete the topic: it is made and written again"
        if topic != names.DIRECTORY_TOPIC:
            remedy = (
                f"delete its records before offset {offset + 1} (kafka-delete-records.sh), and "
                "send again what they were"
            )
        why = f"what {topic} has at offset {offset} cannot be fetched: {describe(error)}"
        return TopicLost(topic, f"{why}; if it stays so, {remedy}", is_there=True)
