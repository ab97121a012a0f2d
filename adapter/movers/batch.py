"""What one transaction of a mover holds, and when it is full."""

from __future__ import annotations

from adapter.format.movable import Movable
from adapter.movers.projection import Projection

MESSAGES_MAX = 4000
BYTES_MAX = 4 * 1024 * 1024
"""When a transaction is full. A larger one copies no faster and keeps readers waiting longer."""
PARTITIONS_MAX = 64
"""A transaction writes a marker to each of its partitions: 0.25 ms each, 1.2 ms if replicated."""


class CopyBatch:
    """The copies of the open transaction, counted."""

    __slots__ = ("bytes", "messages", "partitions")

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.partitions: set[tuple[str, int]] = set()

    def has_room(self, record: list[Movable], projection: Projection) -> bool:
        """Whether a whole record still fits; an empty transaction has room for any record."""
        if not self.messages:
            return True
        if self.messages + len(record) > MESSAGES_MAX or self.bytes >= BYTES_MAX:
            return False
        # Most records have few messages: their partitions need not be looked at.
        return (
            len(self.partitions) + len(record) <= PARTITIONS_MAX
            or len(self.partitions | projection.partitions(record)) <= PARTITIONS_MAX
        )
