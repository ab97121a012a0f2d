"""Topics of a Kafka, as exports write them: records and progress in one transaction.

**Exactly once.** The progress says which messages the last transaction wrote, and is written in it.
A writer that takes over initialises the transactional id: that ends what its predecessor had open,
and fences it. Then it reads the progress. What is on the queue still and in the progress is there
already.

**What Kafka never shows.** Kafka drops the end of a transaction in a partition that has no leader
at that moment (see movers.open_lanes): what was written there stays open, and hides what comes
behind it. A topic of others may have no record in it that means nothing, so such a transaction
cannot be committed afterwards. Its records are written once more instead: a first transaction notes
which offsets they have, a second one in the same partition is aborted, and with it what is open
there; a third one writes the records again and ends the note. Until then readers of committed
records have seen nothing of them. This is done before anything else is written, by one producer, so
that their order stays.

This module knows no message.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import msgspec
import structlog
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.exports.open_transactions import OpenTransactions
from adapter.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.format import exports as format_exports
from adapter.format import names
from adapter.format.exports import ORIGIN, ExportedRecord, ExportProgress
from adapter.ledger.failures import describe
from adapter.movers.errors import Doubtful, Fenced
from adapter.movers.open_lanes import OpenLane
from adapter.movers.progress import Committed
from adapter.movers.settings import KafkaCluster, MoverSettings, ProducerWatch, producer_settings
from adapter.movers.transactions import AlternatingProducers, Transactional
from adapter.topics.admin import TopicAdmin, TopicError, TopicSettings, progress_spec

ANSWER_S = 10.0
KEY, MARK = "progress", "progress.mark"
PARTITION = 0
"""The only one of an export's topic of progress."""
TOO_LONG = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
NOT_A_RECORD = TOO_LONG | {
    KafkaError._INVALID_ARG,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_TIMESTAMP,
}
"""What a topic refuses for what the record says."""
MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
FORBIDDEN = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED})

log = structlog.get_logger("mqk.exports")


class KafkaExportTopics:
    """The topics of a Kafka; see ExportTopics. settings: how topics of progress are made."""

    def __init__(self, cluster: KafkaCluster, settings: TopicSettings) -> None:
        self._cluster = cluster
        self._settings = settings

    def writer(self, queue_manager: str, export: str, topic: str) -> KafkaExportWriter:
        return KafkaExportWriter(self._cluster, self._settings, queue_manager, export, topic)


class KafkaExportWriter:
    """Writes one topic; see ExportWriter."""

    def __init__(
        self,
        cluster: KafkaCluster,
        settings: TopicSettings,
        queue_manager: str,
        export: str,
        topic: str,
    ) -> None:
        self._queue_manager, self._export, self._topic = queue_manager, export, topic
        self._progress_topic = names.export_topic(queue_manager, export)
        self._admin_settings = (cluster.bootstrap_servers, settings, cluster.options)
        self._servers = cluster.bootstrap_servers
        self._mover = MoverSettings(
            queue_manager=queue_manager, source=cluster, destination=cluster, topics=settings
        )
        self._producers = AlternatingProducers(
            Transactional(
                f"export {export} of {queue_manager}",
                self._progress_topic,
                (self._progress_topic,),
                self._settings_of,
            )
        )
        self._open = OpenTransactions(self._mover, topic, export)
        self._refusal: tuple[int, KafkaError] | None = None
        self._written: dict[int, int] = {}
        """By partition, the offset behind what the transaction that is open has written."""
        self.ends: dict[int, int] = {}
        self._unseen: set[int] = set()
        """Partitions of which it is not known that they show what was written."""

    def _settings_of(self, transactional_id: str, watch: ProducerWatch) -> dict[str, Any]:
        return producer_settings(self._mover, transactional_id, watch) | {
            "client.id": "mqk-export",
            "partitioner": "murmur2_random",  # as Kafka's own client in Java
            "allow.auto.create.topics": False,
            "delivery.report.only.error": False,
            "linger.ms": 0,
        }

    def resume(self) -> ExportProgress:
        try:
            TopicAdmin(*self._admin_settings).ensure([progress_spec(self._progress_topic, 1)])
        except TopicError as error:
            raise ExportError(str(error)) from error
        try:
            self._producers.renew()
            self._check_topic()
            progress = self._read_progress()
            return self._show_all(progress)
        except (Doubtful, Fenced, KafkaException) as error:
            raise self._meaning(error) from error

    def _check_topic(self) -> None:
        found = self._producer.list_topics(self._topic, ANSWER_S).topics[self._topic]
        if found.error is not None:
            raise self._topic_refused(found.error)

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

    def write(self, records: Sequence[ExportedRecord], progress: ExportProgress) -> None:
        self._refusal = None
        self._written = {}
        origin = format_exports.origin_of(self._queue_manager, self._export, progress.number)
        try:
            self._producers.begin()
            for at, record in enumerate(records):
                self._send(at, record, origin)
            self._end(progress)
        except (Doubtful, Fenced, KafkaException, BufferError) as error:
            raise self._meaning(error) from error

    def _end(self, progress: ExportProgress) -> None:
        """Commit the open transaction with the progress that it makes."""
        self._produce(self._progress_topic, format_exports.encode(progress), KEY)
        self._producers.commit()
        self.ends |= self._written
        self._unseen |= self._written.keys()

    def _send(self, at: int, record: ExportedRecord, origin: bytes) -> None:
        headers = cast("list[tuple[str, str | bytes | None]]", [*record.headers, (ORIGIN, origin)])
        report = partial(self._delivered, at)
        try:
            self._producer.produce(
                self._topic,
                record.value,
                record.key,
                record.partition,
                report,
                None,
                record.time_ms,
                headers,
            )
        except KafkaException as error:
            self._note_refusal(at, error.args[0])
            raise

    def _delivered(self, at: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            partition, offset = message.partition() or 0, message.offset() or 0
            self._written[partition] = offset + 1
            return
        self._note_refusal(at, error)
        self._producers.report(error, message)

    def _note_refusal(self, at: int, error: KafkaError) -> None:
        if self._refusal is None and error.code() in NOT_A_RECORD | MISSING | FORBIDDEN:
            self._refusal = at, error

    def _produce(self, topic: str, value: bytes, key: str) -> None:
        self._producer.produce(topic, value, key, PARTITION, self._producers.report)

    # What Kafka never shows.

    def check_shown(self) -> None:
        if not self._unseen:
            return
        try:
            hidden = {one.lane: one for one in self._open.lanes() if one.stable < self._end_of(one)}
            for one in hidden.values():
                if self._open.is_first_ours(one):
                    raise ExportError(
                        f"Kafka has not ended a transaction in {one.topic}[{one.lane}], and hides "
                        "what comes behind it"
                    )
        except (Doubtful, KafkaException) as error:
            raise self._meaning(error) from error
        self._unseen &= hidden.keys()

    def _end_of(self, lane: OpenLane) -> int:
        return self.ends[lane.lane] if lane.lane in self._unseen else 0

    def _show_all(self, progress: ExportProgress) -> ExportProgress:
        """End what is open in the topic and is ours, and write again what counts of it."""
        ours = self._open.of_ours()
        counting = {
            one.lane: (one.stable, one.end)
            for one in ours
            if any(self._counts(record, progress) for record in self._open.records(one))
        }
        if counting:
            rewriting = progress.rewriting | counting
            progress = msgspec.structs.replace(progress, rewriting=rewriting)
            self._producers.begin()
            self._end(progress)
        if ours:
            log.warning(
                "a transaction that Kafka left open hides what comes behind it",
                topic=self._topic,
                partitions=[one.lane for one in ours],
                written_again=sorted(counting),
            )
            self._abort_in([one.lane for one in ours])
        if progress.rewriting:
            progress = self._write_again(progress)
        return progress

    def _abort_in(self, partitions: list[int]) -> None:
        """Abort what this producer, of any epoch, has open in partitions."""
        self._producers.begin()
        for partition in partitions:
            self._producer.produce(self._topic, b"", None, partition, self._producers.report)
        self._producers.abort()

    def _write_again(self, progress: ExportProgress) -> ExportProgress:
        self._written = {}
        self._producers.begin()
        for partition, (start, end) in sorted(progress.rewriting.items()):
            for record in self._open.records(OpenLane(self._topic, partition, start, end)):
                if self._counts(record, progress):
                    self._producer.produce(
                        self._topic,
                        record.value(),
                        record.key(),
                        partition,
                        partial(self._delivered, -1),
                        None,
                        record.timestamp()[1],
                        record.headers() or [],
                    )
        progress = msgspec.structs.replace(progress, rewriting={})
        self._end(progress)
        return progress

    def _counts(self, record: Message, progress: ExportProgress) -> bool:
        """Whether the transaction of a record was committed: its number is not behind the last."""
        number = self._open.number_of(record)
        return number is not None and number <= progress.number

    def close(self) -> None:
        self._producers.close()

    # What went wrong.

    def _meaning(self, error: Exception) -> ExportError:
        if self._refusal is None:
            return ExportError(str(error))
        at, refusal = self._refusal
        code = refusal.code()
        if code in MISSING | FORBIDDEN:
            return self._topic_refused(refusal)
        return RecordRefusedError(
            f"topic {self._topic} does not take it: {describe(refusal)}",
            at,
            is_too_long=code in TOO_LONG,
        )

    def _topic_refused(self, error: KafkaError) -> TopicRefusedError:
        if error.code() in MISSING:
            return TopicRefusedError(
                f"topic {self._topic} does not exist on {self._servers}: create it, or delete the "
                "export"
            )
        if error.code() in FORBIDDEN:
            return TopicRefusedError(
                f"the queue manager may not write topic {self._topic}: allow its user of Kafka to "
                "WRITE and DESCRIBE it"
            )
        return TopicRefusedError(f"topic {self._topic}: {describe(error)}")
