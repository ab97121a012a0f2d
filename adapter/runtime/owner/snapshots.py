"""Snapshots of the owner's state, and what they make superfluous.

A snapshot is cut in one moment, between two entries. It is written once its entry is durable. Of
the messages in it those need not be whole that are on their topics by then: all of them, a moment
later, unless a mover holds or a topic is parked. When it is written the ledger's records before it
may go, as far as no mover reads them again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice

import structlog
from msgspec import Struct

from adapter.core.contract.records import Record
from adapter.core.contract.weights import weight
from adapter.core.rules.drive.restore import Unmoved, still_unmoved, whole
from adapter.runtime.owner.storage import NOTHING, CopyStatus
from adapter.storage.format import entries
from adapter.storage.ledger.port import Position
from adapter.storage.ledger.snapshots import Snapshot, SnapshotLog

PART_BYTES = 512 * 1024
SAMPLES_MAX = 10_000

log = structlog.get_logger("mqk.owner")


class SnapshotCut(Struct):
    """State as of entry n, and a durable entry at or before it.

    unmoved: its messages that may be on no topic, for records only say where a message is.
    """

    n: int
    records: list[Record]
    unmoved: Unmoved
    after: Position

    def look_again(self, moved_n: int, parked: frozenset[str]) -> int:
        """Forget of the unmoved messages those that have been moved; the weight of the others."""
        self.unmoved = still_unmoved(self.unmoved, moved_n, parked)
        return sum(weight(one.message) for left in self.unmoved.values() for one in left)


class EntryProgress:
    """Which entries of this term are copied for good: from offsets of the ledger to n."""

    def __init__(self) -> None:
        self._samples: deque[Position] = deque()
        self.moved_n = NOTHING
        """Entries up to this n have their copies on their topics; 0: all before this term."""

    def note(self, durable: Position, copied: CopyStatus) -> None:
        """Remember where an entry is; see how far copying has come."""
        samples = self._samples
        if not samples or durable.n > samples[-1].n or samples[-1].offset != durable.offset:
            samples.append(durable)
            if len(samples) > SAMPLES_MAX:  # coarser, and none is lost that is needed next
                self._samples = samples = deque(islice(samples, 0, None, 2))
        while samples and samples[0].offset <= copied.position:
            self.moved_n = samples.popleft().n


def parts_of(records: Iterable[Record]) -> list[bytes]:
    """Encode a snapshot's records in parts, of bounded size but for those of one large record."""
    parts: list[bytes] = []
    held: list[Record] = []
    size = 0
    for record in records:
        weight = entries.weight(record)
        if held and size + weight > PART_BYTES:
            parts.append(entries.encode(held))
            held, size = [], 0
        held.append(record)
        size += weight
    return [*parts, entries.encode(held)]


def publish(cut: SnapshotCut, snapshots: SnapshotLog, within_s: float | None = None) -> None:
    """Write a snapshot. Blocking, for so long at most, if that is given."""
    parts = parts_of(chain(cut.records, whole(cut.unmoved)))
    snapshots.write(Snapshot(cut.after, cut.n, parts), within_s)
    messages = sum(map(len, cut.unmoved.values()))
    log.info("snapshot written", entry=cut.n, records=len(cut.records), messages=messages)
