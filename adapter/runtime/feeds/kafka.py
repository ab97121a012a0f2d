"""Topics of a Kafka, as feeds read them: one consumer for each feed, of committed records only.

Its partitions are assigned, never subscribed to: which are read, and from where, is decided by the
queue manager alone. The consumer group is a name under which positions are shown. This module knows
no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    OffsetSpec,
)

from adapter.runtime.feeds.port import (
    FeedError,
    FeedTopic,
    MissingTopicError,
    PartitionEnd,
    PartitionLost,
    Read,
    UnreadableTopicError,
)
from adapter.runtime.feeds.schemas import FeedSchemas, MakeRegistry
from adapter.storage.format import names
from adapter.storage.format.feeds import TopicRecord
from adapter.storage.format.record_headers import bytes_of, headers_of
from adapter.storage.ledger import kafka_settings
from adapter.storage.ledger.answers import answer_of
from adapter.storage.ledger.failures import (
    OF_CONNECTIONS,
    TOPIC_FORBIDDEN,
    TOPIC_MISSING,
    describe,
    describe_denial,
    error_of,
)
from adapter.storage.topics.admin import TopicError, admin_client

ANSWER_S = 10.0
SPARE_S = 5.0
"""The client times its requests by itself, and somewhat late."""
AHEAD_KBYTES = 8 * 1024
"""What a consumer fetches ahead, of all partitions together."""
READ_RECORDS = 500
NO_RECORD = -1
"""The answer where no record is of a time or later."""
LOST = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


class KafkaFeedTopics:
    """The topics of a Kafka; see FeedTopics. options: further settings of librdkafka."""

    def __init__(
        self,
        bootstrap_servers: str,
        options: Mapping[str, Any] | None = None,
        registry: MakeRegistry | None = None,
    ) -> None:
        """registry: makes the schema registry of values."""
        self.decoder = FeedSchemas(registry)
        self._servers = bootstrap_servers
        self._options = dict(options or {})

    def consumer(self, queue_manager: str, feed: str, topic: str) -> KafkaFeedConsumer:
        group = names.feed_group(queue_manager, feed)
        return KafkaFeedConsumer(self._servers, self._options, group, topic)


class ShownOffsets:
    """Hears whether offsets were committed. It holds no client: see LastError."""

    def __init__(self, group: str) -> None:
        self._group = group
        self.problem = ""

    def __call__(self, error: KafkaError | None, _offsets: list[TopicPartition]) -> None:
        if error is None:
            self.problem = ""
        elif error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
            self.problem = describe_denial("Read", f"group {self._group}")
        else:
            self.problem = describe(error)


class KafkaFeedConsumer:
    """Reads one topic; see FeedConsumer."""

    _reader = "the queue manager"
    _remedy = "create it, or delete the feed"
    _record_remedy = "mqk feed seek passes over it"
    """In its errors: who reads, and what to do about a topic that does not exist, or about a record
    that cannot be fetched.
    """

    def __init__(
        self, bootstrap_servers: str, options: Mapping[str, Any], group: str, topic: str
    ) -> None:
        self._servers = bootstrap_servers
        self._topic = topic
        self._answer_s = ANSWER_S
        self._failed: FeedError | None = None
        """What the next read() raises."""
        settings = kafka_settings.of_follower(bootstrap_servers, options, group, AHEAD_KBYTES)
        settings["enable.partition.eof"] = True
        self._shown = settings["on_commit"] = ShownOffsets(group)
        try:
            self._admin: AdminClient = admin_client(bootstrap_servers, options)
            self._consumer = Consumer(settings)
        except TopicError as error:
            raise FeedError(str(error)) from error
        except KafkaException as error:
            raise FeedError(
                f"the settings for Kafka at {bootstrap_servers!r} are not accepted: "
                f"{describe(error)}; correct them"
            ) from error

    def describe(self) -> FeedTopic:
        with self._asking():
            asked = self._admin.describe_topics(
                TopicCollection([self._topic]), request_timeout=self._answer_s
            )
        found = self._answer(asked[self._topic])
        if not found.partitions or found.topic_id is None:
            raise FeedError(f"asking for topic {self._topic}: no answer")
        partitions = sorted(found.partitions, key=lambda one: one.id)
        without = [one.id for one in partitions if one.leader is None or one.leader.id < 0]
        ids = tuple(one.id for one in partitions)
        return FeedTopic(str(found.topic_id), ids, tuple(without))

    def first(self, partitions: Sequence[int]) -> dict[int, int]:
        earliest = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        return self._offsets(partitions, earliest)

    def ends(self, partitions: Sequence[int]) -> dict[int, int]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return self._offsets(partitions, latest)

    def since(self, partitions: Sequence[int], time_ms: int) -> dict[int, int]:
        spec = OffsetSpec.for_timestamp(time_ms)
        found = self._offsets(partitions, spec)
        ends = self.ends([n for n, offset in found.items() if offset == NO_RECORD])
        return found | ends

    def assign(self, offsets: Mapping[int, int]) -> None:
        places = [TopicPartition(self._topic, n, offset) for n, offset in offsets.items()]
        with self._asking():
            self._consumer.incremental_assign(places)

    def pause(self, partition: int) -> None:
        with self._asking():
            self._consumer.pause([TopicPartition(self._topic, partition)])

    def resume(self, partition: int) -> None:
        with self._asking():
            self._consumer.resume([TopicPartition(self._topic, partition)])

    def read(self, timeout_s: float) -> list[Read]:
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        with self._asking():
            first = self._consumer.poll(timeout_s)  # consume() would wait until all are there
            if first is None:
                return []
            rest = self._consumer.consume(READ_RECORDS, 0)
        found: list[Read] = []
        for one in (first, *rest):
            try:
                taken = self._read(one)
            except FeedError as error:
                if not found:
                    raise
                # What lies before it is not lost. A traceback would keep the client.
                self._failed = error.with_traceback(None)
                break
            found += [] if taken is None else [taken]
        return found

    def show(self, offsets: Mapping[int, int]) -> None:
        places = [TopicPartition(self._topic, n, offset) for n, offset in offsets.items()]
        try:
            self._consumer.commit(offsets=places, asynchronous=True)
        except KafkaException as error:
            self._shown(error_of(error), places)

    @property
    def not_shown(self) -> str:
        return self._shown.problem

    def close(self) -> None:
        self._consumer.close()
        self._admin.__exit__(None, None, None)

    def _read(self, message: Message) -> Read | None:
        error = message.error()
        partition, offset = message.partition() or 0, message.offset() or 0
        if error is None:
            return TopicRecord(
                partition,
                offset,
                bytes_of(message.key()),
                bytes_of(message.value()),
                headers_of(message),
                message.timestamp()[1],
            )
        if error.code() == KafkaError._PARTITION_EOF:
            return PartitionEnd(partition, offset)
        if error.code() in LOST:
            return PartitionLost(partition)
        if error.code() in TOPIC_MISSING | TOPIC_FORBIDDEN:
            raise self._failure(KafkaException(error))
        is_of_record = message.topic() is not None and error.code() not in OF_CONNECTIONS
        if is_of_record or error.fatal():
            raise FeedError(
                f"reading {self._topic} on {self._servers}: what partition {partition} has at "
                f"offset {offset} cannot be fetched: {describe(error)}; {self._record_remedy}"
            )
        return None  # of connections, which the client makes again, or of the group

    def _offsets(
        self,
        partitions: Sequence[int],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[int, int]:
        if not partitions:
            return {}
        places = {TopicPartition(self._topic, n): spec for n in partitions}
        with self._asking():
            asked = self._admin.list_offsets(
                places,
                isolation_level=isolation,
                request_timeout=self._answer_s,
            )
        offsets = {place.partition: self._answer(one).offset for place, one in asked.items()}
        unknown = [n for n, offset in offsets.items() if offset < NO_RECORD]
        if unknown:  # the client reports no error if its connection was lost
            raise FeedError(
                f"asking for offsets of {self._topic}, partition {unknown[0]}: no answer"
            )
        return offsets

    def _answer(self, future: Future[Any]) -> Any:
        """Wait for an answer; see answer_of()."""
        try:
            return answer_of(future, self._answer_s + SPARE_S)
        except KafkaException as error:
            if error_of(error).code() == KafkaError._TIMED_OUT:
                raise FeedError(f"Kafka at {self._servers} does not answer") from error
            raise self._failure(error) from error

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise self._failure(error) from error

    def _failure(self, error: KafkaException) -> FeedError:
        code = error_of(error).code()
        if code in TOPIC_MISSING:
            return MissingTopicError(
                f"topic {self._topic} does not exist on {self._servers}: {self._remedy}"
            )
        if code in TOPIC_FORBIDDEN:
            return UnreadableTopicError(
                f"{self._reader} may not read topic {self._topic}: allow its user of Kafka to "
                "READ and DESCRIBE it"
            )
        return FeedError(f"reading {self._topic} on {self._servers}: {describe(error)}")
