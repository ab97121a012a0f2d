"""The records of one session of a transmission queue, as they become a unit.

A damaged descriptor damages one message, of which the other messages of the unit are good. A gap in
a unit, or between two, is explained if a record came where the gap is that does not say where it
belongs. Records are of one unit only if they say the same of it. This module must not know topics,
nor what becomes of a unit.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.arrivals import Arrival
from adapter.core.contract.message import MessageData
from adapter.runtime.network.port import ReceivedRecord
from adapter.storage.format import descriptor
from adapter.storage.format.chunks import ChunkPlace
from adapter.storage.format.descriptor import UnitPosition
from adapter.storage.format.schemas import LaterReleaseError, UnreadableError
from adapter.storage.format.transfer import Transfer, TransferReader


class DamagedBody(Struct):
    """The body of a message that cannot be read. is_cut: records of it are missing."""

    body: bytes
    offset: int
    why: str
    is_cut: bool = False


class SeenDamage(Struct):
    """What of a topic was damaged, of any session.

    last: the offset of the last record that does not say where it belongs. since: from where the
    topic is to be read, so that all of this is met again that may explain what is still to come;
    -1: no damage may. noted_s: when that became so, of a monotonic clock.
    """

    last: int = -1
    since: int = -1
    noted_s: float = 0.0

    def note(self, offset: int, now_s: float) -> None:
        """Note that there is damage at an offset, or behind it."""
        self.since = min(self.since, offset) if self.since >= 0 else offset
        self.noted_s = now_s

    @property
    def is_any(self) -> bool:
        """Whether there is any that may explain something."""
        return max(self.last, self.since) >= 0

    def forget(self) -> None:
        """Let it explain nothing more."""
        self.last = self.since = -1


class SessionParts:
    """The unit that a session is sending.

    first: from where it is to be read; -1: there is no unit. arrivals: its messages that are
    complete. header: of the last record. is_awaited: the position waits for the unit. is_unsure:
    what was sent before it may have been damaged. is_mixed: a record of another unit was taken for
    one of it. last: the offset of the session's last record. grown_s: when that was taken.
    damaged: bodies of messages that cannot be read, to be taken away.
    """

    def __init__(self, session: bytes, seen: SeenDamage, last: int = -1) -> None:
        """last: the offset of the last record of an older session of the queue."""
        self.session = session
        self.last = last
        self.header: Transfer | None = None
        self._seen = seen
        self._is_behind_damage = False
        """Whether the unit before was damaged."""
        self.begin(-1)

    def begin(self, offset: int) -> None:
        """Begin another unit at an offset."""
        self.arrivals: list[Arrival] = []
        self.unit = b""
        self.first, self.size = offset, 0
        self.is_awaited, self.is_damaged = True, False
        self.is_unsure = self.is_mixed = False
        self.grown_s = 0.0
        self.damaged: list[DamagedBody] = []
        self._reader = TransferReader()
        self._part = 0
        """Which message is due, of which these values came, under these descriptors."""
        self._values: list[bytes] = []
        self._descriptors: list[bytes] = []

    def drop(self) -> None:
        """Forget the unit."""
        self._is_behind_damage = self._is_behind_damage or self.is_damaged
        self.begin(-1)

    @property
    def lacks_damaged(self) -> bool:
        """Whether what the unit lacks may be damaged."""
        return self.is_damaged or self._seen.last > self.last

    def fits(self, header: Transfer, index: int, offset: int) -> bool:
        """Say whether a record belongs to the unit, or begins one. index: of the chunk."""
        is_explained = self.lacks_damaged
        if self.first < 0 and (is_explained or (header.part, index) == (0, 0)):
            is_unsure = is_explained or self._is_behind_damage
            since = self._seen.since if is_unsure else -1
            self.begin(offset if since < 0 else min(since, offset))
            self.is_unsure, self._is_behind_damage = is_unsure, False
        if self.first < 0:
            return False
        if (header.part, index) != (self._part, len(self._values)):
            if not is_explained:
                return False
            if header.part != self._part:
                self.end_message()
            self._part, self.is_damaged = header.part, True
        self.is_unsure = self.is_unsure or is_explained
        return True

    def take(
        self, record: ReceivedRecord, header: Transfer, place: ChunkPlace, now_s: float
    ) -> bool:
        """Take a record that fits; say whether the unit is whole with it."""
        self.last, self.grown_s, self.header = record.offset, now_s, header
        self.size += record.size
        self._values.append(record.value or b"")
        described = (record.headers or {}).get(descriptor.HEADER) or b""
        if described not in self._descriptors:
            self._descriptors.append(described)
        index, count = place
        if index + 1 < count:
            return False
        self.end_message(is_cut=len(self._values) < count)
        return header.part + 1 == header.parts

    def end_message(self, *, is_cut: bool = True) -> None:
        """Add the message of which the last record came, if any did. is_cut: others are missing."""
        values, self._values = self._values, []
        descriptors, self._descriptors = self._descriptors, []
        self._part += 1
        if not values:
            return
        assert self.header is not None, "a record came"
        body = b"".join(values)
        found, why = self._read(descriptors, body)
        is_mixed = len(found) > 1 or any(self.arrivals and at.unit != self.unit for _, at in found)
        if is_mixed and not self.is_unsure:
            self.is_mixed = True
            return
        if len(found) != 1:
            self.is_damaged = True
            self.damaged.append(DamagedBody(body, self.last, why, is_cut))
            return
        ((message, at),) = found
        self.is_damaged = self.is_damaged or is_mixed
        self.unit = self.unit or at.unit
        self.arrivals.append(Arrival(message, self.header.lane, at.seq, self.header.n))

    def _read(
        self, descriptors: list[bytes], body: bytes
    ) -> tuple[list[tuple[MessageData, UnitPosition]], str]:
        """Read what the records of a message say of it, and why some cannot be read. A second
        message that is found has records here, too.
        """
        found: list[tuple[MessageData, UnitPosition]] = []
        why = "chunks of several messages"
        for one in descriptors:
            try:
                found.append(self._reader.read(one, body))
            except LaterReleaseError:
                raise
            except UnreadableError as error:
                why = str(error)
        return found, why
