"""The records of one session of a transmission queue, as they become a unit.

A damaged descriptor damages one message, of which the other messages of the unit are good. A gap in
a unit is explained if a record came where the gap is that does not say where it belongs. This
module must not know topics, nor what becomes of a unit.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.arrivals import Arrival
from adapter.format import descriptor
from adapter.format.chunks import ChunkPlace
from adapter.format.schemas import LaterReleaseError, UnreadableError
from adapter.format.transfer import Transfer, TransferReader
from adapter.network.port import ReceivedRecord


class DamagedBody(Struct):
    """The body of a message that cannot be read. is_cut: records of it are missing."""

    body: bytes
    offset: int
    why: str
    is_cut: bool = False


class SessionParts:
    """The unit that a session is sending.

    first: the offset of its first record; -1: there is no unit. arrivals: its messages that are
    complete. header: of the last record. is_awaited: the position waits for the unit. last: the
    offset of the session's last record. grown_s: when that was taken. damaged: bodies of messages
    that cannot be read, to be taken away.
    """

    def __init__(self, session: bytes) -> None:
        self.session = session
        self.last = -1
        self.header: Transfer | None = None
        self.begin(-1)

    def begin(self, offset: int) -> None:
        """Begin another unit at an offset."""
        self.arrivals: list[Arrival] = []
        self.unit = b""
        self.first, self.size = offset, 0
        self.is_awaited, self.is_damaged = True, False
        self.grown_s = 0.0
        self.damaged: list[DamagedBody] = []
        self._reader = TransferReader()
        self._part = 0
        """Which message is due, of which these values came, under this descriptor."""
        self._values: list[bytes] = []
        self._descriptor = b""

    def drop(self) -> None:
        """Forget the unit."""
        self.begin(-1)

    def lacks_damaged(self, damaged: int) -> bool:
        """Whether what the unit lacks may be damaged. damaged: the offset of the last record that
        does not say where it belongs.
        """
        return self.is_damaged or damaged > self.last

    def fits(self, header: Transfer, index: int, offset: int, damaged: int) -> bool:
        """Say whether a record belongs to the unit, or begins one. index: of the chunk."""
        is_explained = self.lacks_damaged(damaged)
        if header.part == 0 and index == 0:
            self.begin(offset)
            return True
        if self.first >= 0 and (header.part, index) == (self._part, len(self._values)):
            return True
        if not is_explained:
            return False
        if self.first < 0:
            self.begin(offset)
        elif header.part != self._part:
            self.end_message()
        self._part, self.is_damaged = header.part, True
        return True

    def take(
        self, record: ReceivedRecord, header: Transfer, place: ChunkPlace, now_s: float
    ) -> bool:
        """Take a record that fits; say whether the unit is whole with it."""
        self.last, self.grown_s, self.header = record.offset, now_s, header
        self.size += record.size
        self._values.append(record.value or b"")
        self._descriptor = (record.headers or {}).get(descriptor.HEADER) or b""
        index, count = place
        if index + 1 < count:
            return False
        self.end_message(is_cut=len(self._values) < count)
        return header.part + 1 == header.parts

    def end_message(self, *, is_cut: bool = True) -> None:
        """Add the message of which the last record came, if any did. is_cut: others are missing."""
        values, self._values = self._values, []
        self._part += 1
        if not values:
            return
        assert self.header is not None, "a record came"
        body = b"".join(values)
        try:
            message, at = self._reader.read(self._descriptor, body)
        except LaterReleaseError:
            raise
        except UnreadableError as error:
            self.is_damaged = True
            self.damaged.append(DamagedBody(body, self.last, str(error), is_cut))
            return
        self.unit = at.unit
        self.arrivals.append(Arrival(message, self.header.lane, at.seq, self.header.n))
