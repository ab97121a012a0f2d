"""Topics that cannot be written: left out, tried again now and then, and caught up with.

A topic that refuses is *parked*: its mover goes on without it. A parked topic has a position of its
own in the ledger, kept in the progress: all its copies before that position are written, none
behind it is. So parking is always safe, also for a wrong reason, and costs order and delay on that
topic alone.

**Parking.** The refusal ends the mover's term: what the open transaction holds of other topics is
thrown away with it. The next term goes back to the committed progress, and parks the topic there,
in a transaction of its own, before it copies anything. From then on each record is copied without
the parked topic's share, which is only counted.

**Catching up.** When the topic can be written again, a second reader begins at the topic's own
position, and copies that topic's share of what it reads, in slices: a slice ends after some time,
or when a transaction is full, and the others have their turn. Every commit holds the positions of
both. The topic is parked no more when its position has reached that of the others: they stand
between two entries then, so nothing lies between.

**Which records are its share.** A name can be deleted and defined again, and each incarnation has a
topic of its own. Whether the topic's incarnation is the one defined at its position is in the
progress too (`defined`), and followed from there: a reader that begins before the definition passes
over what went to earlier queues of the name, and the deletion of its own incarnation ends it.

**A topic that was deleted** is created again and gets all that the ledger has, from the beginning;
if the ledger does not begin there any more the topic stays parked, because copies would be missing,
until its queue has been deleted. A topic that was never written (`unwritten`) needs none of that:
its position is its beginning. That is so if the ledger has defined its queue since the mover began,
or if Kafka says so; that it could not be created proves nothing.

This module knows when to try and what is whose; it must not know how anything is produced.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from functools import partial

import msgspec
import structlog
from msgspec import Struct

from adapter.core.contract.records import QueueDefined, QueueDeleted
from adapter.storage.format import names
from adapter.storage.format.copied import Copy
from adapter.storage.format.descriptor import DescriptorReader
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import NOWHERE, Parked
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.port import Entry, LedgerMismatch, LedgerReader, Position
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.open_lanes import OpenLanes
from adapter.storage.movers.progress import READ_TIMEOUT_S
from adapter.storage.movers.projection import ParkableProjection
from adapter.storage.movers.settings import MoverSettings
from adapter.storage.movers.writer import CopyWriter
from adapter.storage.topics.admin import TopicError

RETRY_S = 1.0
RETRY_S_MAX = 60.0
"""Before a parked topic is tried again: a try may hold the others for some seconds."""
SLICE_S = 0.2
"""How long a topic is caught up with before the others have their turn."""
READ_S = 0.2
"""One wait for entries: how long until a stop is noticed. Entries end it at once."""
GONE = (
    "what was on this topic cannot be written again, because the ledger has been trimmed since: "
    "restore the topic from a copy, or delete the queue and define it again"
)

NO_LEADER = "had a partition without a leader when its mover began: check that all brokers run"

MakeReader = Callable[[Position | None], LedgerReader]

log = structlog.get_logger("mqk.movers")


class Held(Struct):
    """A parked topic as others see it: what waits for it, and why."""

    messages: int
    bytes: int
    why: str


class RetrySchedule:
    """When which parked topic is tried again. Outlives the terms of its mover."""

    def __init__(self) -> None:
        self._due_s: dict[str, float] = {}
        self._pause_s: dict[str, float] = {}

    def failed(self, topic: str, now_s: float) -> None:
        """A topic could not be written: try again after a while, each time longer."""
        pause_s = min(2 * self._pause_s.get(topic, RETRY_S / 2), RETRY_S_MAX)
        self._pause_s[topic] = pause_s
        self._due_s[topic] = now_s + pause_s

    def due(self, topics: Iterable[str], now_s: float) -> str | None:
        """Say which of these topics to try now: at once, if it was parked before a start."""
        for topic in topics:
            if self._due_s.get(topic, now_s) <= now_s:
                return topic
        return None

    def forget(self, topic: str) -> None:
        """A topic is written again."""
        self._due_s.pop(topic, None)
        self._pause_s.pop(topic, None)


class CatchUp:
    """Reads the ledger for one parked topic, from its place on. A resource: close() it."""

    def __init__(self, topic: str, parked: Parked, reader: LedgerReader) -> None:
        _, self.queue, self._incarnation = names.parse_queue_topic(topic)
        self.topic = topic
        self.pending: deque[Entry] = deque()
        self.is_deleted = False
        """Whether the ledger says that the queue was deleted: nothing follows."""
        if parked.offset == NOWHERE and not parked.records:
            parked.defined = False  # nothing is, where the ledger begins
        self._parked = parked
        self._reader = reader

    def next_entry(self, timeout_s: float) -> Entry | None:
        """The entry that is next until it is taken from pending; None if none came in time."""
        if not self.pending:
            self.pending.extend(self._reader.read(timeout_s))
        return self.pending[0] if self.pending else None

    def share(self, record: list[Movable]) -> list[Movable]:
        """What of a record is this topic's; records are to be given in order, each once."""
        first = record[0] if record else None
        if isinstance(first, QueueDefined | QueueDeleted):
            if first.name == self.queue:
                if isinstance(first, QueueDeleted):
                    self.is_deleted = self._parked.defined
                    self._parked.defined = False
                else:
                    self._parked.defined = first.incarnation == self._incarnation
            return []
        if not self._parked.defined:
            return []
        return [one for one in record if isinstance(one, Copy) and one.queue == self.queue]

    def close(self) -> None:
        """Let go of the reader."""
        self._reader.close()


class Parking:
    """The parked topics of one mover. For the mover's thread; held and keeps_from for any."""

    def __init__(
        self,
        settings: MoverSettings,
        projection: ParkableProjection,
        writer: CopyWriter,
        make_reader: MakeReader,
        stopping: threading.Event,
    ) -> None:
        self._projection = projection
        self._writer = writer
        self._make_reader = make_reader
        self._stopping = stopping
        self._schedule = RetrySchedule()
        self._refused: dict[str, str] = {}  # to be parked until a commit says that they are
        self._new: set[str] = set()  # those of them to which nothing was ever written
        self._trying = ""  # the parked topic that is to blame if something fails now
        self._catch_up: CatchUp | None = None
        self._open_lanes = OpenLanes(settings, writer, self._first_seqs)
        self._ledger = settings.ledger
        self._leaderless: set[str] = set()  # topics of which a lane may have a transaction open
        self.held: dict[str, Held] = {}
        """The parked topics, by name: a new dict each time."""
        self.keeps_from = NOWHERE
        """The ledger's offset from which on parked topics need it."""

    @property
    def is_catching_up(self) -> bool:
        """Whether a topic is being caught up with."""
        return self._catch_up is not None

    @property
    def refused(self) -> str:
        """The topics that refused since the last commit, and why."""
        return " and ".join(f"{topic} ({why})" for topic, why in self._refused.items())

    def is_to_blame(self, trouble: Exception) -> bool:
        """Whether topics are to blame for what ended a term; they are parked by the next one."""
        trying, self._trying = self._trying, ""
        refused = self._writer.producers.refused | ({trying: str(trouble)} if trying else {})
        self._refused |= refused
        return bool(refused)

    def resume(self) -> None:
        """Take in the progress as it was committed, and park what has refused since."""
        projection = self._projection
        projection.incarnations = self._writer.at.incarnations
        self._park_all(
            {one: one in self._new or projection.is_unwritten(one) for one in self._refused}
        )
        parked = self._writer.at.parked
        topics = [topic for topic in projection.topics() if topic not in parked]
        self._leaderless = self._open_lanes.end(topics, self._writer.progress_turn)

    def end_term(self) -> None:
        """Stop catching up; the next term may begin again."""
        if self._catch_up is not None:
            self._catch_up.close()
            self._catch_up = None

    def committed(self) -> None:
        """A commit says what is parked."""
        self._refused.clear()
        self._new.clear()

    def ends_transaction(self, record: list[Movable]) -> bool:
        """Whether the open transaction must end before a record is taken; asked once for each."""
        projection = self._projection
        return not projection.is_sent(record) or projection.needs_topics(record)

    def take(self, record: list[Movable]) -> list[Movable]:
        """Take a record in, and return what of it is to be copied now."""
        projection, writer = self._projection, self._writer
        if not projection.is_sent(record):
            self._note_change(record[0])
            projection.take_in(record)
            return []
        if self._leaderless and (topic := projection.goes_to(record, self._leaderless)):
            if writer.is_open:
                writer.commit()
            raise Doubtful(f"{topic} {NO_LEADER}")
        if not writer.is_open:
            self.settle()
        return projection.keep_back(record, writer.at.parked) if writer.at.parked else record

    def settle(self) -> None:
        """Create the topics that are needed, and park those that cannot be created.

        One that exists cannot be created either, if it is not as it must be. So what was written
        to it is asked for: a topic that is deleted later has lost that.
        """
        refused = self._projection.settle()
        new = {topic for topic in refused if self._projection.is_new(topic)}
        self._refused |= refused
        self._new |= new
        self._park_all({topic: topic in new for topic in refused})

    def _note_change(self, change: Movable) -> None:
        """Note at the parked topics which of their queues are deleted, and which defined again.

        To be called before the projection takes the change in, which forgets what is deleted.
        """
        if not isinstance(change, QueueDefined | QueueDeleted):
            return
        for topic, parked in self._writer.at.parked.items():
            _, queue, incarnation = names.parse_queue_topic(topic)
            if queue != change.name:
                continue
            if isinstance(change, QueueDeleted):
                parked.deleted = parked.deleted or self._projection.is_defined(topic)
            elif incarnation == change.incarnation:
                parked.deleted = False

    def _park_all(self, unwritten: dict[str, bool]) -> None:
        """Leave topics out that refused, for good: others go by what is said to be parked.

        unwritten: those that did, and whether nothing was ever written to each.
        """
        for topic, is_unwritten in unwritten.items():
            self._park(topic, self._refused[topic], unwritten=is_unwritten)
        if unwritten:
            self._writer.begin()
            self._writer.commit()

    def _park(self, topic: str, why: str, *, unwritten: bool = False) -> None:
        """Leave a topic out from here on. Nothing of it may be in an open transaction."""
        at = self._writer.at
        self._schedule.failed(topic, time.monotonic())
        if topic in at.parked:
            at.parked[topic].why = why
        else:
            place = at.offset, at.owner, at.n, at.records
            defined = self._projection.is_defined(topic)
            at.parked[topic] = Parked(*place, why=why, unwritten=unwritten, defined=defined)
            mover = self._projection.name
            text = "topic parked; copying to the others continues"
            log.warning(text, topic=topic, reason=why, mover=mover)
        self.show()

    def try_parked(self) -> None:
        """Go on with a parked topic whose time has come: check it, or copy a slice of its own."""
        at = self._writer.at
        topic = self._catch_up.topic if self._catch_up else None
        topic = topic or self._schedule.due(at.parked, time.monotonic())
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
            self.end_term()
            if self._projection.is_defined(topic) and not at.parked[topic].deleted:
                self._park(topic, f"{GONE}; {gone}")
            else:
                self._end(topic, "its queue was deleted; the topic stays without what it missed")
        self._trying = ""

    def _begin_catch_up(self, topic: str) -> CatchUp:
        parked = self._writer.at.parked[topic]
        is_new = self._projection.repair(topic)
        self._writer.producers.forget_partitions()
        if is_new and parked.offset != NOWHERE and not parked.unwritten:
            # What was in it is gone: all that the ledger has, once more. Said before anything is
            # copied: a transaction that is aborted makes the topic look used.
            parked.offset, parked.owner, parked.n, parked.records = NOWHERE, bytes(16), 0, 0
            self._writer.begin()
            self._writer.commit()
        if self._open_lanes.end([topic], None):
            raise TopicError(f"{topic} {NO_LEADER}", retriable=True)
        return CatchUp(topic, parked, self._make_reader(position_of(parked)))

    def _first_seqs(self, topic: str, lanes: Collection[int]) -> dict[int, int]:
        """See open_lanes.FirstSeqs: read the ledger from the progress, or the topic's place, on."""
        at, end = self._writer.at, Whole(self._ledger).end
        place = Parked(at.offset, at.owner, at.n, at.records)
        place.defined = self._projection.is_defined(topic)
        place = msgspec.structs.replace(at.parked.get(topic, place))
        with closing(self._make_reader(position_of(place))) as reader:
            share = CatchUp(topic, place, reader)
            return first_seqs(share, reader, self._projection.read, lanes, end, place.records)

    def _copy_slice(self, catch_up: CatchUp) -> None:
        """Copy what a parked topic has missed, up to where the others are or for a while."""
        writer = self._writer
        at, parked = writer.at, writer.at.parked[catch_up.topic]
        until_s = time.monotonic() + SLICE_S
        is_over = parked.offset >= at.offset
        while not is_over and time.monotonic() < until_s:
            entry = catch_up.next_entry(READ_S)
            if entry is None or not self._copy_share(catch_up, parked, entry):
                break
            catch_up.pending.popleft()
            is_over = parked.offset >= at.offset or catch_up.is_deleted
        if is_over:
            self.end_term()
            self._end(catch_up.topic, "nothing is missing on it")
        elif writer.is_open:
            writer.commit()

    def _end(self, topic: str, why: str) -> None:
        """Say in the progress that a topic is parked no more, with what is open."""
        del self._writer.at.parked[topic]
        if not self._writer.is_open:
            self._writer.begin()
        self._writer.commit()
        self._schedule.forget(topic)
        log.info("topic parked no more", topic=topic, reason=why, mover=self._projection.name)

    def _copy_share(self, catch_up: CatchUp, parked: Parked, entry: Entry) -> bool:
        """Copy a parked topic's share of an entry; False if the transaction is full before."""
        projection, writer = self._projection, self._writer
        records = projection.read(entry.payload)
        for number in range(parked.records, len(records)):
            share = catch_up.share(records[number])
            if share and writer.is_open and not writer.has_room(share):
                return False
            if share:
                parked.unwritten = False
                writer.send(share, partial(projection.send_to, catch_up.topic))
                parked.messages = max(0, parked.messages - len(share))
                parked.bytes = max(0, parked.bytes - projection.weight(share))
            parked.records = number + 1
        parked.offset, parked.owner, parked.n, parked.records = (
            entry.offset,
            entry.owner,
            entry.n,
            0,
        )
        return True

    def show(self) -> None:
        """Publish what is parked, for other threads: a new dict each time."""
        parked = self._writer.at.parked
        self.keeps_from = min((one.offset for one in parked.values()), default=NOWHERE)
        self.held = {topic: Held(one.messages, one.bytes, one.why) for topic, one in parked.items()}


def first_seqs(
    share_of: CatchUp,
    reader: LedgerReader,
    read: Callable[[bytes], list[list[Movable]]],
    lanes: Collection[int],
    end: int,
    skip: int,
) -> dict[int, int]:
    """Return the seq of the first copy to each of some lanes, up to an offset of the ledger.

    skip: how many records of the first entry do not count. Raises Doubtful.
    """
    descriptors = DescriptorReader()
    found: dict[int, int] = {}
    late_s = time.monotonic() + READ_TIMEOUT_S
    while len(found) < len(lanes) and not share_of.is_deleted and reader.offset_and_end()[0] < end:
        for entry in reader.read(READ_S):
            late_s = time.monotonic() + READ_TIMEOUT_S
            for record in read(entry.payload)[skip:]:
                for one in share_of.share(record):
                    if isinstance(one, Copy) and one.lane in lanes and one.lane not in found:
                        found[one.lane] = descriptors.read(one.descriptor, b"")[1].seq
            skip = 0
        if time.monotonic() > late_s:
            raise Doubtful(f"the ledger was not read up to offset {end}")
    return found


def position_of(parked: Parked) -> Position | None:
    """Where a reader goes on for a parked topic; None is the ledger's start."""
    if parked.offset == NOWHERE:
        return None
    return Position(parked.offset, parked.owner, parked.n)
