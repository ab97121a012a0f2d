"""Collecting the records of one inbound topic until a unit is whole.

Theory. A sender that was killed, or lost its queue, may leave a unit incomplete, and its last
records may come late, between those of others. It cannot have committed that unit, so the next
session of the same transmission queue sends it again. Sessions of a queue are numbered upwards:
what comes of an older one than the newest that was met is left out, and its incomplete unit
forgotten. Of what a sender writes at once, before it commits, any records may be missing: each unit
says which message is last before it there, and core leaves it out where that one has not arrived.

A position is from where reading begins after a restart. It never lies behind the first record of a
unit that is not whole: while there is one, what is whole is given with the position before it.
After a restart it is then read and given once more, and core knows by the places that it came. The
position waits for a unit no longer once that has not grown for INCOMPLETE_S of this process and all
that the topic has was read: a sender that never comes back keeps no records from being deleted.
What came of the unit is kept all the same, should the rest come. No time that a record carries
counts: a backlog is old, and the clocks of other computers are not known.

What is damaged is a dead letter, and so are all other messages of its unit, each whole. Those have
their places on the transmission queue: sent again, they are known. A unit with a hole has a damaged
record, if one came where the hole is that does not say where it belongs. Else the sender has
written a part of the unit only, and sends it again. So with a hole between two units. Damage does
not lie before the position as long as it may explain a hole: for INCOMPLETE_S, as above, and until
the units that it is a part of are given. Records that a topic has lost explain holes like damaged
ones. What a later release has written is not damaged: nothing is taken from there on, until a
release that knows it reads it.

This module knows records; it must not know who reads them, nor what core does with them.
"""

from __future__ import annotations

import structlog
from msgspec import Struct

from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.runtime.network.port import ReceivedRecord
from adapter.runtime.network.unit_parts import DamagedBody, SeenDamage, SessionParts
from adapter.storage.format import chunks, inbound, transfer
from adapter.storage.format.chunks import ChunkPlace
from adapter.storage.format.record_headers import UNREADABLE, NamedHeaders
from adapter.storage.format.schemas import LaterReleaseError, UnreadableError
from adapter.storage.format.transfer import Transfer

INCOMPLETE_S = 60.0
"""A sender gives a unit up that Kafka has not acknowledged for half as long."""
QUEUES_MAX = 100
"""Of one source; of those that send nothing now, more are forgotten."""
INVALID_RECORD = 2110  # MQRC_FORMAT_ERROR
INVALID_TRANSFER = 271  # MQFB_XMIT_Q_MSG_ERROR
CUT = 1
"""The lane of dead letters that are made of cut messages: they do not come in order."""

log = structlog.get_logger("mqk.network")


class ReadyUnit(Struct):
    """What core is given, and how many bytes of records it was."""

    given: ArrivedUnit
    size: int


class InboundCollector:
    """One topic. next: the offset of the next record, given those that were taken.

    unreadable: records that were no messages. left_out: records of no whole unit: it is sent again,
    or had come before. later: why nothing more is taken, because a later release has written it;
    else "".
    """

    def __init__(self, queue_manager: str, topic: str, topic_id: str, source: str) -> None:
        """source: the queue manager that writes it, or "" for any client."""
        self.queue_manager = queue_manager
        self.topic = topic
        self.topic_id = topic_id
        self.source = source
        self.next = 0
        self.unreadable = self.left_out = 0
        self.later = ""
        self._seen = SeenDamage()
        self._sessions: dict[Origin, SessionParts] = {}
        """The newest session of each transmission queue."""

    @property
    def position(self) -> int:
        """From where reading is to begin, once all that is whole has taken effect."""
        firsts = [one.first for one in self._sessions.values() if one.is_awaited]
        return min([self.next, *(at for at in (self._seen.since, *firsts) if at >= 0)])

    def note_lost(self, since: int, now_s: float) -> None:
        """Note that it is not known what the records before the next one were: they were lost, or
        another queue manager of this name received them. since: the offset of the first of them.
        """
        self._seen.last = max(self.next - 1, 0)
        self._seen.note(since, now_s)

    def take(self, record: ReceivedRecord, now_s: float) -> list[ReadyUnit]:
        """Take the next record; return what is whole with it. now_s: of a monotonic clock."""
        if self.later:
            return []
        self.next = record.offset + 1
        try:
            return self._take(record, now_s)
        except LaterReleaseError as error:
            self.next = record.offset
            self.later = f"offset {record.offset}: {error}"
            log.error(
                "a later release has sent this: upgrade this queue manager; what is sent waits",
                topic=self.topic,
                offset=record.offset,
                why=str(error),
            )
            return []

    def is_waiting(self, now_s: float) -> bool:
        """Whether the position has waited long for units."""
        return bool(self._overdue(now_s)) or self._has_explained(now_s)

    def wait_no_longer(self, now_s: float) -> list[ReadyUnit]:
        """Let the position wait no longer for units that have not grown for long; return what is to
        be given of them. All that the topic has was taken.
        """
        ready: list[ReadyUnit] = []
        for origin, session in self._overdue(now_s):
            log.warning(
                "a unit is not complete, and is waited for no longer: its sender has not committed "
                "it, and sends it again",
                topic=self.topic,
                offset=session.first,
                transmission_queue=origin.queue,
            )
            session.is_awaited = False
            if session.lacks_damaged:
                ready += self._end(session, origin, now_s)
        if self._has_explained(now_s):
            self._seen.forget()
        return ready

    def _has_explained(self, now_s: float) -> bool:
        """Whether all has come that seen damage may explain: its sender wrote it at once."""
        return (
            self._seen.is_any
            and now_s - self._seen.noted_s > INCOMPLETE_S
            and not any(one.first >= 0 and one.is_awaited for one in self._sessions.values())
        )

    def _overdue(self, now_s: float) -> list[tuple[Origin, SessionParts]]:
        return [
            (origin, one)
            for origin, one in self._sessions.items()
            if one.first >= 0 and one.is_awaited and now_s - one.grown_s > INCOMPLETE_S
        ]

    def _take(self, record: ReceivedRecord, now_s: float) -> list[ReadyUnit]:
        headers = record.headers
        if headers is None:
            return [self._dead(record, INVALID_RECORD, UnreadableError(UNREADABLE))]
        if not self.source or transfer.HEADER not in headers:
            return [self._plain(record, headers)]
        try:
            header = transfer.decode_header(headers[transfer.HEADER] or b"")
            place = chunks.place_of(headers.get(chunks.HEADER))
        except LaterReleaseError:
            raise
        except UnreadableError as error:
            self._seen.last = record.offset
            self._seen.note(record.offset, now_s)
            return [self._dead(record, INVALID_TRANSFER, error)]
        return self._take_part(record, header, place, now_s)

    def _take_part(
        self, record: ReceivedRecord, header: Transfer, place: ChunkPlace, now_s: float
    ) -> list[ReadyUnit]:
        origin = Origin(header.ident, header.queue, header.incarnation)
        session = self._sessions.get(origin)
        if session is not None and header.session < session.session:
            self.left_out += 1
            return []
        ready: list[ReadyUnit] = []
        is_new = session is None or header.session > session.session
        if session is not None and (is_new or (header.part, place[0]) == (0, 0)):
            ready = self._end(session, origin, now_s)
        if session is None or is_new:
            last = -1 if session is None else session.last
            session = self._sessions[origin] = SessionParts(header.session, self._seen, last)
            self._forget_idle()
        if not session.fits(header, place[0], record.offset):
            self._leave_out(session, record)
            return ready
        is_whole = session.take(record, header, place, now_s)
        if session.is_mixed:
            self._leave_out(session, record)
            return ready
        ready += [self._letter(one, INVALID_TRANSFER) for one in session.damaged]
        session.damaged.clear()
        return [*ready, self._give(session, origin, now_s)] if is_whole else ready

    def _leave_out(self, session: SessionParts, record: ReceivedRecord) -> None:
        self.left_out += 1
        session.last = record.offset
        if session.first >= 0:
            log.warning(
                "a unit with a hole is left out: its sender has not committed it, and sends it "
                "again",
                topic=self.topic,
                first=session.first,
                offset=record.offset,
            )
        session.drop()

    def _end(self, session: SessionParts, origin: Origin, now_s: float) -> list[ReadyUnit]:
        """End a unit of which nothing more comes; return what is to be given of it."""
        if session.first < 0:
            return []
        if not session.lacks_damaged:
            session.drop()
            return []
        session.is_damaged = True
        session.end_message()
        dead = [self._letter(one, INVALID_TRANSFER) for one in session.damaged]
        return [*dead, self._give(session, origin, now_s)]

    def _give(self, session: SessionParts, origin: Origin, now_s: float) -> ReadyUnit:
        """Return a unit that has ended; the next one begins."""
        header, arrivals = session.header, session.arrivals
        assert header is not None, "a record came"
        if session.is_damaged and arrivals:
            log.error(
                "a unit is damaged: its other messages go to the dead-letter queue too",
                topic=self.topic,
                first=session.first,
                messages=len(arrivals),
            )
            for one in arrivals:
                one.code = INVALID_TRANSFER
        if session.is_damaged:
            self._seen.note(session.first, now_s)
        unit, size = session.unit, session.size
        behind = None
        if header.behind and not session.is_unsure:
            lane, seq, n = header.behind
            behind = lane, seq, n
        session.drop()
        lowest = [Lowest(*header.lowest[at : at + 3]) for at in range(0, len(header.lowest), 3)]
        given = ArrivedUnit(
            self.topic,
            self.topic_id,
            self.position,
            origin,
            arrivals,
            source=header.queue_manager,
            unit=unit,
            lowest=lowest,
            behind=behind,
        )
        return ReadyUnit(given, size)

    def _forget_idle(self) -> None:
        if len(self._sessions) > QUEUES_MAX:
            idle = [origin for origin, one in self._sessions.items() if one.first < 0]
            for origin in idle[:-1]:
                del self._sessions[origin]

    def _plain(self, record: ReceivedRecord, headers: NamedHeaders) -> ReadyUnit:
        try:
            message = inbound.decode(headers, record.value)
        except UnreadableError as error:
            return self._dead(record, INVALID_RECORD, error)
        return self._alone(Arrival(message, 0, record.offset + 1), record.size)

    def _dead(self, record: ReceivedRecord, code: int, error: UnreadableError) -> ReadyUnit:
        """Make what goes to the dead-letter queue of a record that is not a message."""
        return self._letter(DamagedBody(record.value or b"", record.offset, str(error)), code)

    def _letter(self, one: DamagedBody, code: int) -> ReadyUnit:
        self.unreadable += 1
        log.warning(
            "a record is not a message, and goes to the dead-letter queue",
            topic=self.topic,
            offset=one.offset,
            why=one.why,
        )
        message = MessageData(body=one.body, transmission=Transmission("", self.queue_manager))
        lane = CUT if one.is_cut else 0
        return self._alone(Arrival(message, lane, one.offset + 1, code=code), len(one.body))

    def _alone(self, arrival: Arrival, size: int) -> ReadyUnit:
        given = ArrivedUnit(
            self.topic,
            self.topic_id,
            self.position,
            Origin(self.topic_id),
            [arrival],
            source=self.source,
            lowest=[Lowest(0, self.next, 0)],  # they come in order
        )
        return ReadyUnit(given, size)
