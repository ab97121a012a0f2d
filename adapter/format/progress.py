"""Values of the progress topic: how far a mover has come in the ledger."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from adapter.format.schemas import Codec

NOWHERE = -1
MARK = b".mark"
"""Ends the key of a record that is no progress: it only shows that all before it is decided."""

_codec = Codec("progress")


class Progress(Struct):
    """The last ledger entry whose copies are all written; offset -1: there is none.

    records: how many records of the next entry are copied too. copied counts all copies.
    incarnations: of the queues whose name is not used for the first time (absent: 0). They are
    defined by records that may have been trimmed from the ledger when a mover starts again.
    """

    offset: int = NOWHERE
    owner: bytes = bytes(16)
    n: int = 0
    copied: int = 0
    records: int = 0
    incarnations: dict[str, int] = {}


def mark_key(mover: str) -> str:
    """Return the key of a mover's marks."""
    return mover + MARK.decode()


def is_mark(key: bytes | str | None) -> bool:
    """Say whether a record of the progress topic is a mark, by its key."""
    return isinstance(key, bytes) and key.endswith(MARK)


def encode(progress: Progress) -> bytes:
    """Return the value of a progress record."""
    return _codec.encode(msgspec.structs.asdict(progress))


def decode(data: bytes) -> Progress:
    """Read a progress record."""
    return Progress(**_codec.decode(data))
