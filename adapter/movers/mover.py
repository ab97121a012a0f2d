"""The machinery of a mover: from ledger entries to Kafka transactions, exactly once.

A mover reads valid entries from where its progress says, copies their records in order, and writes
its progress in the same transaction. Transactions end between records, so a unit is never split,
but anywhere within an entry: the progress counts the records of the entry that it stands in.

Whatever goes wrong ends the *term*: producers, reader and all that is remembered are thrown away,
and the next term begins with new producers and the progress as it was committed. There is no other
recovery. Nothing is ever skipped: what cannot be copied is tried again, and holds the mover; or, if
it is known which topic refuses, that topic is parked, and its copies are written later, in order.

What is copied, and to where, is its cargo's business; it must not know queues or events.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

import structlog
from confluent_kafka import KafkaException, Producer

from adapter.format import progress as progress_format
from adapter.format.movable import Movable
from adapter.format.progress import NOWHERE, CopyProgress, Parked
from adapter.format.schemas import UnreadableError
from adapter.ledger.port import Entry, LedgerMismatch, LedgerReader, LedgerUnavailable, Position
from adapter.movers.errors import Doubtful, MoverError
from adapter.movers.parking import SLICE_S, CatchUp, Held, Parking, position_of
from adapter.movers.progress import read_last, with_records
from adapter.movers.projection import Cargo
from adapter.movers.settings import MoverSettings
from adapter.movers.transactions import PRODUCERS, Turns
from adapter.topics.admin import TopicError

READ_S = 0.2
"""One wait for entries: how long a mover may be deaf to a stop. Entries wake it at once."""
GONE = (
    "what was on this topic cannot be written again, because the ledger has been trimmed since: "
    "restore the topic from a copy, or delete the queue and define it again"
)
ENDLESS = (
    "if this continues, Kafka cannot end the open transaction, because a topic refuses even the "
    "end of a transaction"
)
MESSAGES_MAX = 4000
BYTES_MAX = 4 * 1024 * 1024
"""When a transaction is full. A larger one copies no faster and keeps readers waiting longer."""
PARTITIONS_MAX = 64
"""A transaction writes a marker to each of its partitions: 0.25 ms each, 1.2 ms if replicated."""
SMALL_BYTES = 1024 * 1024
"""After fewer bytes of entries there is time for more to come; more are of a backlog."""
GATHER_S = 0.01
"""How long to wait for what came while the mover was busy. Kafka is asked for more when nothing is
left of what came before, at most 5 ms later, so that entries come many at a time."""
IDLE_PROGRESS_S = 5.0
"""How long the progress over entries without anything to copy may stay unwritten."""
BACKOFF_S = 0.1
BACKOFF_S_MAX = 5.0

MakeReader = Callable[[Position | None], LedgerReader]

log = structlog.get_logger("mqk.movers")


class Load:
    """What the open transaction holds so far."""

    __slots__ = ("bytes", "messages", "partitions")

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.partitions: set[tuple[str, int]] = set()

    def has_room(self, record: list[Movable], cargo: Cargo) -> bool:
        """Whether a whole record still fits; into an empty transaction each one does."""
        if not self.messages:
            return True
        if self.messages + len(record) > MESSAGES_MAX or self.bytes >= BYTES_MAX:
            return False
        # Most records have few messages: no need to look where each of them goes.
        return (
            len(self.partitions) + len(record) <= PARTITIONS_MAX
            or len(self.partitions | cargo.partitions(record)) <= PARTITIONS_MAX
        )


class Mover:
    """Copies one cargo until it is stopped. run() belongs to one thread, the rest to any."""

    def __init__(self, settings: MoverSettings, cargo: Cargo, make_reader: MakeReader) -> None:
        self._settings = settings
        self._interval_s = settings.interval_ms / 1000
        self._cargo = cargo
        self._make_reader = make_reader
        self._turns = Turns(settings, cargo.name)
        self._stopping = threading.Event()
        self._moved = threading.Condition()
        self._load = Load()
        self._producer: Producer
        self._at = CopyProgress()
        """Up to where everything was taken; the open transaction included."""
        self._reader: LedgerReader
        self._done = NOWHERE
        """Up to where everything was copied for good; the rest are figures for statistics()."""
        self._end = 0
        self._copied = 0
        self._entries = 0
        self._bytes = 0
        self._written_offset = NOWHERE
        self._written_s = 0.0
        self._began_s = 0.0
        self._holding = ""
        self._parking = Parking()
        self._refused: dict[str, str] = {}  # to be parked until a commit says that they are
        self._trying = ""  # the parked topic whose fault it is if something fails now
        self._catch_up: CatchUp | None = None
        self._held: dict[str, Held] = {}
        self._keeps_from = NOWHERE
        self._ready = False
        self._over = False
        self._counts = dict.fromkeys(("terms", "transactions", "doubtful_commits", "failures"), 0)

    def run(self) -> None:
        """Copy until stop(); raises MoverError when that is impossible."""
        try:
            self._run_terms()
        finally:
            with self._moved:
                self._over = True
                self._moved.notify_all()

    def _run_terms(self) -> None:
        backoff_s = BACKOFF_S
        while not self._stopping.is_set():
            transactions = self._counts["transactions"]
            try:
                self._term()
            except (Doubtful, LedgerUnavailable, TopicError, KafkaException) as trouble:
                self._note(trouble)
            except LedgerMismatch as mismatch:
                raise self._mismatch(mismatch) from mismatch
            except UnreadableError as newer:
                raise MoverError(
                    f"the {self.name} mover of {self._settings.queue_manager} cannot read what is "
                    f"written: {newer}; start the release that wrote it, or a newer one"
                ) from newer
            if self._counts["transactions"] > transactions:
                backoff_s = BACKOFF_S
            self._stopping.wait(backoff_s)
            backoff_s = min(2 * backoff_s, BACKOFF_S_MAX)

    def stop(self) -> None:
        """Let run() end after the transaction that is open."""
        self._stopping.set()

    def caught_up(self, offset: int, timeout_s: float) -> bool:
        """Wait until everything up to a ledger offset has been copied; False if not in time."""
        with self._moved:
            self._moved.wait_for(lambda: self._done >= offset or self._over, timeout_s)
            return self._done >= offset

    def none_parked(self, timeout_s: float) -> bool:
        """Wait until every topic is written; False if not in time."""
        with self._moved:
            self._moved.wait_for(lambda: (self._ready and not self._held) or self._over, timeout_s)
            return not self._held

    def statistics(self) -> dict[str, int]:
        """Figures since the start.

        position: the ledger offset up to which all is copied; written: up to which it is recorded,
        so that a mover that starts again reads on behind it; lag_records, lag_bytes: how much of
        the ledger lies behind it, the bytes estimated from those read so far; copied: copies since
        the queue manager exists; holding: 1 while a fault keeps it from copying.
        parked: topics that cannot be written; parked_messages, parked_bytes: what waits for them;
        pinned_records, pinned_bytes: how much of the ledger must be kept for lag and parked topics.
        """
        lag = max(0, self._end - 1 - self._done)
        pinned = max(lag, self._end - 1 - self._keeps_from) if self._held else lag
        held = self._held.values()
        return {
            **self._counts,
            "copied": self._copied,
            "position": self._done,
            "written": self._written_offset,
            "lag_records": lag,
            "lag_bytes": lag * self._bytes // max(1, self._entries),
            "holding": int(bool(self._holding)),
            "parked": len(held),
            "parked_messages": sum(one.messages for one in held),
            "parked_bytes": sum(one.bytes for one in held),
            "pinned_records": pinned,
            "pinned_bytes": pinned * self._bytes // max(1, self._entries),
        }

    @property
    def parked(self) -> dict[str, Held]:
        """The topics that cannot be written, by name."""
        return self._held

    @property
    def name(self) -> str:
        """Of its cargo."""
        return self._cargo.name

    @property
    def is_ready(self) -> bool:
        """Whether it has found where to go on, and is not beginning again."""
        return self._ready

    @property
    def holding(self) -> str:
        """The fault that keeps the mover from copying, or nothing."""
        return self._holding

    def _term(self) -> None:
        self._counts["terms"] += 1
        with contextlib.closing(self._turns):
            self._cargo.open()
            self._renew()
            self._reader = self._make_reader(self._resume())
            with contextlib.closing(self._reader):
                self._copy_on()

    def _renew(self) -> None:
        """Begin with new producers; the text of what goes wrong then says whose fault it may be."""
        try:
            self._turns.renew()
        except Doubtful as trouble:
            blamed = " and ".join(f"{topic} ({why})" for topic, why in self._refused.items())
            hint = f"{ENDLESS}: correct the settings of topic {blamed or 'that does'}"
            raise Doubtful(f"{trouble}; {hint}", late=trouble.late) from trouble

    def _copy_on(self) -> None:
        self._ready = True
        try:
            while not self._stopping.is_set():
                entries = self._read()
                self._take_all(entries)
                self._try_parked()
                # Silence alone proves nothing: the reader may not even have found its position.
                if entries or self._reader.reached()[0] > self._at.offset:
                    self._holding = ""
                self._pause(entries)
            self._write_idle_progress(0.0)
        finally:
            self._ready = False
            self._end_catch_up()

    def _read(self) -> list[Entry]:
        """Wait for entries; soon after others, for those too that came meanwhile."""
        last_s = self._began_s
        entries = self._reader.read(0.0 if self._catch_up else READ_S)
        self._began_s = time.monotonic()
        if entries and self._began_s - last_s < 2 * self._interval_s:
            entries += self._reader.read(GATHER_S)
        self._end = self._reader.reached()[1]
        return entries

    def _pause(self, entries: list[Entry]) -> None:
        """After a few entries leave time for more to come, but read on at once in a backlog."""
        if (
            self._catch_up is None
            and entries
            and sum(len(entry.payload) for entry in entries) < SMALL_BYTES
        ):
            left_s = self._began_s + self._interval_s - time.monotonic()
            self._stopping.wait(max(0.0, left_s))

    def _resume(self) -> Position | None:
        """Go back to the committed progress; the position where reading goes on."""
        found = read_last(self._settings, self._cargo.partition, self.name, self._mark())
        if found is None:
            self._check_that_nothing_was_copied()
        at = self._at = found or CopyProgress()
        self._load = Load()
        self._cargo.incarnations = at.incarnations
        self._park_all({topic: self._cargo.is_unwritten(topic) for topic in self._refused})
        self._is_written()
        return None if at.offset == NOWHERE else Position(at.offset, at.owner, at.n)

    def _mark(self) -> bytes:
        """Commit a record that means nothing on each producer in turn; its value.

        Once it is visible, so is all that was ever committed before it. Without it too little may
        be: a broker that comes back can forget to say in the log that a transaction has ended. The
        next commit of the same producer says it (docs/decisions/0003).
        """
        mark = os.urandom(16)
        for _ in range(PRODUCERS):
            self._producer = self._turns.begin()
            self._produce_progress(mark, progress_format.mark_key(self.name))
            self._turns.commit()
        return mark

    def _take_all(self, entries: list[Entry]) -> None:
        """Copy entries that were read together: in one transaction, unless it gets too large."""
        for entry in entries:
            if self._stopping.is_set():
                break
            self._take(entry)
        if self._turns.open:
            self._commit()
        self._settle()
        if self._at.parked:
            self._show_parked()
        if not self._stopping.is_set():
            self._is_done(self._reader.reached()[0] - 1)
        self._write_idle_progress(IDLE_PROGRESS_S)

    def _take(self, entry: Entry) -> None:
        """Copy an entry's records, but for those that were copied before."""
        at = self._at
        records = self._cargo.read(entry.payload)
        self._entries += 1
        self._bytes += len(entry.payload)
        for number in range(at.records, len(records)):
            record = records[number]
            if record:
                self._copy(record)
            at.records = number + 1
        at.offset, at.owner, at.n, at.records = entry.offset, entry.owner, entry.n, 0

    def _copy(self, record: list[Movable]) -> None:
        cargo, turns = self._cargo, self._turns
        sent = cargo.is_sent(record)
        settles = sent and cargo.asks_to_settle(record)
        if turns.open and (settles or not sent or not self._load.has_room(record, cargo)):
            self._commit()
        if not sent:
            cargo.take_in(record)
            return
        if not turns.open:
            self._settle()
        if self._at.parked:
            record = cargo.keep_back(record, self._at.parked)
            if not record:
                return
        self._send(record)

    def _send(self, record: list[Movable], topics: dict[str, str] | None = None) -> None:
        """Produce copies, in the open transaction or in a new one."""
        turns = self._turns
        if not turns.open:
            self._producer = turns.begin()
        try:
            self._cargo.send(record, self._producer, turns.report, self._load, topics)
        except (KafkaException, BufferError) as error:
            turns.refuse(self._cargo.last_topic(), error)
            raise turns.meaning(error, f"copying {len(record)} records") from error
        self._at.copied += len(record)

    def _settle(self) -> None:
        refused = self._cargo.settle()
        self._refused |= refused
        self._park_all(dict.fromkeys(refused, True))

    # Parked topics.

    def _park_all(self, unwritten: dict[str, bool]) -> None:
        """Leave topics out that refused, for good: others go by what is said to be parked.

        unwritten: those that did, and whether nothing was ever written to each.
        """
        for topic, is_unwritten in unwritten.items():
            self._park(topic, self._refused[topic], unwritten=is_unwritten)
        if unwritten:
            self._producer = self._turns.begin()
            self._commit()

    def _park(self, topic: str, why: str, *, unwritten: bool = False) -> None:
        """Leave a topic out from here on. Nothing of it may be in an open transaction."""
        at = self._at
        self._parking.failed(topic, time.monotonic())
        if topic in at.parked:
            at.parked[topic].why = why
        else:
            place = at.offset, at.owner, at.n, at.records
            defined = self._cargo.is_defined(topic)
            at.parked[topic] = Parked(*place, why=why, unwritten=unwritten, defined=defined)
            log.warning(
                "topic parked; copying to the others continues",
                topic=topic,
                reason=why,
                mover=self.name,
            )
        self._show_parked()

    def _try_parked(self) -> None:
        """Go on with a parked topic whose time has come: see to it, or copy a slice of its own."""
        at = self._at
        topic = self._catch_up.topic if self._catch_up else None
        topic = topic or self._parking.due(at.parked, time.monotonic())
        if topic is None or at.records or self._stopping.is_set():
            return
        self._trying = topic
        try:
            if self._catch_up is None:
                self._catch_up = self._begin_catch_up(topic)
            self._copy_slice(self._catch_up)
        except TopicError as trouble:
            self._park(topic, str(trouble))
        except LedgerMismatch as gone:
            self._end_catch_up()
            self._park(topic, f"{GONE}; {gone}")
        self._trying = ""

    def _begin_catch_up(self, topic: str) -> CatchUp:
        parked = self._at.parked[topic]
        if self._cargo.repair(topic) and parked.offset != NOWHERE and not parked.unwritten:
            # What was in it is gone: all that the ledger has, once more. Said before anything is
            # copied: a transaction that is aborted makes the topic look used.
            parked.offset, parked.owner, parked.n, parked.records = NOWHERE, bytes(16), 0, 0
            self._producer = self._turns.begin()
            self._commit()
        return CatchUp(topic, parked, self._make_reader(position_of(parked)))

    def _copy_slice(self, catch_up: CatchUp) -> None:
        """Copy what a parked topic has missed, up to where the others are or for a while."""
        at, parked = self._at, self._at.parked[catch_up.topic]
        until_s = time.monotonic() + SLICE_S
        is_over = parked.offset >= at.offset
        while not is_over and time.monotonic() < until_s:
            entry = catch_up.next_entry(READ_S)
            if entry is None or not self._catch_up_with(catch_up, parked, entry):
                break
            catch_up.pending.popleft()
            is_over = parked.offset >= at.offset or catch_up.is_deleted
        if is_over:
            del at.parked[catch_up.topic]
            if not self._turns.open:
                self._producer = self._turns.begin()
        if self._turns.open:
            self._commit()
        if is_over:
            self._end_catch_up()
            self._parking.forget(catch_up.topic)
            log.info("parked topic goes on", topic=catch_up.topic, mover=self.name)

    def _catch_up_with(self, catch_up: CatchUp, parked: Parked, entry: Entry) -> bool:
        """Copy a parked topic's share of an entry; False if the transaction is full before."""
        records = self._cargo.read(entry.payload)
        for number in range(parked.records, len(records)):
            share = catch_up.share(records[number])
            if share and self._turns.open and not self._load.has_room(share, self._cargo):
                return False
            if share:
                parked.unwritten = False
                self._send(share, {catch_up.queue: catch_up.topic})
                parked.messages = max(0, parked.messages - len(share))
                parked.bytes = max(0, parked.bytes - self._cargo.weight(share))
            parked.records = number + 1
        parked.offset, parked.owner, parked.n, parked.records = (
            entry.offset,
            entry.owner,
            entry.n,
            0,
        )
        return True

    def _end_catch_up(self) -> None:
        if self._catch_up is not None:
            self._catch_up.close()
            self._catch_up = None

    def _show_parked(self) -> None:
        """Publish what is parked, for other threads: a new dict each time."""
        parked = self._at.parked
        self._keeps_from = min((one.offset for one in parked.values()), default=NOWHERE)
        self._held = {
            topic: Held(one.messages, one.bytes, one.why) for topic, one in parked.items()
        }

    def _commit(self) -> None:
        """End the open transaction with the progress that it makes."""
        turns = self._turns
        self._produce_progress(progress_format.encode(self._at), self.name)
        turns.commit()
        self._refused.clear()
        self._counts["transactions"] += 1
        self._load = Load()
        self._is_written()

    def _produce_progress(self, value: bytes, key: str) -> None:
        topic, partition = self._settings.progress_topic, self._cargo.partition
        try:
            self._producer.produce(topic, value, key, partition, on_delivery=self._turns.report)
        except (KafkaException, BufferError) as error:
            raise self._turns.meaning(error, "writing the progress") from error

    def _write_idle_progress(self, after_s: float) -> None:
        """Write the progress over entries without anything to copy, now and then."""
        overdue = time.monotonic() - self._written_s >= after_s
        if overdue and self._at.offset != self._written_offset:
            self._producer = self._turns.begin()
            self._commit()

    def _is_written(self) -> None:
        self._written_offset = self._at.offset
        self._written_s = time.monotonic()
        self._copied = self._at.copied
        self._show_parked()
        self._is_done(self._at.offset)

    def _is_done(self, offset: int) -> None:
        with self._moved:
            self._done = max(offset, self._at.offset)
            self._moved.notify_all()

    def _check_that_nothing_was_copied(self) -> None:
        """Refuse to copy everything once more because the progress was lost."""
        settings = self._settings
        full = with_records(settings, self._cargo.topics())
        if full:
            raise MoverError(
                f"the {self.name} mover finds no progress in {self._place}, and there are copies "
                f"in {', '.join(full)}: the topic of the progress was deleted. Restore it from a "
                "copy; or delete the topics that hold copies, to have them all written again"
            )

    @property
    def _place(self) -> str:
        return f"{self._settings.progress_topic}[{self._cargo.partition}]"

    def _note(self, trouble: Exception) -> None:
        self._counts["failures"] += 1
        if isinstance(trouble, Doubtful) and trouble.late:
            self._counts["doubtful_commits"] += 1
        trying, self._trying = self._trying, ""
        refused = self._turns.refused | ({trying: str(trouble)} if trying else {})
        if self._cargo.parks and refused:
            self._refused |= refused
            return
        self._holding = str(trouble)
        log.warning(
            "holds, and tries again from its progress", mover=self.name, reason=self._holding
        )

    def _mismatch(self, mismatch: LedgerMismatch) -> MoverError:
        return MoverError(
            f"the {self.name} mover cannot go on from its progress in {self._place} (ledger offset "
            f"{self._at.offset}, owner {self._at.owner.hex()}, n {self._at.n}): {mismatch}. The "
            f"saved position is the topic {self._settings.progress_topic}: with it go the copies "
            "of the old ledger, the topics of the queues and of the events"
        )
