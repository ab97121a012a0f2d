"""What one transaction of a mover holds, and when it is full."""

from __future__ import annotations

from collections.abc import Callable

from adapter.format.movable import Movable
from adapter.movers.settings import BATCH_BYTES

MESSAGES_MAX = 4000
BYTES_MAX = 4 * 1024 * 1024
"""When a transaction is full. A larger one copies no faster and keeps readers waiting longer."""
PARTITIONS_MAX = 64
"""A transaction writes a marker to each of its partitions: 0.25 ms each, 1.2 ms if replicated."""
SMALL_BYTES = BATCH_BYTES // 5
"""Of larger records librdkafka sends several batches of a partition at once; see batch_is_full."""


class CopyBatch:
    """The copies of the open transaction, counted.

    librdkafka sends one batch of a partition at a time if more than four messages are in it. While
    another one is complete, or flush() is called, its thread does not sleep until the first one is
    answered: that took most of the CPU of the movers. So no second batch is begun before the first
    one is written.
    """

    __slots__ = ("_unwritten", "bytes", "messages", "partitions")

    def __init__(self) -> None:
        self.messages = 0
        self.bytes = 0
        self.partitions: set[tuple[str, int]] = set()
        self._unwritten: dict[tuple[str, int], int] = {}
        """Bytes for each partition since everything was written last."""

    def batch_is_full(self, partition: tuple[str, int], size: int) -> bool:
        """Count a record of so many bytes; whether all before it have to be written first."""
        unwritten = self._unwritten.get(partition, 0)
        if unwritten and unwritten + size > BATCH_BYTES and size < SMALL_BYTES:
            self._unwritten = {partition: size}
            return True
        self._unwritten[partition] = unwritten + size
        return False

    def has_room(
        self, record: list[Movable], partitions_of: Callable[[list[Movable]], set[tuple[str, int]]]
    ) -> bool:
        """Whether a whole record still fits; an empty transaction has room for any record.

        partitions_of: says to which partitions the copies of a record go.
        """
        if not self.messages:
            return True
        if self.messages + len(record) > MESSAGES_MAX or self.bytes >= BYTES_MAX:
            return False
        # Most records have few messages: their partitions need not be looked at.
        return (
            len(self.partitions) + len(record) <= PARTITIONS_MAX
            or len(self.partitions | partitions_of(record)) <= PARTITIONS_MAX
        )
