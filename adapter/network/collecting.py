"""Collecting the records of one inbound topic until a unit is whole.

Theory. A sender that was killed, or lost its queue, may leave a unit incomplete, and its last
records may come late, between those of others. It cannot have committed that unit, so the next
session of the same transmission queue sends it again. Sessions of a queue are numbered upwards:
what comes of an older one than the newest that was met is left out, and its incomplete unit
forgotten.

A position is from where reading begins after a restart. It never lies behind the first record of a
unit that is not whole: while there is one, what is whole is given with the position before it.
After a restart it is then read and given once more, and core knows by the places that it came. A
unit that has not grown for INCOMPLETE_MS is given up, so that no position waits for a sender that
never comes back. This module knows records; it must not know who reads them, nor what core does
with them.
"""

from __future__ import annotations

import structlog
from msgspec import Struct

from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.format import chunks, inbound, transfer
from adapter.format.schemas import UnreadableError
from adapter.format.transfer import Transfer, TransferReader
from adapter.network.port import ReceivedRecord

INCOMPLETE_MS = 60_000
"""A sender gives a unit up that Kafka has not acknowledged for half as long."""
QUEUES_MAX = 100
"""Of one source; of those that send nothing now, more are forgotten."""
INVALID_RECORD = 2110  # MQRC_FORMAT_ERROR
NOT_AUTHORIZED = 2035  # MQRC_NOT_AUTHORIZED
SYSTEM = "SYSTEM."
"""Any Kafka client may not put to the command queue: its commands would be carried out."""
INVALID_TRANSFER = 271  # MQFB_XMIT_Q_MSG_ERROR

log = structlog.get_logger("mqk.network")


class ReadyUnit(Struct):
    """What core is given, and how many bytes of records it was."""

    given: ArrivedUnit
    size: int


class SessionParts:
    """The unit that a session is sending. first: of its first record; -1: there is no unit."""

    def __init__(self, session: bytes) -> None:
        self.session = session
        self.begin(-1)
        self.last_ms = 0

    def begin(self, offset: int) -> None:
        """Begin another unit at an offset."""
        self.reader = TransferReader()
        self.arrivals: list[Arrival] = []
        self.unit = b""
        self.first, self.size = offset, 0

    def drop(self) -> None:
        """Forget the unit."""
        self.begin(-1)


class InboundCollector:
    """One topic. next: the offset of the next record, given those that were taken."""

    def __init__(self, queue_manager: str, topic: str, topic_id: str, source: str) -> None:
        """source: the queue manager that writes it, or "" for any client."""
        self.queue_manager = queue_manager
        self.topic = topic
        self.topic_id = topic_id
        self.source = source
        self.next = 0
        self.unreadable = 0
        self._sessions: dict[Origin, SessionParts] = {}
        """The newest session of each transmission queue."""

    @property
    def position(self) -> int:
        """From where reading is to begin, once all that is whole has taken effect."""
        firsts = [one.first for one in self._sessions.values() if one.first >= 0]
        return min([self.next, *firsts])

    def take(self, record: ReceivedRecord) -> list[ReadyUnit]:
        """Take the next record; return what is whole with it."""
        self.next = record.offset + 1
        if self.source and transfer.HEADER in record.headers:
            try:
                return self._take_part(record)
            except UnreadableError as error:
                return self._alone(record, self._dead(record, INVALID_TRANSFER, error))
        try:
            arrival = self._plain(record)
        except UnreadableError as error:
            arrival = self._dead(record, INVALID_RECORD, error)
        return self._alone(record, arrival)

    def give_up(self, now_ms: int) -> None:
        """Forget units that have not grown for long."""
        for session in self._sessions.values():
            if session.first >= 0 and now_ms - session.last_ms > INCOMPLETE_MS:
                session.drop()

    def _take_part(self, record: ReceivedRecord) -> list[ReadyUnit]:
        header = transfer.decode_header(record.headers[transfer.HEADER] or b"")
        chunk, _ = chunks.place_of(record.headers.get(chunks.HEADER))
        origin = Origin(header.ident, header.queue, header.incarnation)
        session = self._session(origin, header.session)
        if session is None:
            return []
        if header.part == 0 and chunk == 0:
            session.begin(record.offset)
        if session.first < 0 or header.part != len(session.arrivals):
            session.drop()
            return []
        session.size += record.size
        session.last_ms = record.time_ms
        found = session.reader.take(dict(record.headers), record.value or b"")
        if found is None:
            return []
        message, position = found
        session.unit = position.unit
        session.arrivals.append(Arrival(message, header.lane, position.seq, header.n))
        return self._whole(session, origin, header) if header.part + 1 == header.parts else []

    def _whole(self, session: SessionParts, origin: Origin, header: Transfer) -> list[ReadyUnit]:
        lowest = [Lowest(*header.lowest[at : at + 3]) for at in range(0, len(header.lowest), 3)]
        arrivals, unit, size = session.arrivals, session.unit, session.size
        session.drop()
        given = ArrivedUnit(
            self.topic,
            self.topic_id,
            self.position,
            origin,
            arrivals,
            source=header.queue_manager,
            unit=unit,
            lowest=lowest,
        )
        return [ReadyUnit(given, size)]

    def _session(self, origin: Origin, session: bytes) -> SessionParts | None:
        """Return the session of a transmission queue; None if there was a newer one."""
        known = self._sessions.get(origin)
        if known is not None and session < known.session:
            return None
        if known is None or session > known.session:
            known = self._sessions[origin] = SessionParts(session)
            self._forget_idle()
        return known

    def _forget_idle(self) -> None:
        if len(self._sessions) > QUEUES_MAX:
            idle = [origin for origin, one in self._sessions.items() if one.first < 0]
            for origin in idle[:-1]:
                del self._sessions[origin]

    def _alone(self, record: ReceivedRecord, arrival: Arrival) -> list[ReadyUnit]:
        given = ArrivedUnit(
            self.topic,
            self.topic_id,
            self.position,
            Origin(self.topic_id),
            [arrival],
            source=self.source,
            lowest=[Lowest(0, self.next, 0)],  # they come in order
        )
        return [ReadyUnit(given, record.size)]

    def _plain(self, record: ReceivedRecord) -> Arrival:
        message = inbound.decode(record.headers, record.value)
        to = message.transmission
        is_refused = to is not None and to.queue.startswith(SYSTEM)
        return Arrival(message, 0, record.offset + 1, code=NOT_AUTHORIZED if is_refused else 0)

    def _dead(self, record: ReceivedRecord, code: int, error: UnreadableError) -> Arrival:
        """Make what goes to the dead-letter queue of a record that is not a message."""
        self.unreadable += 1
        log.warning(
            "a record is not a message, and goes to the dead-letter queue",
            topic=self.topic,
            offset=record.offset,
            why=str(error),
        )
        message = MessageData(
            body=record.value or b"", transmission=Transmission("", self.queue_manager)
        )
        return Arrival(message, 0, record.offset + 1, code=code)
