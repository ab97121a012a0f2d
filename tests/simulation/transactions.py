"""Topics in memory with Kafka's transactions, for the production movers: what their clients offer.

A transactional id has an epoch; whoever initialises it ends what it had open, and fences those who
come with an older one. A reader of committed records sees nothing behind a transaction that is
open, or that has ended and whose markers are not written yet. A commit may be asked for and arrive
late.

What goes wrong, and when, is asked of a Trouble before each step. Kafka itself loses no record, but
it drops the marker of a partition without a leader: the transaction stays open there, until the
next marker of its transactional id ends it with its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Protocol
from unittest import mock

from confluent_kafka import KafkaError, KafkaException

from adapter.storage.movers import (
    batch,
    events,
    mover,
    open_lanes,
    open_progress,
    pace,
    parking,
    progress,
    stream,
    transactions,
)
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.open_lanes import OpenLane
from adapter.storage.topics.admin import TopicError
from adapter.storage.topics.specs import TopicSpec

BEFORE_COMMIT = "mover crash before commit"
AFTER_COMMIT = "mover crash after commit"
LOST = "commit request lost"
UNANSWERED = "commit answer lost"
LATE = "late commit"
TWICE = "commit sent twice"
HANGING = "hanging transaction"


class Killed(SystemExit):
    """The mover's process is gone. Nothing that catches errors keeps this one."""


class Trouble(Protocol):
    """Says what goes wrong."""

    def at_step(self, step: str) -> None:
        """A step of a producer is about to be done; may raise Killed."""
        ...

    def at_commit(self) -> str:
        """Name what happens to this commit, or ""."""
        ...

    def arrives(self) -> bool:
        """Whether a commit that is on its way arrives now."""
        ...


class Transaction:
    """One transaction. told: how it ended for readers of a partition, if a marker says so."""

    __slots__ = ("parts", "state", "told")

    def __init__(self) -> None:
        self.parts: list[Partition] = []
        self.state = "open"
        self.told: dict[Partition, str] = {}


class Record:
    """A record; without a transaction it is a marker."""

    __slots__ = ("headers", "key", "time_ms", "transaction", "value")

    def __init__(
        self,
        transaction: Transaction | None = None,
        value: bytes | None = None,
        key: str | None = None,
        headers: Sequence[tuple[str, Any]] = (),
        time_ms: int = 0,
    ) -> None:
        self.transaction = transaction
        self.value = value
        self.key = key
        self.headers = headers
        self.time_ms = time_ms


class Partition:
    """One partition: its records, the first that is not deleted, and up to where all transactions
    have ended.
    """

    __slots__ = ("_stable", "first", "has_leader", "records")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.first = 0
        self.has_leader = True
        self._stable = 0

    @property
    def stable(self) -> int:
        """The offset behind the last record that a reader of committed ones gets to."""
        records, at = self.records, self._stable
        while at < len(records):
            transaction = records[at].transaction
            if transaction is not None and self not in transaction.told:
                break
            at += 1
        self._stable = at
        return at

    def committed(self, start: int) -> Iterator[tuple[int, Record]]:
        """The offsets and committed records from a start, or from the first that is there."""
        yield from self.ever_committed(max(start, self.first))

    def ever_committed(self, start: int) -> Iterator[tuple[int, Record]]:
        """The same, with those that were deleted since."""
        for offset in range(start, self.stable):
            transaction = self.records[offset].transaction
            if transaction is not None and transaction.told[self] == "committed":
                yield offset, self.records[offset]

    def everything(self, start: int) -> Iterator[tuple[int, Record]]:
        """The offsets and records of all transactions, however they ended."""
        for offset in range(start, len(self.records)):
            if self.records[offset].transaction is not None:
                yield offset, self.records[offset]


class Kafka:
    """All topics, and what is on its way to the transaction coordinator."""

    def __init__(self, trouble: Trouble, ledger_end: Callable[[], int] = lambda: 0) -> None:
        self.trouble = trouble
        self.ledger_end = ledger_end
        self.topics: dict[str, list[Partition]] = {}
        self.refusing: set[str] = set()
        """Topics that may not be written."""
        self._epochs: dict[str, int] = {}
        self._open: dict[str, Transaction] = {}
        self._late: list[tuple[str, int]] = []
        self._untold: dict[str, list[Transaction]] = {}

    def create(self, specs: Sequence[TopicSpec]) -> None:
        """Create the topics that are missing."""
        for spec in specs:
            if spec.name in self.refusing:
                raise TopicError(f"{spec.name} may not be written")
            self.topics.setdefault(spec.name, [Partition() for _ in range(spec.partitions)])

    def is_settled(self) -> bool:
        """Whether no transaction hides anything."""
        return not any(self._untold.values()) and not self._open

    def initialise(self, ident: str) -> int:
        """Fence whoever had this id, and abort what it had open."""
        self.deliver()
        self._epochs[ident] = epoch = self._epochs.get(ident, 0) + 1
        self._end(ident, epoch, "aborted")
        return epoch

    def begin(self, ident: str, epoch: int) -> Transaction:
        """Begin a transaction; it is known here from its first record on."""
        self.check(ident, epoch)
        return Transaction()

    def write(self, ident: str, epoch: int, transaction: Transaction, partition: Partition) -> None:
        """Add a partition to a transaction."""
        self.check(ident, epoch)
        if transaction.state != "open":
            raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE))
        self._open[ident] = transaction
        if partition not in transaction.parts:
            transaction.parts.append(partition)

    def commit(self, ident: str, epoch: int, transaction: Transaction, *, hangs: bool) -> None:
        """Commit what is open, if it is still that. hangs: all of its markers are dropped."""
        self.check(ident, epoch)
        if transaction.state == "aborted":
            raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE))
        self._end(ident, epoch, "committed", hangs=hangs)

    def abort(self, ident: str, epoch: int) -> None:
        """Abort what is open."""
        self.check(ident, epoch)
        self._end(ident, epoch, "aborted")

    def commit_late(self, ident: str, epoch: int) -> None:
        """Let a request to commit be on its way, for whatever is open when it arrives."""
        self._late.append((ident, epoch))

    def deliver(self) -> None:
        """Let requests that are on their way arrive, if this is their time."""
        for request in list(self._late):
            if self.trouble.arrives():
                self._late.remove(request)
                ident, epoch = request
                self._end(ident, epoch, "committed")

    def check(self, ident: str, epoch: int) -> None:
        """Refuse who was fenced."""
        if self._epochs.get(ident) != epoch:
            raise KafkaException(KafkaError(KafkaError._FENCED))

    def _end(self, ident: str, epoch: int, state: str, *, hangs: bool = False) -> None:
        transaction = self._open.get(ident)
        if transaction is None or self._epochs[ident] != epoch:
            return
        del self._open[ident]
        transaction.state = state
        untold = self._untold.setdefault(ident, [])
        untold.append(transaction)
        for partition in [] if hangs else transaction.parts:
            if partition.has_leader:
                partition.records.append(Record())
                for one in untold:
                    if partition in one.parts:
                        one.told.setdefault(partition, state)
        untold[:] = [one for one in untold if len(one.told) < len(one.parts)]

    def installed(self, life: Callable[[], Life]) -> contextlib.AbstractContextManager[object]:
        """Let the movers' modules find these clients. life: tells one mover's process by another's.

        Backing off takes no time: what time would bring comes at each step. Transactions are small,
        so that many are full, and end within an entry.
        """
        stack = contextlib.ExitStack()
        clock = Ticking(0.05)
        for module, name, stand_in in (
            (transactions, "Producer", lambda settings: Producer(self, life(), settings)),
            (progress, "Consumer", lambda settings: Consumer(self, settings)),
            (parking, "Whole", lambda _settings: SimpleNamespace(end=self.ledger_end())),
            (open_lanes, "LaneEnds", lambda _settings: LaneEnds(self)),
            (stream, "TopicAdmin", lambda *_connection: Admin(self)),
            (events, "TopicAdmin", lambda *_connection: Admin(self)),
            (mover, "BACKOFF_S", 0.0),
            (batch, "MESSAGES_MAX", 12),
            (batch, "PARTITIONS_MAX", 5),
            (mover, "log", Silence()),
            (parking, "log", Silence()),
            (open_lanes, "log", Silence()),
            (open_progress, "log", Silence()),
            (open_lanes, "time", Ticking(0.001)),
            (open_progress, "time", Ticking(0.001)),
            (pace, "time", clock),
            (parking, "time", clock),
            (transactions, "time", Ticking(0.001)),
            (progress, "time", Ticking(0.001)),
        ):
            stack.enter_context(mock.patch.object(module, name, stand_in))
        return stack


class Silence:
    """Stands for a logger."""

    def warning(self, *_arguments: object, **_facts: object) -> None:
        """Hear nothing."""

    info = warning


class Ticking:
    """Stands for the module time: a clock that goes on a step whenever it is looked at."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._now_s = 0.0

    def monotonic(self) -> float:
        """See time."""
        self._now_s += self._step_s
        return self._now_s

    def sleep(self, seconds: float) -> None:
        """See time."""
        self._now_s += seconds


class Admin:
    """Creates topics, as adapter.storage.topics.admin.Topics does."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def ensure(self, specs: Sequence[TopicSpec]) -> None:
        """Create the topics that are missing."""
        self._kafka.create(specs)


class LaneEnds:
    """Says where lanes end, as adapter.storage.movers.open_lanes.LaneEnds does."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def open_lanes(self, topics: Collection[str]) -> tuple[list[OpenLane], set[str]]:
        """Return the lanes with more records than are stable."""
        found: list[OpenLane] = []
        unknown: set[str] = set()
        for topic in topics:
            for number, lane in enumerate(self._kafka.topics.get(topic, [])):
                if not lane.has_leader:
                    unknown.add(topic)
                elif lane.stable < len(lane.records):
                    found.append(OpenLane(topic, number, lane.stable, len(lane.records)))
        return found, unknown

    def open_lane(self, topic: str, lane: int) -> OpenLane | None:
        """Return this lane if it is open."""
        found, unknown = self.open_lanes([topic])
        if unknown:
            raise Doubtful(f"{topic}[{lane}] has no leader")
        return next((one for one in found if one.lane == lane), None)


class Life:
    """One process of a mover: when it is killed, its producers do nothing any more."""

    def __init__(self) -> None:
        self.is_over = False


class Producer:
    """A transactional producer."""

    def __init__(self, kafka: Kafka, life: Life, settings: dict[str, Any]) -> None:
        self._kafka = kafka
        self._life = life
        self._ident: str = settings["transactional.id"]
        self._watch = settings["logger"]
        self._epoch = 0
        self._transaction: Transaction | None = None
        self._buffer: list[tuple[str, int, Record, Callable[[KafkaError, Any], object]]] = []

    def list_topics(self, _topic: str, _timeout_s: float) -> None:
        """Connect."""

    def poll(self, _timeout_s: float) -> int:
        """Call nobody back: all that there was to say has been said."""
        return 0

    def init_transactions(self, _timeout_s: float) -> None:
        """Take the id."""
        self._step("while it begins")
        self._epoch = self._kafka.initialise(self._ident)

    def begin_transaction(self) -> None:
        """Begin; Kafka hears of it with the first record."""
        self._step("between transactions")
        self._transaction = self._kafka.begin(self._ident, self._epoch)

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: str | None = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Sequence[tuple[str, Any]] = (),
    ) -> None:
        """Buffer a record: it is sent by a flush."""
        record = Record(self._transaction, value, key, headers, timestamp)
        self._buffer.append((topic, partition, record, callback or on_delivery))

    def flush(self, _timeout_s: float) -> int:
        """Send what is buffered."""
        self._step("in a transaction")
        buffer, self._buffer = self._buffer, []
        transaction = self._transaction
        assert transaction is not None
        for topic, number, record, report in buffer:
            parts = self._kafka.topics.get(topic)
            if parts is None:
                gone = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
                report(gone, Shown(topic, number, -1, record))
                continue
            if topic in self._kafka.refusing:
                refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
                report(refused, Shown(topic, number, -1, record))
                continue
            self._kafka.deliver()
            if not parts[number].has_leader:
                away = KafkaError(KafkaError._MSG_TIMED_OUT)
                report(away, Shown(topic, number, -1, record))
                continue
            self._kafka.write(self._ident, self._epoch, transaction, parts[number])
            parts[number].records.append(record)
        return 0

    def commit_transaction(self, _timeout_s: float) -> None:
        """Commit, unless something happens to that."""
        self._step("in a transaction")
        kafka, transaction = self._kafka, self._transaction
        assert transaction is not None
        meets = kafka.trouble.at_commit()
        if meets == BEFORE_COMMIT:
            self._die()
        if meets == LATE:
            kafka.commit_late(self._ident, self._epoch)
        if meets not in (LATE, LOST):
            kafka.commit(self._ident, self._epoch, transaction, hangs=meets == HANGING)
        if meets == AFTER_COMMIT:
            self._die()
        if meets == TWICE:
            kafka.commit_late(self._ident, self._epoch)
            self._watch.log(6, "%s", "Disconnected")
        if meets in (LATE, LOST, UNANSWERED, HANGING):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def abort_transaction(self, _timeout_s: float) -> None:
        """Abort."""
        self._step("")
        self._buffer.clear()
        self._kafka.abort(self._ident, self._epoch)

    def _step(self, step: str) -> None:
        if self._life.is_over:
            raise Killed
        try:
            self._kafka.trouble.at_step(step)
        except Killed:
            self._life.is_over = True
            raise
        self._kafka.deliver()

    def _die(self) -> None:
        self._life.is_over = True
        raise Killed


class Shown:
    """A record as a client shows it."""

    def __init__(
        self,
        topic: str,
        partition: int,
        offset: int,
        record: Record,
        error: KafkaError | None = None,
    ) -> None:
        self._place = topic, partition, offset
        self._record = record
        self._error = error

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._place[2]

    def value(self) -> bytes | None:
        return self._record.value

    def key(self) -> bytes | None:
        return None if self._record.key is None else self._record.key.encode()

    def headers(self) -> list[tuple[str, Any]]:
        return list(self._record.headers)

    def timestamp(self) -> tuple[int, int]:
        return 1, self._record.time_ms

    def error(self) -> KafkaError | None:
        return self._error


class Consumer:
    """Reads the committed records of one partition, or all."""

    def __init__(self, kafka: Kafka, settings: dict[str, Any]) -> None:
        self._kafka = kafka
        self._reads_all = settings["isolation.level"] == "read_uncommitted"
        self._topic = ""
        self._number = 0
        self._records: Iterator[tuple[int, Record]] = iter(())

    def get_watermark_offsets(self, place: Any, _timeout_s: float) -> tuple[int, int]:
        """Where the partition begins, and where what is stable ends."""
        self._kafka.deliver()
        if place.topic not in self._kafka.topics:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        partition = self._kafka.topics[place.topic][place.partition]
        return partition.first, partition.stable

    def assign(self, places: Sequence[Any]) -> None:
        """Go to a place. That its topic is gone is said when it is read."""
        self._topic, self._number = places[0].topic, places[0].partition
        self._records = iter(())
        if self._topic not in self._kafka.topics:
            return
        partition = self._kafka.topics[self._topic][self._number]
        read = partition.everything if self._reads_all else partition.committed
        self._records = read(places[0].offset)

    def poll(self, _timeout_s: float) -> Shown:
        """Return the next record, or that the log has ended."""
        for offset, record in self._records:
            return Shown(self._topic, self._number, offset, record)
        if self._topic not in self._kafka.topics:
            gone = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
            return Shown(self._topic, self._number, -1001, Record(), gone)
        partition = self._kafka.topics[self._topic][self._number]
        end = len(partition.records) if self._reads_all else partition.stable
        eof = KafkaError(KafkaError._PARTITION_EOF)
        return Shown(self._topic, self._number, end, Record(), eof)

    def list_topics(self, topic: str = "", timeout: float = 0) -> Any:
        """Say which topics and partitions there are."""
        topics = {
            name: SimpleNamespace(partitions=dict.fromkeys(range(len(parts))), error=None)
            for name, parts in self._kafka.topics.items()
        }
        unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        topics.setdefault(topic, SimpleNamespace(partitions={}, error=unknown))
        return SimpleNamespace(topics=topics)

    def close(self) -> None:
        """Let go of nothing."""
