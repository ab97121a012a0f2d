"""A message as a queue stores it, and as a reply shows it.

A stored message never leaves the process: it is a class with slots, which compiled code reads much
faster than a Struct.
"""

from __future__ import annotations

from adapter.core.contract.message import Delivered, MessageData, Place
from adapter.core.contract.weights import size_of


class Stored:
    """A message in its place on a queue. Identity counts, not equality.

    priority, expires_at_ms, length: of the message, whose attributes are slower to read; length is
    that of the body, with what MSMQ has beside it.
    entry_n: the entry that must be durable before this message may be shown.
    """

    __slots__ = (
        *("backout_count", "entry_n", "expires_at_ms", "length", "locked", "message", "place"),
        *("priority", "queue_unit_index", "queue_unit_size", "unit", "unit_index", "unit_size"),
    )

    def __init__(
        self,
        message: MessageData,
        place: Place,
        unit: bytes,
        unit_index: int,
        unit_size: int,
        queue_unit_index: int,
        queue_unit_size: int,
        backout_count: int = 0,
        entry_n: int = -1,
    ) -> None:
        self.message = message
        self.place = place
        self.unit = unit
        self.unit_index = unit_index
        self.unit_size = unit_size
        self.queue_unit_index = queue_unit_index
        self.queue_unit_size = queue_unit_size
        self.backout_count = backout_count
        self.locked = False
        self.entry_n = entry_n
        self.priority = message.priority
        self.expires_at_ms = message.expires_at_ms
        self.length = size_of(message)


def delivered(stored: Stored) -> Delivered:
    """Show a stored message to a client."""
    lane, seq, n = stored.place
    return Delivered(
        stored.message,
        -lane,
        seq,
        n,
        stored.backout_count,
        stored.unit,
        stored.unit_index,
        stored.unit_size,
        stored.queue_unit_index,
        stored.queue_unit_size,
    )
