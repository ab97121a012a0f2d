"""Snapshots beside the ledger: where they are kept so that older entries may go.

A snapshot says what the ledger said up to an entry, in parts that are opaque bytes here. It is
written to a log of its own, part by part, and is complete when its last part is there; an
interrupted one is never seen. The newest is the one whose entry is the latest, whichever owner
wrote it: it describes valid entries, so it is true even if its writer has been deposed since.
Nothing here knows what a part says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from adapter.storage.ledger.port import LedgerMismatch, LedgerUnavailable, Position

VERSION = 1
PIECES_VERSION = 2
"""Of a record that is not the last one of its part: a release that knew no such must refuse it."""
NEWER_VERSIONS = range(PIECES_VERSION + 1, 32)
"""What a later release may write; above are text and other programs' records, as in a ledger."""
_HEAD = struct.Struct(">B16sIIq16sQQ")
"""version; snapshot id; record, records; offset, owner and n where reading goes on; cut_n."""
PIECE_BYTES = 2 * 1024 * 1024
"""A longer part is several records."""
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

    def newest(self) -> Snapshot | None:
        """Return the newest complete snapshot; LedgerMismatch if a later mqk wrote one."""

    def is_kept(self) -> bool:
        """Whether the last snapshot that was written or read here is still there, if one was."""


class Written(Struct):
    """A snapshot as it was found: its first record's offset too, and how many have been found.

    pieces: of a part whose last one has not been found.
    """

    offset: int
    snapshot: Snapshot
    records: int = 0
    pieces: list[bytes] = []


def frame(snapshot: Snapshot, ident: bytes, piece_bytes: int = PIECE_BYTES) -> list[bytes]:
    """Return the records of a snapshot. ident: 16 bytes never used before."""
    after = snapshot.after
    pieces = [piece for part in snapshot.parts for piece in _pieces(part, piece_bytes)]
    return [
        _HEAD.pack(
            version, ident, number, len(pieces), after.offset, after.owner, after.n, snapshot.cut_n
        )
        + piece
        for number, (version, piece) in enumerate(pieces)
    ]


def _pieces(part: bytes, most: int) -> list[tuple[int, bytes]]:
    """Cut a part, and say of each piece by its version whether it is the last."""
    starts = range(0, len(part), most) or [0]
    versions = [PIECES_VERSION] * (len(starts) - 1) + [VERSION]
    return [
        (version, part[start : start + most])
        for version, start in zip(versions, starts, strict=True)
    ]


class Collector:
    """Puts records together to complete snapshots; parts of several writers may be mixed."""

    def __init__(self, topic: str = "the topic of the snapshots") -> None:
        self._topic = topic
        self.complete: list[Written] = []
        self._open: dict[bytes, Written] = {}

    def take(self, offset: int, value: bytes | None) -> None:
        """Take the next record of the log; what is not part of a snapshot is passed over."""
        if not value or len(value) < _HEAD.size:
            return
        if value[0] in NEWER_VERSIONS:
            raise LedgerMismatch(
                f"{self._topic} has at offset {offset} a snapshot of version {value[0]}, and this "
                f"release reads up to version {PIECES_VERSION}: a later release wrote it. Nothing "
                "was changed; start that release, or a later one"
            )
        if value[0] not in (VERSION, PIECES_VERSION):
            return  # another program wrote it
        version, ident, number, count, at, owner, n, cut_n = _HEAD.unpack_from(value)
        if number == 0:
            self._open[ident] = Written(offset, Snapshot(Position(at, owner, n), cut_n, []))
        begun = self._open.get(ident)
        if begun is None or begun.records != number:
            self._open.pop(ident, None)  # a record is missing
            return
        begun.records += 1
        begun.pieces.append(value[_HEAD.size :])
        if version == VERSION:
            begun.snapshot.parts.append(b"".join(begun.pieces))
            begun.pieces = []
        if number + 1 == count:
            self.complete.append(self._open.pop(ident))

    def newest(self) -> Snapshot | None:
        """Return the one that leaves least to be read."""
        newest = max(self.complete, key=_order, default=None)
        return newest.snapshot if newest else None


def in_order(complete: Iterable[Written]) -> list[Written]:
    """Put complete snapshots in the order of their entries, the newest last."""
    return sorted(complete, key=_order)


def _order(written: Written) -> tuple[int, int, int]:
    snapshot = written.snapshot
    return snapshot.after.offset, snapshot.cut_n, written.offset


def collect(records: Iterable[tuple[int, bytes | None]]) -> Collector:
    """Read records from first to last."""
    collector = Collector()
    for offset, value in records:
        collector.take(offset, value)
    return collector


class MemorySnapshots:
    """A SnapshotLog in memory, of real records; survives its queue managers like a MemoryLog."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.interrupt_after = -1
        """So many records of the next snapshot are written, and then it fails; -1: all."""
        self._count = 0

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:  # noqa: ARG002
        self._count += 1
        records = frame(snapshot, self._count.to_bytes(16, "big"))
        keep, self.interrupt_after = self.interrupt_after, -1
        if keep >= 0:
            self.records += records[:keep]
            raise LedgerUnavailable("the snapshot was not written to its end")
        self.records += records

    def newest(self) -> Snapshot | None:
        return collect(enumerate(self.records)).newest()

    def is_kept(self) -> bool:
        return bool(self.records) or not self._count
