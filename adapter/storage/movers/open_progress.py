"""Progress that Kafka left undecided: judged by the lanes, before a mark could commit it.

**The fault.** It is that of open_lanes, on the mover's partition of the progress topic: its leader
was away when a marker was to be sent, so a transaction stays open there that has ended. The next
commit of the same producer, the mark, would commit it, although it may have been aborted. Its
copies were aborted with it, where their lanes had leaders: the mover would go on behind copies that
are on no topic, and the ledger's entries of them would be deleted.

**Judging.** A transaction is committed or aborted in all of its partitions. So a lane that is not
open itself tells: a reader of committed records sees the transaction's last copy to this lane as
the last one, or does not. Nothing is written to the lanes meanwhile, as both producers were
initialised. A progress counts if a lane shows its copies. If no lane tells, because all are open as
well, no reader has seen anything of the transaction: it does not count, and is copied again.

**Ending.** A producer with a progress that does not count aborts a transaction; the other one
commits a mark. A progress that counts is never behind one that does not and of the same producer:
whatever fails ends the term, and the next one begins with marks.

If lanes contradict each other, copies have gone from a topic. Then the mover holds, and names them:
nothing is copied, and the ledger is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing

import msgspec
import structlog
from msgspec import Struct

from adapter.storage.format import progress as progress_format
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import CopyProgress, Parked
from adapter.storage.format.record_headers import headers_of
from adapter.storage.ledger.port import LedgerMismatch, LedgerReader
from adapter.storage.movers import open_lanes
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.open_lanes import Lane, OpenLane
from adapter.storage.movers.parking import READ_S, CatchUp, MakeReader, position_of
from adapter.storage.movers.progress import READ_TIMEOUT_S, Committed, uncommitted
from adapter.storage.movers.projection import Projection
from adapter.storage.movers.settings import PARTITIONS, MoverSettings
from adapter.storage.movers.transactions import PRODUCERS
from adapter.storage.movers.writer import CopyWriter

SHOWN_S = 3.0
"""How long Kafka may take to write a marker after it has answered."""
LOOK_S = 0.02
FOREVER = "so it is not known which copies count: check that all brokers run"

Place = CopyProgress | Parked
"""Where in the ledger something stands: after an entry, and some records of the next one."""
Pick = Callable[[list[Movable]], Iterable[tuple[Lane, object]]]
"""Returns the copies of a record, by lane; each as its projection identifies it."""

log = structlog.get_logger("mqk.movers")


class Undecided(Struct):
    """A progress in a transaction that is open. turn: the producer that wrote it, if it says so.

    last: of each lane to which its transaction copied, the last copy.
    """

    at: CopyProgress
    turn: int | None
    last: dict[Lane, object] = {}


def count_decided(undecided: Sequence[Undecided], shown: Mapping[Lane, object]) -> int:
    """Return how many of these, which follow each other, count.

    shown: the last committed copy of each lane that tells, None if it has none. Raises Doubtful if
    lanes contradict each other.
    """
    count = 0
    missing: set[Lane] = set()
    for number, one in enumerate(undecided):
        later = undecided[number:]
        lanes = one.last.keys() & shown.keys()
        there = {
            lane
            for lane in lanes
            if any(lane in two.last and shown[lane] == two.last[lane] for two in later)
        }
        missing |= lanes - there
        if there:
            count = number + 1
            if missing:
                topic, lane = min(missing)
                raise Doubtful(
                    f"copies are missing on {topic}[{lane}] that were committed together with "
                    "others: restore the topic from a copy, or delete it if it is not needed"
                )
    return count


def last_copies(
    reader: LedgerReader,
    read: Callable[[bytes], list[list[Movable]]],
    start: Place,
    ends: Sequence[Place],
    pick: Pick,
) -> list[dict[Lane, object]]:
    """Return for each end the last copy to each lane between the end before it, or start, and it.

    Raises Doubtful if the ledger is not read in time.
    """
    found: list[dict[Lane, object]] = [{} for _ in ends]
    number, before, skip = 0, start.offset, start.records
    late_s = time.monotonic() + READ_TIMEOUT_S
    while any(before < end.offset or end.records for end in ends[number:]):
        for entry in reader.read(READ_S):
            late_s = time.monotonic() + READ_TIMEOUT_S
            for index, record in enumerate(read(entry.payload)):
                while number < len(ends) and not _is_within(
                    ends[number], before, entry.offset, index
                ):
                    number += 1
                if number == len(ends):
                    return found
                if record and index >= skip:
                    found[number] |= pick(record)
            before, skip = entry.offset, 0
        if time.monotonic() > late_s:
            raise Doubtful(f"the ledger was not read up to offset {ends[-1].offset}")
    return found


def _is_within(end: Place, before: int, offset: int, index: int) -> bool:
    """Whether a record of the entry at an offset, behind the entry before, lies before an end."""
    return offset <= end.offset or (before <= end.offset and index < end.records)


class OpenProgress:
    """Ends what Kafka left open in the progress of one mover. For the mover's thread."""

    def __init__(
        self,
        settings: MoverSettings,
        projection: Projection,
        writer: CopyWriter,
        make_reader: MakeReader,
    ) -> None:
        self._settings = settings
        self._projection = projection
        self._writer = writer
        self._make_reader = make_reader
        self._topic = settings.progress_topic
        self._partition = PARTITIONS[projection.name]
        self._ends: open_lanes.LaneEnds | None = None

    def end(self) -> None:
        """Abort progress of which the copies do not count. Raises Doubtful if that is not known.

        To be called once both producers are initialised, before a mark is committed.
        """
        ends = self._ends = self._ends or open_lanes.LaneEnds(self._settings)
        is_open = ends.open_lane(self._topic, self._partition)
        if is_open is None:
            return
        undecided = self._judge(ends, is_open)
        if not undecided:
            return  # what counts is committed by the marks
        turns = {one.turn for one in undecided}
        aborted = {one for one in range(PRODUCERS) if one in turns or None in turns}
        log.warning(
            "a progress that Kafka left open is aborted, because its copies are on no topic: they "
            "are copied again",
            mover=self._projection.name,
            offsets=[one.at.offset for one in undecided],
        )
        self._writer.mark(aborted, self._open_beside(ends))
        deadline_s = time.monotonic() + SHOWN_S
        while ends.open_lane(self._topic, self._partition) is not None:
            if time.monotonic() > deadline_s:
                raise Doubtful(f"a transaction stays open in {self._topic}[{self._partition}]")
            time.sleep(LOOK_S)

    def _open_beside(self, ends: open_lanes.LaneEnds) -> list[Lane]:
        """Return the open lanes that are not handled elsewhere; those of queues are later."""
        if self._projection.parkable:
            return []
        found, _ = ends.open_lanes(self._projection.topics())
        return [one.place for one in found]

    def _judge(self, ends: open_lanes.LaneEnds, is_open: OpenLane) -> list[Undecided]:
        """Return the progress that does not count."""
        at, undecided = self._read(is_open)
        if not undecided:
            return []
        lasts = self._stretches(at, [one.at for one in undecided])
        for one, last in zip(undecided, lasts, strict=True):
            one.last = last
        lanes = {lane for one in undecided for lane in one.last}
        topics = {topic for topic, _ in lanes} & set(self._projection.topics())
        found, unled = ends.open_lanes(topics)
        hidden = {one.place for one in found}
        tell = {one for one in lanes - hidden if one[0] in topics - unled}
        left = undecided[count_decided(undecided, self._shown(tell)) :]
        untold = {topic for one in left if not one.last.keys() & tell for topic, _ in one.last}
        if untold & unled:
            raise Doubtful(f"{min(untold & unled)} has a partition without a leader, {FOREVER}")
        return left

    def _read(self, is_open: OpenLane) -> tuple[CopyProgress, list[Undecided]]:
        """Return the progress that is committed, and what is not behind it."""
        settings, name = self._settings, self._projection.name
        with Committed(settings) as committed:
            last = committed.last(self._topic, self._partition, name)
        at = CopyProgress() if last is None else progress_format.decode(last.value() or b"")
        behind = uncommitted(settings, self._topic, self._partition, is_open.stable, is_open.end)
        return at, [
            Undecided(
                progress_format.decode(one.value() or b""), progress_format.turn_of(headers_of(one))
            )
            for one in behind
            if one.key() == name.encode()
        ]

    def _stretches(
        self, at: CopyProgress, undecided: Sequence[CopyProgress]
    ) -> list[dict[Lane, object]]:
        """Return what each progress says was copied by its own transaction: see Undecided.last."""
        projection = self._projection
        parked = {topic for one in (at, *undecided) for topic in one.parked}
        if projection.parkable:
            projection.parkable.incarnations = dict(at.incarnations)

        def others(record: list[Movable]) -> list[tuple[Lane, object]]:
            return [one for one in projection.identities(record) if one[0][0] not in parked]

        place = Parked(at.offset, at.owner, at.n, at.records)
        with closing(self._make_reader(position_of(place))) as reader:
            found = last_copies(reader, projection.read, place, undecided, others)
        for topic, start in at.parked.items():
            ends = [one.parked.get(topic, one) for one in undecided]
            for one, more in zip(found, self._caught_up(topic, start, ends), strict=True):
                one |= more
        return found

    def _caught_up(
        self, topic: str, start: Parked, ends: Sequence[Place]
    ) -> list[dict[Lane, object]]:
        """Return what was copied to a parked topic in its turns."""
        projection = self._projection
        with closing(self._make_reader(position_of(start))) as reader:
            share = CatchUp(topic, msgspec.structs.replace(start), reader)

            def own(record: list[Movable]) -> list[tuple[Lane, object]]:
                copies = projection.identities(share.share(record))
                return [((topic, lane), copy) for (_, lane), copy in copies]

            try:
                return last_copies(reader, projection.read, start, ends, own)
            except LedgerMismatch:  # it was trimmed: nothing was copied from there
                return [{} for _ in ends]

    def _shown(self, lanes: Collection[Lane]) -> dict[Lane, object]:
        """Return the last committed copy of each lane; without those that were emptied."""
        shown: dict[Lane, object] = {}
        with Committed(self._settings) as committed:
            for topic, lane in sorted(lanes):
                last = committed.last_that(topic, lane, self._projection.identity)
                if last is not None or committed.is_untrimmed(topic, lane):
                    shown[topic, lane] = last
        return shown
