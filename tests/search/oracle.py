"""Which records of a ledger count, worked out anew: it imports nothing of the product.

It reads the bytes of each record by itself, keeps every record that ever was, and says of each
whether it counts. It knows the rule in its shortest form: an announcement counts if it names the
owner in force, and an entry if its owner is in force and it is that owner's next one. A skip voids
the rest of what its owner writes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

HEAD = struct.Struct(">BB16sQ")
NOBODY = bytes(16)
ANNOUNCEMENT = 0


class Parsed(NamedTuple):
    """A record. replaces: of an announcement, else b""."""

    kind: int
    owner: bytes
    n: int
    replaces: bytes
    payload: bytes


class Counted(NamedTuple):
    """An entry that counts."""

    offset: int
    owner: bytes
    n: int
    payload: bytes


class Verdicts(NamedTuple):
    """What a ledger says: the entries and announcements that count, and who is in force."""

    entries: tuple[Counted, ...]
    announced: dict[int, bytes]
    in_force: bytes

    def payloads_before(self, offset: int) -> tuple[bytes, ...]:
        """Return what a reader must have applied that has read up to an offset."""
        return tuple(one.payload for one in self.entries if one.offset < offset)

    @property
    def last_sign(self) -> int:
        """The offset of the last record that counts; -1 if there is none."""
        last = self.entries[-1].offset if self.entries else -1
        return max(last, *self.announced, -1)


@cache
def parse(value: bytes) -> Parsed:
    """Read the bytes of a record."""
    _, kind, owner, n = HEAD.unpack_from(value)
    rest = value[HEAD.size :]
    if kind == ANNOUNCEMENT:
        return Parsed(kind, owner, n, rest[:16], b"")
    return Parsed(kind, owner, n, b"", rest)


@cache
def judge(history: tuple[bytes, ...]) -> Verdicts:
    """Say which of all records that ever were in the ledger count."""
    entries: list[Counted] = []
    announced: dict[int, bytes] = {}
    in_force, last_n, skipped = NOBODY, 0, False
    for offset, value in enumerate(history):
        record = parse(value)
        if record.kind == ANNOUNCEMENT:
            if record.replaces == in_force and record.owner != in_force:
                in_force, last_n, skipped = record.owner, 0, False
                announced[offset] = in_force
        elif record.owner == in_force and record.n > last_n:
            skipped = skipped or record.n != last_n + 1
            if not skipped:
                last_n = record.n
                entries.append(Counted(offset, record.owner, record.n, record.payload))
    return Verdicts(tuple(entries), announced, in_force)


def agree(applied: Sequence[bytes], history: tuple[bytes, ...], offset: int) -> bool:
    """Whether a core is that of a reader from the beginning that has read up to an offset."""
    return tuple(applied) == judge(history).payloads_before(offset)
