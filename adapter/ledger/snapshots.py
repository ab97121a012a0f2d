"""Snapshots beside the ledger: where they are kept so that older entries may go.

A snapshot says what the ledger said up to an entry, in parts that are opaque bytes here. It is
written to a log of its own, part by part, and is complete when its last part is there; an
interrupted one is never seen. The newest is the one whose entry is the latest, whoever wrote it: it
describes valid entries, so it is true even if its writer has been deposed meanwhile. Nothing here
knows what a part says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from adapter.ledger.envelope import NewerVersion
from adapter.ledger.port import LedgerUnavailable, Position

VERSION = 2
_HEAD = struct.Struct(">B16sIIq16sQQ?")
"""version; snapshot id; record, records; offset, owner and n where reading goes on; n of the cut;
whether the part that this is a piece of goes on in the next record."""
PIECE_BYTES = 4 * 1024 * 1024
"""Of a part in one record: half of what a topic takes."""
KEPT = 2
"""Complete snapshots that are kept: the newest and, should it prove unreadable, one more."""


class Snapshot(Struct):
    """after: a valid entry at or before the cut: the ledger is read behind it. cut_n: entries of
    after's owner up to this n are in the snapshot, and skipped.
    """

    after: Position
    cut_n: int
    parts: list[bytes]


def covers(snapshot: Snapshot, owner: bytes, n: int) -> bool:
    """Say whether an entry behind the snapshot's position is in the snapshot all the same."""
    return owner == snapshot.after.owner and n <= snapshot.cut_n


class SnapshotLog(Protocol):
    """The snapshots of one queue manager. Blocking; raises LedgerUnavailable."""

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:
        """Write a snapshot; when it returns, it is durable, and older ones may be gone.

        within_s: how long that may take, if not as long as an append.
        """
        ...

    def newest(self) -> Snapshot | None:
        """Return the newest complete snapshot."""
        ...


class Written(Struct):
    """A snapshot as it was found: its first record's offset, and how many have been found.

    pieces: of the part that goes on.
    """

    offset: int
    snapshot: Snapshot
    records: int = 0
    pieces: list[bytes] = []


def frame(snapshot: Snapshot, ident: bytes) -> list[bytes]:
    """Return the records of a snapshot. ident: 16 bytes never used before."""
    after = snapshot.after
    pieces = [
        (part[at : at + PIECE_BYTES], at + PIECE_BYTES < len(part))
        for part in snapshot.parts
        for at in range(0, max(1, len(part)), PIECE_BYTES)
    ]
    return [
        _HEAD.pack(
            VERSION,
            ident,
            number,
            len(pieces),
            after.offset,
            after.owner,
            after.n,
            snapshot.cut_n,
            goes_on,
        )
        + piece
        for number, (piece, goes_on) in enumerate(pieces)
    ]


class Collector:
    """Puts records together to complete snapshots; parts of several writers may be mixed."""

    def __init__(self) -> None:
        self.complete: list[Written] = []
        self._open: dict[bytes, Written] = {}

    def take(self, offset: int, value: bytes | None) -> None:
        """Take the next record of the log; what is no part of a snapshot is passed over."""
        if not value or len(value) < _HEAD.size or value[0] < VERSION:
            return
        if value[0] > VERSION:
            raise NewerVersion(f"a snapshot of version {value[0]}, this release reads {VERSION}")
        _, ident, number, records, at, owner, n, cut_n, goes_on = _HEAD.unpack_from(value)
        if number == 0:
            self._open[ident] = Written(offset, Snapshot(Position(at, owner, n), cut_n, []))
        begun = self._open.get(ident)
        if begun is None or begun.records != number:
            self._open.pop(ident, None)  # a record is missing
            return
        begun.records += 1
        begun.pieces.append(value[_HEAD.size :])
        if not goes_on:
            begun.snapshot.parts.append(b"".join(begun.pieces))
            begun.pieces.clear()
        if begun.records == records:
            self.complete.append(self._open.pop(ident))

    def newest(self) -> Snapshot | None:
        """Return the one that leaves least to be read."""
        newest = max(self.complete, key=_order, default=None)
        return newest.snapshot if newest else None


def _order(written: Written) -> tuple[int, int, int]:
    snapshot = written.snapshot
    return snapshot.after.offset, snapshot.cut_n, written.offset


def collected(records: Iterable[tuple[int, bytes | None]]) -> Collector:
    """Read records from first to last."""
    collector = Collector()
    for offset, value in records:
        collector.take(offset, value)
    return collector


class MemorySnapshots:
    """Snapshots in memory, as their real records; survives its queue managers like a MemoryLog."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.interrupt_after = -1
        """So many records of the next snapshot are written, and then it fails; -1: all."""
        self._count = 0

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:  # noqa: ARG002
        """See the port."""
        self._count += 1
        records = frame(snapshot, self._count.to_bytes(16, "big"))
        keep, self.interrupt_after = self.interrupt_after, -1
        if keep >= 0:
            self.records += records[:keep]
            raise LedgerUnavailable("the snapshot was not written to its end")
        self.records += records

    def newest(self) -> Snapshot | None:
        """See the port."""
        return collected(enumerate(self.records)).newest()
