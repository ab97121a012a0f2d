"""Topics of a Kafka, as exports write them: records and progress in one transaction.

**Exactly once.** The progress says which messages the last transaction wrote, and is written in it.
A writer that takes over initialises the transactional id: that ends what its predecessor had open,
and fences it. Then it reads the progress. What is on the queue still and in the progress is there
already.

**What Kafka never shows.** Kafka drops the end of a transaction in a partition that has no leader
at that moment (see movers.open_lanes): what was written there stays open, and hides what comes
behind it. The next transaction of the same producer in this partition ends both alike: if that one
is aborted, readers never see records that are committed. So the progress says also where the
records of late transactions are, until Kafka has shown them. A writer that takes over ends what is
open, by a transaction that it aborts, and writes again what readers of committed records do not
see. This is done before anything else is written, by one producer, so that the order stays: what
came behind such a record in its partition was not shown either.

This module knows no message.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, cast

import structlog
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from msgspec import structs

from adapter.runtime.exports.open_transactions import OpenTransactions
from adapter.runtime.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.runtime.exports.refused_records import RefusedRecords
from adapter.storage.format import exports as format_exports
from adapter.storage.format import names
from adapter.storage.format.exports import ExportedRecord, ExportProgress
from adapter.storage.format.hops import ORIGIN
from adapter.storage.format.record_headers import headers_of
from adapter.storage.ledger.failures import DENIES, describe, error_of
from adapter.storage.movers.errors import Doubtful, Fenced
from adapter.storage.movers.open_lanes import OpenLane
from adapter.storage.movers.progress import Committed
from adapter.storage.movers.settings import (
    KafkaCluster,
    MoverSettings,
    ProducerWatch,
    producer_settings,
)
from adapter.storage.movers.socket_timeout import SocketTimeout
from adapter.storage.movers.transactions import AlternatingProducers, Transactional
from adapter.storage.topics.admin import TopicAdmin, TopicError
from adapter.storage.topics.specs import TopicSettings, progress_spec

ANSWER_S = 10.0
LOOK_S = 1.0
"""How often it is looked whether Kafka shows what was written. What it has not shown between two
looks, though nothing of others hides it, it never shows."""
ROUNDS = 3
"""What was written again may be hidden in its turn, if a broker fails once more."""
RECORD_BYTES_MAX = 100 * 1024 * 1024 - 64 * 1024
"""A broker ends connections with requests above 100 MiB (socket.request.max.bytes). What topics
take is for them to say."""
KEY, MARK, BEGINS = "progress", "progress.mark", "progress.begins"
"""Keys of records: the progress, and two whose values say nothing of it."""
END_KEY = b"mqk-export"
"""The key of records that are never shown: a compacted topic refuses one without."""
NEVER = 9_999_999_999_999_999_999
"""The number in the origin of records that are never shown: no transaction of so many is there."""
PARTITION = 0
"""The only one of an export's topic of progress."""
FORBIDDEN_NAME = "TOPIC_AUTHORIZATION_FAILED"
"""In texts: librdkafka only logs why it could not add a partition to a transaction."""

log = structlog.get_logger("mqk.exports")


class KafkaExportTopics:
    """The topics of a Kafka; see ExportTopics. settings: how topics of progress are made."""

    def __init__(self, cluster: KafkaCluster, settings: TopicSettings) -> None:
        self.cluster = cluster
        self.settings = settings
        self.one_by_one: set[str] = set()
        """Topics that have refused a batch of records of which each is short."""
        self.socket_timeout = SocketTimeout()

    @cached_property
    def admin(self) -> TopicAdmin:
        """The client that makes topics of progress. Raises TopicError."""
        return TopicAdmin(self.cluster.bootstrap_servers, self.settings, self.cluster.options)

    def writer(self, queue_manager: str, export: str, topic: str) -> KafkaExportWriter:
        return KafkaExportWriter(self, queue_manager, export, topic)


class KafkaExportWriter:
    """Writes one topic; see ExportWriter."""

    def __init__(
        self, topics: KafkaExportTopics, queue_manager: str, export: str, topic: str
    ) -> None:
        self._topics = topics
        self._queue_manager, self._export, self._topic = queue_manager, export, topic
        self._progress_topic = names.export_topic(queue_manager, export)
        self._mover = MoverSettings(
            queue_manager=queue_manager,
            source=topics.cluster,
            destination=topics.cluster,
            topics=topics.settings,
        )
        is_one_by_one = topic in topics.one_by_one
        self._producers = AlternatingProducers(
            Transactional(
                f"export {export} of {queue_manager}",
                self._progress_topic,
                (self._progress_topic,),
                partial(_settings_of, self._mover, is_one_by_one),
                topics.socket_timeout,
            )
        )
        self._open = OpenTransactions(self._mover, topic, export)
        self._refused = RefusedRecords(topic, topics)
        self._partitions = 0
        """How many the topic has, at least."""
        self._written: dict[int, tuple[int, int]] = {}
        """By partition, where records of the transaction are that is open."""
        self._unseen: dict[int, tuple[int, int]] = {}
        """See ExportProgress."""
        self._looked: dict[int, int] = {}
        """By partition, the end of what was unseen at the last look."""
        self._looked_s = time.monotonic()
        self.ends: dict[int, int] = {}

    # Taking over.

    def resume(self) -> ExportProgress:
        try:
            self._require_topic()
            self._topics.admin.ensure([progress_spec(self._progress_topic, 1)])
            self._producers.renew()
            return self._show_all(self._read_progress())
        except (Doubtful, Fenced, KafkaException, TopicError) as error:
            raise self._meaning(error) from error

    def _require_topic(self) -> None:
        """Raise TopicRefusedError if the topic is not there, and TopicError."""
        if not self._topics.admin.identities([self._topic]):
            raise self._refused.of_topic(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))

    @property
    def _producer(self) -> Producer:
        return self._producers.current

    def _read_progress(self) -> ExportProgress:
        """Read the progress, behind a mark of our own: all that was ever committed is there."""
        mark = os.urandom(16)
        self._producers.begin()
        self._produce(self._progress_topic, mark, MARK)
        self._producers.commit()
        with Committed(self._mover) as committed:
            committed.await_mark(self._progress_topic, PARTITION, mark)
            last = committed.last(self._progress_topic, PARTITION, KEY)
        return ExportProgress() if last is None else format_exports.decode(last.value() or b"")

    def _show_all(self, progress: ExportProgress) -> ExportProgress:
        """End what Kafka left open, and write again what it does not show of what is committed."""
        for _ in range(ROUNDS):
            if progress.topic not in ("", self._topic):  # the export was altered
                before = OpenTransactions(self._mover, progress.topic, self._export)
                self._end_open(before)
            else:
                before = self._open
            self._end_open(self._open)
            hidden = before.hidden(progress.unseen, progress.number)
            if not hidden:
                return progress
            log.warning(
                "Kafka did not show records that were committed; they are written again",
                topic=progress.topic,
                records=len(hidden),
            )
            progress = self._write_again(progress, hidden)
        raise ExportError(f"topic {progress.topic} does not show what was committed")

    def _end_open(self, transactions: OpenTransactions) -> None:
        ours = transactions.of_ours()
        if ours:
            log.warning(
                "a transaction that Kafka left open hides what comes behind it",
                topic=ours[0].topic,
                partitions=[one.lane for one in ours],
            )
            self._abort_in(ours)
            transactions.await_ended()

    def _abort_in(self, lanes: list[OpenLane]) -> None:
        """Abort what this producer, of any epoch, has open in partitions."""
        self._producers.begin()
        origin = format_exports.origin_of(self._queue_manager, self._export, NEVER)
        headers = cast("list[tuple[str, str | bytes | None]]", [(ORIGIN, origin)])
        report = self._producers.report
        for one in lanes:
            self._producer.produce(one.topic, b"", END_KEY, one.lane, report, None, 0, headers)
        self._producers.abort()

    def _write_again(self, progress: ExportProgress, hidden: list[Message]) -> ExportProgress:
        self._written = {}
        self._refused.begin(())
        self._producers.begin()
        for record in hidden:
            self._producer.produce(
                progress.topic,
                record.value(),
                record.key(),
                record.partition() or 0,
                partial(self._delivered, None),
                None,
                record.timestamp()[1],
                cast("Any", headers_of(record) or []),
            )
        self._producers.write()
        progress = structs.replace(progress, unseen=dict(self._written))
        self._end(progress)
        return progress

    # Writing.

    def refusals(self, records: Sequence[ExportedRecord]) -> Sequence[RecordRefusedError]:
        """See the port: the partitions that the topic does not have."""
        self._refused.begin(records)
        try:
            if max((one.partition for one in records), default=-1) >= self._partitions:
                found = self._producer.list_topics(self._topic, ANSWER_S).topics[self._topic]
                if found.error is not None:
                    return []  # writing says why
                self._partitions = len(found.partitions)
        except KafkaException as error:
            raise self._meaning(error) from error
        why = describe(KafkaError(KafkaError._UNKNOWN_PARTITION))
        text = f"topic {self._topic} does not take it: {why}"
        return [
            RecordRefusedError(text, at, is_too_long=False)
            for at, one in enumerate(records)
            if one.partition >= self._partitions
        ]

    def write(self, records: Sequence[ExportedRecord], progress: ExportProgress) -> None:
        self._written = {}
        self._refused.begin(records)
        origin = format_exports.origin_of(self._queue_manager, self._export, progress.number)
        try:
            if time.monotonic() > self._looked_s + LOOK_S:
                self._look()
            self._producers.begin()
            # So that one request adds all partitions to the transaction.
            self._produce(self._progress_topic, b"", BEGINS)
            for at, record in enumerate(records):
                self._send(at, record, origin)
            # The progress says where they are. For a topic that was deleted librdkafka waits long.
            self._producers.write(self._require_topic)
            for partition, (start, end) in self._written.items():
                start = self._unseen.get(partition, (start, end))[0]
                self._unseen[partition] = start, end
            self._end(structs.replace(progress, topic=self._topic, unseen=self._unseen))
        except (Doubtful, Fenced, KafkaException, BufferError, TopicError) as error:
            raise self._meaning(error) from error
        self.ends |= {partition: end for partition, (_, end) in self._written.items()}

    def _end(self, progress: ExportProgress) -> None:
        """Commit the open transaction with the progress that it makes."""
        self._produce(self._progress_topic, format_exports.encode(progress), KEY)
        self._producers.commit()

    def _send(self, at: int, record: ExportedRecord, origin: bytes) -> None:
        headers = cast("list[tuple[str, str | bytes | None]]", [*record.headers, (ORIGIN, origin)])
        try:
            self._producer.produce(
                self._topic,
                record.value,
                record.key,
                record.partition,
                partial(self._delivered, at),
                None,
                record.time_ms,
                headers,
            )
        except KafkaException as error:
            self._refused.note(at, error_of(error), self._topic)
            raise

    def _delivered(self, at: int | None, error: KafkaError | None, message: Message) -> None:
        """Take a delivery report. at: which record it is of; None: one that is written again."""
        if error is None:
            partition, offset = message.partition() or 0, message.offset() or 0
            start, end = self._written.get(partition, (offset, 0))
            self._written[partition] = min(start, offset), max(end, offset + 1)
            return
        self._refused.note(at, error, message.topic() or self._topic)
        self._producers.report(error, message)

    def _produce(self, topic: str, value: bytes, key: str) -> None:
        self._producer.produce(topic, value, key, PARTITION, self._producers.report)

    def check_shown(self) -> None:
        if not self._unseen:
            return
        try:
            self._look()
        except (Doubtful, KafkaException) as error:
            raise self._meaning(error) from error

    def _look(self) -> None:
        """Forget what Kafka shows. Raises ExportError if it does not show what it should."""
        hidden = {one.lane: one for one in self._open.lanes()} if self._unseen else {}
        for partition, (start, end) in list(self._unseen.items()):
            lane = hidden.get(partition)
            if lane is None or lane.stable >= end:
                del self._unseen[partition]
                continue
            self._unseen[partition] = max(start, lane.stable), end
            if lane.stable < self._looked.get(partition, 0) and self._open.is_first_ours(lane):
                raise ExportError(
                    f"Kafka has not ended a transaction in {lane.topic}[{partition}], and hides "
                    "what comes behind it"
                )
        self._looked = {partition: end for partition, (_, end) in self._unseen.items()}
        self._looked_s = time.monotonic()

    def close(self) -> None:
        self._producers.close()

    # What went wrong.

    def _meaning(self, error: Exception) -> ExportError:
        if isinstance(error, KafkaException | BufferError):
            error = self._producers.meaning(error, "writing")  # which hears of refusals
        refused = self._refused.meaning(self._may_be_there)
        if refused is not None:
            return refused
        text = str(error)
        if f"{DENIES} Read on topic {self._topic}:" in text:
            return TopicRefusedError(text)
        if self._is_forbidden(text):
            return self._refused.of_topic(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        return ExportError(text)

    def _is_forbidden(self, text: str) -> bool:
        """Whether a text says that the topic must not be written."""
        by_client = FORBIDDEN_NAME in text and self._progress_topic not in text
        return by_client or f"{DENIES} Describe on topic {self._topic}:" in text

    def _may_be_there(self, partition: int) -> bool:
        """Whether the topic may have a partition of which the producer does not know."""
        try:
            found = self._producer.list_topics(self._topic, ANSWER_S).topics[self._topic]
        except KafkaException:
            return True  # it is not known, and the next attempt will know; so if there is no topic
        return found.error is not None or partition in found.partitions


def _settings_of(
    mover: MoverSettings,
    is_one_by_one: bool,
    transactional_id: str,
    watch: ProducerWatch,
    socket_timeout_ms: int,
) -> dict[str, Any]:
    """Return a producer's settings. is_one_by_one: each record has a batch of its own."""
    settings = producer_settings(mover, transactional_id, watch, socket_timeout_ms) | {
        "client.id": "mqk-export",
        "partitioner": "murmur2_random",  # as Kafka's own client in Java
        "allow.auto.create.topics": False,
        "delivery.report.only.error": False,
        "linger.ms": 0,
        "message.max.bytes": RECORD_BYTES_MAX,
    }
    return settings | ({"batch.num.messages": 1} if is_one_by_one else {})
