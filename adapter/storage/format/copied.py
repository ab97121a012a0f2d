"""What a mover copies of a message. This module must not know where it is read, or written to."""

from __future__ import annotations

from msgspec import Struct


class Copy(Struct, gc=False):
    """One message as a mover copies it: header and value are the ledger's own bytes."""

    queue: str
    lane: int
    put_time_ms: int
    descriptor: bytes
    body: bytes
