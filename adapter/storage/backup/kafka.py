"""A queue manager's topics on Kafka: read for a backup, or written from one."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from adapter.core.contract.lanes import LANES
from adapter.storage.backup.contents import FIRST
from adapter.storage.backup.file import BackupError, BackupLane, CopiedRecord
from adapter.storage.format import names
from adapter.storage.format import progress as progress_format
from adapter.storage.format.progress import CopyProgress
from adapter.storage.format.record_headers import headers_of
from adapter.storage.ledger.envelope import restoring
from adapter.storage.ledger.failures import describe
from adapter.storage.ledger.kafka_reader import (
    PARTITION,
    Whole,
    delete_before,
    offset_of,
    read_values,
    wrong_settings,
)
from adapter.storage.ledger.kafka_settings import LastError, LedgerSettings, producer_settings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.ledger.port import LedgerUnavailable, Raw
from adapter.storage.ledger.snapshots import Snapshot
from adapter.storage.movers.progress import ever_written, topics_like
from adapter.storage.movers.settings import EVENTS, PARTITIONS, STREAM, MoverSettings
from adapter.storage.topics import admin, specs
from adapter.storage.topics.port import MessageMissingError, PagesUnavailableError
from adapter.storage.topics.reader import KafkaPageReader

POLL_S = 0.1
STALL_S = 60.0
"""Without a single confirmation for so long, Kafka is gone."""
WAITING_KBYTES = 64 * 1024
"""What is read from the file and not yet confirmed."""


class KafkaBackupSource:
    """What a backup is taken of: taking.BackupSource on Kafka. close() it."""

    def __init__(self, settings: MoverSettings) -> None:
        self.name = settings.queue_manager
        self.seals = settings.ledger.seals()
        self._ledger = _on(settings, names.ledger_topic)
        self._snapshots = KafkaSnapshots(_on(settings, names.snapshots_topic))
        self._pages = KafkaPageReader(
            settings.queue_manager, settings.source.bootstrap_servers, settings.source.options
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._pages.close()

    def newest(self) -> Snapshot | None:
        return self._snapshots.newest()

    def bounds(self) -> tuple[int, int]:
        whole = Whole(self._ledger)
        return whole.first, whole.end

    def ledger(self, first: int) -> Iterator[Raw]:
        return Whole(self._ledger).records(first)

    def lane(self, lane: BackupLane, seq: int) -> Iterator[CopiedRecord]:
        try:
            for at, record in self._pages.records(lane.queue, lane.incarnation, lane.lane, seq):
                headers = headers_of(record) or []
                yield CopiedRecord(at, record.timestamp()[1], headers, record.key(), record.value())
        except MessageMissingError:
            return  # no such topic: the snapshot may hold what the movers had not yet copied
        except PagesUnavailableError as error:
            raise LedgerUnavailable(f"{error}; check that Kafka runs, and try again") from error


def _on(settings: MoverSettings, topic: Callable[[str], str]) -> LedgerSettings:
    """How one of the queue manager's topics is read and written."""
    return LedgerSettings(
        bootstrap_servers=settings.source.bootstrap_servers,
        topic=topic(settings.queue_manager),
        client=settings.source.options,
    )


class KafkaRestoreTarget:
    """Where a backup is restored to: restoring.RestoreTarget on Kafka."""

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._name = settings.queue_manager
        self._ledger = _on(settings, names.ledger_topic)
        self._snapshots = KafkaSnapshots(_on(settings, names.snapshots_topic))
        here = settings.destination
        self._topics = admin.TopicAdmin(here.bootstrap_servers, settings.topics, here.options)
        self._mark = restoring(os.urandom(16))
        self._pouring: Pouring | None = None

    def existing(self) -> list[str]:
        """List the queue manager's topics that hold something, or have; but for inbound ones."""
        return [one for one in self._written() if names.is_own(one, self._name)]

    def inbound(self) -> list[str]:
        """List the topics by which others send to the queue manager, if anything was ever sent.

        A restore keeps them: what lies there has left its senders, and is not sent again. The queue
        manager goes on behind what the snapshot says that it has received.
        """
        return [one for one in self._written() if not names.is_own(one, self._name)]

    def _written(self) -> list[str]:
        beginning = names.queue_topic(self._name, "").removesuffix("q.")
        return ever_written(self._settings, topics_like(self._settings, beginning))

    def is_unfinished(self) -> bool:
        """Whether a restore was begun here and has not come to its end: the mark is there, and no
        snapshot. With one all is restored: a queue manager may have started on it since.
        """
        return self.has_mark() and self._snapshots.newest() is None

    def has_mark(self) -> bool:
        """Whether the ledger begins with the mark of a restore."""
        try:
            whole = Whole(self._ledger)
            found = read_values(self._ledger, range(1)) if whole.end and not whole.first else []
            return bool(found) and found[0] is not None and found[0][:1] == self._mark[:1]
        except LedgerUnavailable as missing:
            if missing.retriable:
                raise
            return False  # there is no such topic

    def delete(self, topics: list[str]) -> None:
        """Delete topics with all that they hold; when it returns, Kafka knows them no more."""
        self._topics.delete(topics)
        deadline_s = time.monotonic() + STALL_S
        while left := set(topics) & set(topics_like(self._settings, "")):
            if time.monotonic() > deadline_s:
                raise BackupError(f"{', '.join(sorted(left))} still exist: delete them by hand")
            time.sleep(POLL_S)

    def begin(self, queues: dict[str, int]) -> None:
        name, settings = self._name, self._settings
        self._topics.ensure([specs.ledger_spec(self._ledger.topic)])
        self._pouring = Pouring(self._ledger)
        self._pouring.pour(self._ledger.topic, PARTITION, self._mark)
        self._pouring.flush()
        topics = [names.queue_topic(name, *queue) for queue in queues.items()]
        self._topics.ensure(
            [
                specs.snapshots_spec(names.snapshots_topic(name)),
                specs.progress_spec(settings.progress_topic, len(PARTITIONS)),
                specs.events_spec(names.events_topic(name), settings.topics),
                *(specs.queue_spec(topic, LANES) for topic in topics),
            ]
        )

    def copy(self, lane: BackupLane, copied: CopiedRecord) -> None:
        topic = names.queue_topic(self._name, lane.queue, lane.incarnation)
        self._poured.pour(topic, lane.lane, copied.value, like=copied)

    def append(self, offset: int, value: bytes | None) -> None:
        self._poured.pour(self._ledger.topic, PARTITION, value)
        assert self._poured.written(self._ledger.topic) == offset + 1, "a ledger is dense"

    def finish(self, progress: CopyProgress, snapshot: Snapshot) -> None:
        topic = self._settings.progress_topic
        events = msgspec.structs.replace(progress, copied=0, incarnations={})
        for mover, one in ((STREAM, progress), (EVENTS, events)):
            value = progress_format.encode(one)
            self._poured.pour(topic, PARTITIONS[mover], value, mover.encode())
        self._poured.flush()
        if read_values(self._ledger, range(1)) != [self._mark]:
            raise self._poured.failure("another restore was begun meanwhile")
        self._snapshots.write(snapshot)
        self._take_mark_away()

    def _take_mark_away(self) -> None:
        deadline_s = time.monotonic() + STALL_S
        while True:
            try:
                return delete_before(self._ledger, FIRST)
            except LedgerUnavailable as problem:
                if not problem.retriable or time.monotonic() > deadline_s:
                    raise

    @property
    def _poured(self) -> Pouring:
        assert self._pouring is not None, "it was begun"
        return self._pouring


class Pouring:
    """Writes records to topics that are new, each behind the one before, and sees that they lie so.

    Raises BackupError as soon as something is not as it must be.
    """

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._written: Counter[tuple[str, int]] = Counter()
        self._confirmed: Counter[tuple[str, int]] = Counter()
        self._heard_s = time.monotonic()
        self._problem = ""
        self._last_error = LastError()
        options = {
            **producer_settings(settings, self._last_error),
            "linger.ms": 20,
            "queue.buffering.max.messages": 100_000,
            "queue.buffering.max.kbytes": WAITING_KBYTES,
        }
        try:
            self._producer = Producer(options)
        except KafkaException as error:
            raise wrong_settings(settings, error) from error

    def pour(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        key: bytes | None = None,
        like: CopiedRecord | None = None,
    ) -> None:
        """Write a record. like: of which it has the rest."""
        self._written[topic, partition] += 1
        headers: list[tuple[str, str | bytes | None]] = list(like.headers) if like else []
        key, time_ms = (like.key, like.time_ms) if like else (key, 0)
        if not len(self._producer):
            self._heard_s = time.monotonic()
        while True:
            self._check()
            try:
                self._producer.produce(
                    topic, value, key, partition, self._reported, None, time_ms, headers
                )
            except BufferError:
                self._producer.poll(POLL_S)
            except KafkaException as error:
                raise self.failure(f"{topic}[{partition}]: {describe(error)}") from error
            else:
                self._producer.poll(0)
                return

    def written(self, topic: str) -> int:
        """Count the records given for a topic of one partition."""
        return self._written[topic, PARTITION]

    def flush(self) -> None:
        """Wait until all is written."""
        self._heard_s = time.monotonic()
        while len(self._producer):
            self._producer.poll(POLL_S)
            self._check()
        self._check()
        assert self._confirmed == self._written, "each was confirmed, and nothing went wrong"

    def failure(self, why: str) -> BackupError:
        """Say that not all was written."""
        return BackupError(
            f"the backup was restored in part only: {why}. No queue manager starts on that: see "
            "that nothing else writes to its topics, and restore again"
        )

    def _check(self) -> None:
        if not self._problem and time.monotonic() - self._heard_s > STALL_S:
            self._problem = f"Kafka acknowledges no writes: {self._last_error.text or 'no answer'}"
        if self._problem:
            self._producer.purge()
            raise self.failure(self._problem)

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        self._heard_s = time.monotonic()
        place = message.topic() or "", message.partition() or 0
        if self._problem:
            return
        if error is not None:
            self._problem = (
                f"{place[0]}[{place[1]}]: {describe(error)} {self._last_error.text}".strip()
            )
        elif offset_of(message) != self._confirmed[place]:
            self._problem = (
                f"what belongs to offset {self._confirmed[place]} of {place[0]}[{place[1]}] came "
                f"to lie at offset {offset_of(message)}: another program writes to the topic"
            )
        self._confirmed[place] += 1
