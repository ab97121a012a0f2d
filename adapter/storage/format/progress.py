"""Values of the progress topic: how far a mover has come in the ledger."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from adapter.storage.format.schemas import Codec

NOWHERE = -1
MARK = b".mark"
"""Ends the key of a record that says no progress: it only shows that all before it is decided."""

TURN = "turn"
"""The header that says which of a mover's producers wrote the progress; one byte."""

VERSION = 4
"""1 knew no parked topics, 2 not whether they had ever been written, 3 not of deleted queues."""

_codec = Codec("progress", VERSION)


class Parked(Struct):
    """A topic that could not be written: from where in the ledger its copying goes on.

    offset, owner, n, records: as in Progress, of this topic alone. messages, bytes: of bodies, that
    wait to be copied to it. why: for people. unwritten: nothing was ever written to it, nor was to
    be: from its place on is all that it will hold. defined: its queue is, at this place; else the
    ledger defines it further on. deleted: the ledger deleted it since, before the place up to which
    everything else is copied.
    """

    offset: int = NOWHERE
    owner: bytes = bytes(16)
    n: int = 0
    records: int = 0
    messages: int = 0
    bytes: int = 0
    why: str = ""
    unwritten: bool = False
    defined: bool = True
    deleted: bool = False


class CopyProgress(Struct):
    """The last ledger entry whose copies are all written; offset -1: no entry yet.

    records: how many records of the next entry are copied too. copied counts all copies.
    incarnations: of the queues whose name is not used for the first time (absent: 0). They are
    defined by records that may have been trimmed from the ledger when a mover starts again.
    parked: topics that the rest leaves out, by name; each goes on from its own place.
    """

    offset: int = NOWHERE
    owner: bytes = bytes(16)
    n: int = 0
    copied: int = 0
    records: int = 0
    incarnations: dict[str, int] = {}
    parked: dict[str, Parked] = {}


def mark_key(mover: str) -> str:
    """Return the key of a mover's marks."""
    return mover + MARK.decode()


def is_mark(key: bytes | str | None) -> bool:
    """Say whether a record of the progress topic is a mark, by its key."""
    return isinstance(key, bytes) and key.endswith(MARK)


def turn_of(headers: object) -> int | None:
    """Return which producer wrote a record of the progress; None if it does not say."""
    value = dict(headers).get(TURN) if isinstance(headers, list) else None
    return value[0] if isinstance(value, bytes) and value else None


def encode(progress: CopyProgress) -> bytes:
    """Return the value of a progress record."""
    value = msgspec.structs.asdict(progress)
    value["parked"] = {topic: msgspec.structs.asdict(one) for topic, one in progress.parked.items()}
    return _codec.encode(value)


def decode(data: bytes) -> CopyProgress:
    """Read a progress record."""
    value = _codec.decode(data)
    value["parked"] = {topic: Parked(**one) for topic, one in value["parked"].items()}
    return CopyProgress(**value)
