"""What one transaction of a mover holds, when it is full, and what may be in flight together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adapter.storage.format.movable import Movable
from adapter.storage.movers.settings import BATCH_BYTES, BUFFERED_KBYTES, BUFFERED_MAX

Place = tuple[str, int]
"""A topic and a partition."""

MESSAGES_MAX = 4000
BYTES_MAX = 4 * 1024 * 1024
"""When a transaction is full. A larger one copies no faster and keeps readers waiting longer."""
PARTITIONS_MAX = 64
"""A transaction writes a marker to each of its partitions: 0.25 ms each, 1.2 ms if replicated."""
IN_FLIGHT_MAX: Final = BUFFERED_MAX // 2
IN_FLIGHT_BYTES: Final = BUFFERED_KBYTES * 1024 // 2
"""Records, and bytes of them, that are produced and not acknowledged: half of the buffer."""
SMALL_BYTES: Final = BATCH_BYTES // 5
"""Larger records have batches of their own, several in flight at once; see CopyBatch.prepare."""


class CopyBatch:
    """The copies of the open transaction, counted.

    **Batches in flight.** Of the first records that a producer writes to a partition, only one
    batch may be in flight. A partition takes any first sequence number of a producer that it does
    not know: if it refuses the first batch (it has no leader for a moment, as a new topic has) and
    takes the second one, librdkafka 2.16 holds the first one for written, and its records are
    nowhere (docs/decisions/0014). Once it knows the producer, it refuses what is out of order.

    librdkafka sends one batch of a partition at a time if more than four messages are in it. While
    another one is complete, or flush() is called, its thread does not sleep until the first one is
    answered: that took most of the CPU of the movers. So no second batch of small records is begun
    before the first one is written.

    **The producer's buffer** is bounded, and a produce call fails when it is full. A unit may have
    more records than it takes, of so many partitions that none has a complete batch, and more
    bytes: so all are written before it is full.
    """

    __slots__ = (
        "_count",
        "_known",
        "_size",
        "_unwritten",
        "_write",
        "bytes",
        "messages",
        "partitions",
    )

    def __init__(self, known: set[Place], write: Callable[[], None]) -> None:
        """known: partitions that have acknowledged records of the producer; is added to.

        write: waits until all that was produced is acknowledged, and raises if it is not.
        """
        self.messages = 0
        self.bytes = 0
        self.partitions: set[Place] = set()
        self._known = known
        self._write = write
        self._unwritten: dict[Place, int] = {}
        """Bytes for each partition since everything was written last."""
        self._count = self._size = 0
        """Records since then, and their bytes."""

    def prepare(self, place: Place, size: int) -> None:
        """Count a record that is produced next, and write all before it if it may not join them.

        size: its bytes. Raises what write() does.
        """
        unwritten = self._unwritten.get(place, 0)
        if not unwritten:
            self.partitions.add(place)
        elif (unwritten + size > BATCH_BYTES and size < SMALL_BYTES) or place not in self._known:
            self._write_all()
            unwritten = 0
        if self._count == IN_FLIGHT_MAX or self._size >= IN_FLIGHT_BYTES:
            self._write_all()
            unwritten = 0
        self._unwritten[place] = unwritten + size
        self._count += 1
        self._size += size

    def _write_all(self) -> None:
        self._write()
        self.written()

    def written(self) -> None:
        """All that was produced has been acknowledged."""
        self._known.update(self._unwritten)
        self._unwritten.clear()
        self._count = self._size = 0

    def has_room(
        self, record: list[Movable], partitions_of: Callable[[list[Movable]], set[Place]]
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
