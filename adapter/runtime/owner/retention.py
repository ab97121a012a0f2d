"""Which consumed messages may go from the queues' topics, and when.

With each snapshot a *note* is written: of each lane the first message that was still needed when
the snapshot was cut. When that snapshot is durable nothing brings back what lies before: a program
that takes over goes on from this snapshot or from a newer one. The notes themselves are in the
snapshots, so that their times survive a restart. A note's messages go when it is old enough; as it
is made after they were consumed, they have been readable for longer than that.

This module computes: it knows no Kafka, no clock and no thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import structlog
from msgspec import Struct

from adapter.core.contract import records as r
from adapter.core.contract.lanes import LANES
from adapter.storage.topics.port import ALL, LaneKey, Trimmed

NOTES = 12
"""Notes that wait for their time: what is consumed goes at most a twelfth of the time too late."""
QUEUES_PER_RECORD = 5_000
"""So that a record stays far below what a topic takes."""
ENDED_MAX = 100
"""Topics of deleted queues of one name that are looked at after a restart, the newest ones."""
BATCH_LANES = 200
"""Trimmed in one go: some seconds at most."""
PAUSE_SWEEPS = 25
PAUSE_SWEEPS_MAX = 3_000
"""After a failure: 5 s, then twice as long each time, up to 10 minutes."""

log = structlog.get_logger("mqk.owner")


class TrimMarks(Struct):
    """first: of each lane the first message that is needed. ended: by name, how many incarnations
    are over.
    """

    first: dict[LaneKey, int] = {}
    ended: dict[str, int] = {}


class Retention:
    """Notes of one term, and what is to be trimmed. notes: those of the snapshot it began with."""

    def __init__(self, keep_ms: int, notes: Iterable[r.ConsumedRestored]) -> None:
        self._keep_ms = keep_ms
        self._notes = list(notes) if keep_ms >= 0 else []
        self._since: list[int] = []
        """From when each note is kept, of the first ones: its time, but not later than the time at
        which this term met it, because a clock that was ahead must hold nothing. The notes keep
        their times: where it is this clock that is behind, the next term goes by them."""
        self._marks = TrimMarks()
        """As of the last durable note, so far as this term knows; what is not known is noted
        again."""
        self._new: tuple[TrimMarks, list[r.ConsumedRestored]] | None = None
        self._over: list[str] = []
        """The names of queues that were gone by the snapshot, and noted to be."""
        self._due: dict[LaneKey, int] = {}
        self._parked: frozenset[str] = frozenset()
        self._pause = 0
        self._next_pause = PAUSE_SWEEPS
        self.offsets = 0
        self.topics = 0
        self.failures = 0
        self.undone = ""
        """Why consumed messages were not deleted at the last attempt, or ""."""

    def note(
        self,
        records: list[r.Record],
        now_ms: int,
        clock_ms: int = 0,
        parked: frozenset[str] = frozenset(),
    ) -> list[r.Record]:
        """Return what is to be written with these records of a snapshot, which was cut just now.

        now_ms: by the clock as the term began. clock_ms: by the clock as it is; it may have been
        corrected since, and the next term goes by it. parked: queues of which nothing is noted:
        their copies are still to come, and the next term may begin when they have just come.
        """
        self._new = None
        self._over = []
        self._note_parked(parked)
        if self._keep_ms < 0:
            self._over = _over(marks_of(records))
            return []
        self._meet(now_ms)
        if not self._notes or self._since[-1] + self._keep_ms // NOTES <= now_ms:
            marks = _without(marks_of(records), parked)
            queues = list(_changes(self._marks, marks))
            ends = range(0, len(queues), QUEUES_PER_RECORD)
            time_ms = max(now_ms, clock_ms)
            new = [r.ConsumedRestored(time_ms, queues[at : at + QUEUES_PER_RECORD]) for at in ends]
            self._new = marks, new
            self._over = _over(marks)
            return [*self._notes, *new]
        return list(self._notes)

    def written(self) -> list[str]:
        """The snapshot that the last note was for is durable.

        Returns the names of queues that are gone and noted: they need not be named again.
        """
        over, self._over = self._over, []
        if self._new is not None:
            self._marks, notes = self._new
            self._notes += notes
            self._new = None
        return over

    def due(self, now_ms: int, parked: frozenset[str]) -> dict[LaneKey, int]:
        """Return lanes to trim now, and before which message; done() is to be called with them.

        parked: queues whose topics still get copies of what lies before. Called at each sweep.
        """
        self._note_parked(parked)
        self._meet(now_ms)
        while self._notes and self._since[0] + self._keep_ms <= now_ms:
            self._since.pop(0)
            self._take(self._notes.pop(0))
        if self._pause:
            self._pause -= 1
            return {}
        lanes = (one for one in self._due if one[0] not in parked)
        return {lane: self._due[lane] for lane, _ in zip(lanes, range(BATCH_LANES), strict=False)}

    def done(self, batch: dict[LaneKey, int], trimmed: Trimmed) -> None:
        """Take in what became of a batch. What is left of it is tried behind all others, and what
        failed behind what had no time: it must not keep others from being trimmed.
        """
        self.offsets += trimmed.offsets
        self.topics += trimmed.topics
        for lane, seq in batch.items():
            if lane not in trimmed.undone and self._due.get(lane) == seq:
                del self._due[lane]
        failed = {lane: why for lane, why in trimmed.undone.items() if why}
        for lane in sorted(trimmed.undone, key=failed.__contains__):
            if lane in self._due:
                self._due[lane] = self._due.pop(lane)
        self.undone = next(iter(failed.values()), "")
        if not failed:
            self._next_pause = PAUSE_SWEEPS
            return
        self.failures += 1
        if len(trimmed.undone) < len(batch):  # Kafka answers: pauses do not grow for the others
            self._next_pause = PAUSE_SWEEPS
        self._pause = self._next_pause
        self._next_pause = min(2 * self._next_pause, PAUSE_SWEEPS_MAX)
        (queue, _, number), why = next(iter(failed.items()))
        log.warning(
            "consumed messages were not deleted; trying again",
            queue=queue,
            lane=number,
            lanes=len(failed),
            reason=why,
        )

    def statistics(self) -> dict[str, int]:
        """Return figures of this term."""
        return {
            "trimmed_offsets": self.offsets,
            "deleted_topics": self.topics,
            "trim_failures": self.failures,
            "trims_waiting": len(self._due),
        }

    def _note_parked(self, parked: frozenset[str]) -> None:
        if parked != self._parked:
            self._forget(parked | self._parked)
            self._parked = parked

    def _forget(self, parked: frozenset[str]) -> None:
        """Note these anew: what was consumed meanwhile, readers have yet to see on their topics."""
        self._due = {lane: seq for lane, seq in self._due.items() if lane[0] not in parked}
        new: list[r.ConsumedRestored] = []
        if self._new is not None:  # the snapshot with it is not durable yet
            marks, new = self._new
            self._new = _without(marks, parked), new
        for note in [*self._notes, *new]:
            note.queues = [one for one in note.queues if one.name not in parked]
        self._marks = _without(self._marks, parked)

    def _meet(self, now_ms: int) -> None:
        for note in self._notes[len(self._since) :]:
            self._since.append(min(note.time_ms, now_ms))

    def _take(self, note: r.ConsumedRestored) -> None:
        """Let what a note says be done."""
        for one in note.queues:
            for number, seq in enumerate(one.seqs or [ALL] * LANES):
                if seq:
                    self._due[one.name, one.incarnation, number] = seq


def marks_of(records: Iterable[r.Record]) -> TrimMarks:
    """Read from a snapshot's records what is still needed.

    Messages that units hold are on the queue. An outcome that is kept holds its message by itself.
    """
    marks = TrimMarks()
    living: dict[str, int] = {}
    for record in records:
        if isinstance(record, r.NamesRestored):
            marks.ended = dict(record.incarnations)
        elif isinstance(record, r.QueueRestored):
            living[record.name] = marks.ended[record.name] = record.incarnation
        elif isinstance(record, r.LaneRestored):
            first = record.spans[0] if record.spans else record.next_seq
            # A lane with many gaps comes in several records; its first message is in the first.
            marks.first.setdefault((record.queue, living[record.queue], record.lane), first)
    return marks


def _without(marks: TrimMarks, names: frozenset[str]) -> TrimMarks:
    first = {lane: seq for lane, seq in marks.first.items() if lane[0] not in names}
    ended = {name: count for name, count in marks.ended.items() if name not in names}
    return TrimMarks(first, ended)


def _over(marks: TrimMarks) -> list[str]:
    return [name for name, count in marks.ended.items() if count]


def _changes(old: TrimMarks, new: TrimMarks) -> Iterator[r.QueueNoted]:
    for name, count in new.ended.items():
        for incarnation in range(max(old.ended.get(name, 0), count - ENDED_MAX), count):
            yield r.QueueNoted(name, incarnation, [])
    queues: dict[tuple[str, int], list[int]] = {}
    for lane, first in new.first.items():
        if first > old.first.get(lane, 1):
            queues.setdefault(lane[:2], [0] * LANES)[lane[2]] = first
    for (name, incarnation), seqs in queues.items():
        yield r.QueueNoted(name, incarnation, seqs)
