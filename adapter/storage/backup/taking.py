"""Taking a backup, of a queue manager that stands still or runs.

The messages come first: they are many. Meanwhile a queue manager that runs may write a newer
snapshot, trim its ledger up to it, and delete messages from their topics that it no longer speaks
of. Then its newest snapshot is taken instead, and only what has come since is copied. So a backup
is true as of one entry: the last one of the ledger when all messages had been copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Protocol

from adapter.core.contract.ranges import Ranges
from adapter.storage.backup import file as files
from adapter.storage.backup.contents import waiting_of
from adapter.storage.format import entries
from adapter.storage.ledger.port import LedgerError, LedgerMismatch, Position, Raw
from adapter.storage.ledger.seals import Seals
from adapter.storage.ledger.snapshots import Snapshot
from adapter.storage.ledger.validity import Validity, Verdict

SNAPSHOTS_MAX = 100
"""Newer ones that are followed. The first copying takes long, the others ever less."""


class BackupSource(Protocol):
    """What a backup is taken of. Blocking; raises LedgerError."""

    name: str
    seals: Seals
    """Of its ledger."""

    def newest(self) -> Snapshot | None:
        """Return the newest complete snapshot."""

    def bounds(self) -> tuple[int, int]:
        """The ledger's first offset, and the one after its last."""

    def ledger(self, first: int) -> Iterator[Raw]:
        """Read the ledger from an offset to its present end; LedgerMismatch if it is gone."""

    def lane(self, lane: files.BackupLane, seq: int) -> Iterator[files.CopiedRecord]:
        """Read the records of a queue's topic from a message on to their present end, in order.

        Nothing, if there is no such topic.
        """


class Missing(Exception):  # noqa: N818
    """A message that a snapshot speaks of is not on its topic."""


def take(place: BackupSource, file: files.BackupWriter) -> None:
    """Write all of a backup but its header. Raises LedgerError."""
    through: dict[files.BackupLane, int] = {}
    before: Snapshot | None = None
    trouble = ""
    for _ in range(SNAPSHOTS_MAX):
        snapshot = _newest_or_empty(place)
        if before is not None and snapshot.after == before.after:
            break
        before = snapshot
        try:
            waiting = waiting_of(snapshot)
            for lane, seqs in waiting.lanes.items():
                _copy(place, lane, seqs, waiting.whole.get(lane, {}), through, file)
        except Missing as missing:
            trouble = str(missing)
            continue
        mark = file.mark()
        try:
            _write_ledger(place, snapshot, file)
        except LedgerMismatch as trimmed:
            trouble = str(trimmed)
            file.back(mark)
            continue
        return
    raise files.BackupError(
        f"queue manager {place.name} was not backed up: {trouble}. If topics were deleted or "
        "changed, no backup can be whole; if it is very busy, try again later"
    )


def _newest_or_empty(place: BackupSource) -> Snapshot:
    """Return the newest snapshot, or what stands for one if the queue manager has written none."""
    if (newest := place.newest()) is not None:
        return newest
    try:
        return _empty(place)
    except LedgerError:
        if (first := place.newest()) is None:
            raise
        return first  # it was written meanwhile, and the ledger trimmed up to it


def _empty(place: BackupSource) -> Snapshot:
    """Stand for a ledger from its beginning: nothing was, when the first owner came."""
    first, end = place.bounds()
    if first:
        raise files.BackupError(
            f"the ledger of {place.name} begins at offset {first}, and no snapshot stands for what "
            f"lay before: restore the topic of its snapshots from a copy"
        )
    validity = Validity(place.seals)
    for raw in place.ledger(first) if end else ():
        if validity.judge_value(raw.value)[0] is Verdict.OWNER_CHANGED:
            after = Position(raw.offset, validity.owner, 0)
            return Snapshot(after, 0, [entries.encode_by_schema([])])
    raise files.BackupError(
        f"the ledger of {place.name} is empty: no owner has begun, and there is nothing to back up"
    )


def _copy(
    place: BackupSource,
    lane: files.BackupLane,
    seqs: Ranges,
    whole: dict[int, list[files.CopiedRecord]],
    through: dict[files.BackupLane, int],
    file: files.BackupWriter,
) -> None:
    """Copy those messages of a lane that have not been copied before.

    whole: some that need not be on the topic.
    """
    wanted = seqs.at_or_after(through.get(lane, 0) + 1)
    if wanted is None:
        return
    last = seqs.spans()[-1][1]
    file.write(lane)
    for copied in _fill(place.lane(lane, wanted), whole, wanted):
        if copied.seq > last or (wanted is not None and copied.seq > wanted):
            break
        if copied.seq in seqs:  # a message may be several records
            file.write(copied)
            through[lane] = copied.seq
            wanted = seqs.at_or_after(copied.seq + 1)
    if wanted is not None:
        raise Missing(
            f"message {wanted} of queue {lane.queue}, lane {lane.lane}, is not on the queue's topic"
        )


def _fill(
    copies: Iterator[files.CopiedRecord], whole: dict[int, list[files.CopiedRecord]], first: int
) -> Iterator[files.CopiedRecord]:
    """Fill in what a topic lacks."""
    left = deque(sorted(seq for seq in whole if seq >= first))
    for copied in copies:
        while left and left[0] <= copied.seq:
            seq = left.popleft()
            if seq < copied.seq:
                yield from whole[seq]
        yield copied
    for seq in left:
        yield from whole[seq]


def _write_ledger(place: BackupSource, snapshot: Snapshot, file: files.BackupWriter) -> None:
    after = snapshot.after
    file.write(
        files.SnapshotHead(after.offset, after.owner, after.n, snapshot.cut_n, len(snapshot.parts))
    )
    for part in snapshot.parts:
        file.write(files.SnapshotPart(part))
    for raw in place.ledger(after.offset):
        file.write(files.LedgerRecord(raw.offset, raw.time_ms, raw.value))
