"""A topic's log as it lies on a broker's disk, to be damaged while the broker does not run."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from adapter.localkafka import LocalKafka

HEAD = struct.Struct(">qi")
"""Of a batch: its first offset, and how many bytes follow."""
LENGTH_AT = 8
MAGIC_AT = 16
RECORDS_AT = 61
"""Where the records of a batch begin; what lies before is not in its checksum to the end."""


class LogFile:
    """The last segment of partition 0 of a topic."""

    def __init__(self, kafka: LocalKafka, topic: str, broker: int = 1) -> None:
        folder = kafka.data_dir / f"broker-{broker}" / "data" / f"{topic}-0"
        self._path = max(folder.glob("*.log"))

    def cut(self, batches: int) -> int:
        """Cut so many batches off the end; the offset that the log ends at then."""
        found = list(self._batches())
        offset, start, _ = found[-batches]
        with self._path.open("r+b") as file:
            file.truncate(start)
        return offset

    def flip(self, batches: int, at: int = RECORDS_AT) -> int:
        """Flip the bits of a byte of the batch so far from the end; its offset."""
        _, start, _ = list(self._batches())[-batches]
        old = self._path.read_bytes()[start + at]
        return self.overwrite(batches, at, bytes([255 - old]))

    def overwrite(self, batches: int, at: int, new: bytes) -> int:
        """Write other bytes into the batch so far from the end; its offset."""
        offset, start, _ = list(self._batches())[-batches]
        with self._path.open("r+b") as file:
            file.seek(start + at)
            file.write(new)
        return offset

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def _batches(self) -> Iterator[tuple[int, int, int]]:
        """First offset, start and length of each batch."""
        data = self._path.read_bytes()
        start = 0
        while start + HEAD.size <= len(data):
            offset, length = HEAD.unpack_from(data, start)
            if length <= 0:
                return  # room that Kafka has taken in advance
            yield offset, start, length
            start += HEAD.size + length
