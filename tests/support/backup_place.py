"""A queue manager's topics in memory, to take backups of and to restore them to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from adapter.core.contract.records import QueueDefined
from adapter.storage.backup import file as files
from adapter.storage.backup import taking
from adapter.storage.backup.contents import FIRST
from adapter.storage.backup.file import BackupHeader, BackupLane, CopiedRecord, LedgerRecord
from adapter.storage.format import descriptor
from adapter.storage.format.copied import Copy
from adapter.storage.format.movable import Movable, decode_copies
from adapter.storage.format.progress import CopyProgress
from adapter.storage.ledger.port import LedgerMismatch, Raw
from adapter.storage.ledger.seals import Seals
from adapter.storage.ledger.snapshots import Snapshot

MARK = b"a mark"


class MemoryPlace:
    """Both a taking.BackupSource and a restoring.Place."""

    def __init__(self, name: str = "QM1") -> None:
        self.name = name
        self.seals = Seals("")
        self.snapshots: list[Snapshot] = []
        self.values: list[bytes | None] = []
        self.first = 0
        self.time_ms = 7
        self.lanes: dict[BackupLane, list[CopiedRecord]] = {}
        self.progress: CopyProgress | None = None
        self.queues: dict[str, int] = {}
        self.before_lane: Callable[[BackupLane], None] = lambda _lane: None
        self.before_ledger: Callable[[], None] = lambda: None
        """What a queue manager does that runs meanwhile."""

    # As what a backup is taken of.

    def newest(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots else None

    def is_kept(self) -> bool:
        return True

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:
        self.snapshots.append(snapshot)

    def bounds(self) -> tuple[int, int]:
        return self.first, len(self.values)

    def ledger(self, first: int) -> Iterator[Raw]:
        self.before_ledger()
        for offset in range(first, len(self.values)):
            if first < self.first:
                raise LedgerMismatch(f"offset {offset} is gone")
            yield Raw(offset, self.time_ms, self.values[offset])

    def lane(self, lane: BackupLane, seq: int) -> Iterator[CopiedRecord]:
        self.before_lane(lane)
        yield from [one for one in self.lanes.get(lane, []) if one.seq >= seq]

    # As where one is restored to.

    def begin(self, queues: dict[str, int]) -> None:
        assert not self.values
        assert not self.lanes
        self.queues = dict(queues)
        self.values = [MARK]

    def copy(self, lane: BackupLane, copied: CopiedRecord) -> None:
        self.lanes.setdefault(lane, []).append(copied)

    def append(self, offset: int, value: bytes | None) -> None:
        assert offset == len(self.values)
        self.values.append(value)

    def finish(self, progress: CopyProgress, snapshot: Snapshot) -> None:
        self.progress = progress
        self.snapshots = [snapshot]
        self.first = FIRST

    # What movers do.

    def copy_entry(self, payload: bytes) -> None:
        """Copy an entry's messages to their lanes."""
        for record in decode_copies(payload):
            for one in record:
                self._take_in(one)

    def _take_in(self, one: Movable) -> None:
        if isinstance(one, QueueDefined):
            self.queues[one.name] = one.incarnation
        elif isinstance(one, Copy):
            _, at = descriptor.decode(one.descriptor, one.body)
            headers: list[tuple[str, bytes | None]] = [(descriptor.HEADER, one.descriptor)]
            lane = BackupLane(one.queue, self.queues[one.queue], one.lane)
            self.copy(lane, CopiedRecord(at.seq, one.put_time_ms, headers, None, one.body))


def header(name: str = "QM1") -> BackupHeader:
    return BackupHeader(queue_manager=name, made_ms=7, versions={"mqk": "1"})


def take(place: MemoryPlace, path: Path) -> None:
    """Write a whole backup."""
    with files.new(path, header(place.name)) as writer:
        taking.take(place, writer)


def ledger_of(path: Path) -> list[Raw]:
    """The ledger's records that a backup holds."""
    return [frame.raw() for frame in files.read(path) if isinstance(frame, LedgerRecord)]
