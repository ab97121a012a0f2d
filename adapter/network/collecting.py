"""Collecting the records of one inbound topic until a unit is whole.

Parts of a unit come in order within their sender's session; those of different sessions may be
mixed where a sender was killed and its last records come late. Such a unit stays incomplete, and is
sent again by the next session, because its sender cannot have committed it: senders of one process
write to a topic one after the other. So when a unit is whole, an incomplete one of another session
that began before it may be forgotten, and reading may begin behind it after a restart.

A record that stands alone - a plain client's, or one that cannot be read - says nothing of this
kind. While a unit is incomplete it is held back, so that the position does not pass the unit's
first part; it is given up with the unit when that has not grown for INCOMPLETE_MS.

Theory of the positions: each ArrivedUnit says from where reading begins once it has taken effect.
With records held back behind the unit's first part, the unit's own position ends before the first
of them, and theirs follow. Positions only grow. This module knows records; it must not know who
reads them, nor what core does with them.
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
SESSIONS_MAX = 8
INVALID_RECORD = 2110  # MQRC_FORMAT_ERROR
INVALID_TRANSFER = 271  # MQFB_XMIT_Q_MSG_ERROR

log = structlog.get_logger("mqk.network")


class ReadyUnit(Struct):
    """What core is given, and how many bytes of records it was."""

    given: ArrivedUnit
    size: int


class SessionParts:
    """The unit that one session is sending."""

    def __init__(self) -> None:
        self.reader = TransferReader()
        self.arrivals: list[Arrival] = []
        self.unit = b""
        self.first = -1
        """The offset of its first record; -1: it has none that can be used."""
        self.size = 0
        self.last_ms = 0

    def begin(self, offset: int) -> None:
        """Begin another unit."""
        self.reader = TransferReader()
        self.arrivals, self.first, self.size = [], offset, 0

    def drop(self) -> None:
        """Forget the unit: it is not whole."""
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
        self._sessions: dict[bytes, SessionParts] = {}
        self._held: list[ReadyUnit] = []
        """Records that stand alone, behind an incomplete unit."""

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

    def give_up(self, now_ms: int) -> list[ReadyUnit]:
        """Forget units that have not grown for long; return what was held back behind them."""
        for session in list(self._sessions.values()):
            if session.first >= 0 and now_ms - session.last_ms > INCOMPLETE_MS:
                session.drop()
        return [] if self._is_incomplete else self._released()

    def _take_part(self, record: ReceivedRecord) -> list[ReadyUnit]:
        header = transfer.decode_header(record.headers[transfer.HEADER] or b"")
        session = self._session(header.session)
        chunk, _ = chunks.place_of(record.headers.get(chunks.HEADER))
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
        seq = position.seq
        session.unit = position.unit
        session.arrivals.append(Arrival(message, header.lane, seq, header.n))
        return self._whole(session, header) if header.part + 1 == header.parts else []

    def _whole(self, session: SessionParts, header: Transfer) -> list[ReadyUnit]:
        for other in self._sessions.values():
            if other is not session:
                other.drop()
        lowest = [Lowest(*header.lowest[at : at + 3]) for at in range(0, len(header.lowest), 3)]
        offset = self._held[0].given.offset - 1 if self._held else self.next
        given = ArrivedUnit(
            self.topic,
            self.topic_id,
            offset,
            Origin(header.ident, header.queue, header.incarnation),
            session.arrivals,
            source=header.queue_manager,
            unit=session.unit,
            lowest=lowest,
        )
        ready = ReadyUnit(given, session.size)
        session.drop()
        if not self._held:
            return [ready]
        self._held[-1].given.offset = self.next
        return [ready, *self._released()]

    def _session(self, ident: bytes) -> SessionParts:
        session = self._sessions.pop(ident, None) or SessionParts()
        self._sessions[ident] = session  # the one that was used last is last
        if len(self._sessions) > SESSIONS_MAX:
            del self._sessions[next(iter(self._sessions))]
        return session

    @property
    def _is_incomplete(self) -> bool:
        return any(session.first >= 0 for session in self._sessions.values())

    def _released(self) -> list[ReadyUnit]:
        held, self._held = self._held, []
        return held

    def _alone(self, record: ReceivedRecord, arrival: Arrival) -> list[ReadyUnit]:
        given = ArrivedUnit(
            self.topic,
            self.topic_id,
            self.next,
            Origin(self.topic_id),
            [arrival],
            source=self.source,
            lowest=[Lowest(0, self.next, 0)],  # single places are not kept: the position is enough
        )
        ready = ReadyUnit(given, record.size)
        if self._is_incomplete:
            self._held.append(ready)
            return []
        return [ready]

    def _plain(self, record: ReceivedRecord) -> Arrival:
        message = inbound.decode(record.headers, record.value)
        return Arrival(message, 0, record.offset + 1)

    def _dead(self, record: ReceivedRecord, code: int, error: UnreadableError) -> Arrival:
        """Make what goes to the dead-letter queue of a record that is no message."""
        self.unreadable += 1
        log.warning(
            "a record is no message, and goes to the dead-letter queue",
            topic=self.topic,
            offset=record.offset,
            why=str(error),
        )
        message = MessageData(
            body=record.value or b"", transmission=Transmission("", self.queue_manager)
        )
        return Arrival(message, 0, record.offset + 1, code=code)
