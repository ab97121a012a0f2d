"""Values of the progress topic: how far a mover has come in the ledger."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from adapter.format.schemas import Codec

_codec = Codec("progress")


class Progress(Struct):
    """The last ledger record whose copies are written; copied counts them all."""

    offset: int
    owner: bytes
    n: int
    copied: int


def encode(progress: Progress) -> bytes:
    """Return the value of a progress record."""
    return _codec.encode(msgspec.structs.asdict(progress))


def decode(data: bytes) -> Progress:
    """Read a progress record."""
    return Progress(**_codec.decode(data))
