"""Sessions: numbered commands are executed once and answered as often as they are asked.

A session that is unknown or has expired gets "outcome unknown", never a second execution. It
belongs to the user that opened it, as the queue manager knows that: others are refused, whatever id
they have come to know.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.commands import Request, SessionOpen, SessionResume
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record, SessionBound, SessionExpired, SessionOpened
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Refused, Result, Resumed
from adapter.core.model.manager import QueueManager
from adapter.core.model.session import WINDOW, Session
from adapter.core.rules.objects import closing
from adapter.core.rules.primitives import access
from adapter.core.rules.primitives.decision import (
    OWN_UNIT,
    SESSION_ID_LENGTH,
    Decision,
    connection_of,
    session_of,
)

NUMBER_MAX: Final = 2**63 - 1
"""What the ledger can hold; the other half of 64 bits names units of their own."""


def decide_session_open(qm: QueueManager, request: Request, command: SessionOpen) -> Decision:
    """Make a session known and attach to it. Asking again is harmless."""
    if len(command.session) != SESSION_ID_LENGTH:
        raise Refusal(Reason.IDENTIFIER_ERROR, detail="a session id is 16 bytes")
    _not_in_another(qm, request, command.session)
    new: list[Record] = []
    if command.session in qm.sessions:
        access.check_session(qm, request, qm.sessions[command.session])
    else:
        if len(qm.sessions) >= qm.limits.sessions:
            new.append(SessionExpired(_longest_detached(qm).ident))
        new.append(SessionOpened(command.session, request.now_ms))
        new += _bind(qm, request, command.session)
    decision = _attach(qm, request, command.session)
    return Decision(new + decision.records, Done(), barrier=True, closed=decision.closed)


def decide_session_resume(qm: QueueManager, request: Request, command: SessionResume) -> Decision:
    """Attach to a session after a lost connection, and say what may come again."""
    session = qm.sessions.get(command.session)
    if session is None:
        name, text = command.session.hex(), "the session is not known"
        return Decision([], Refused(Reason.OUTCOME_UNKNOWN, name, text), barrier=True)
    access.check_session(qm, request, session)
    if len(command.unanswered) > WINDOW:
        raise Refusal(Reason.LIMIT_REACHED, detail=f"at most {WINDOW} commands are unanswered")
    _check_numbers(command)
    _not_in_another(qm, request, command.session)
    decision = _attach(qm, request, session.ident)
    session.expected = set(command.unanswered)
    session.issued = max(session.issued, command.issued)
    session.acknowledge([n for n in session.outcomes if n not in session.expected])
    if not session.user:  # a release without users of sessions opened it
        decision.records += _bind(qm, request, session.ident)
    return decision


def _bind(qm: QueueManager, request: Request, ident: bytes) -> list[Record]:
    """Let a session belong to the user of a connection; a client without one can keep it no more
    than its id.
    """
    user = connection_of(qm, request).party.user
    return [SessionBound(ident, user)] if user else []


def _check_numbers(command: SessionResume) -> None:
    numbers = command.unanswered
    fit = all(0 < number <= command.issued for number in numbers)
    if not fit or not 0 <= command.issued <= NUMBER_MAX:
        text = f"numbers go from 1 to the highest that was issued, {NUMBER_MAX} at most"
        raise Refusal(Reason.OUT_OF_ORDER, detail=text)


def _attach(qm: QueueManager, request: Request, ident: bytes) -> Decision:
    """Take a session over from a connection that the owner may not know to be dead."""
    records: list[Record] = []
    replies: list[Reply] = []
    closed = {}
    other = qm.connections.get(qm.attached.get(ident, 0))
    if other is not None and other.number != request.connection:
        ended = closing.end_connection(qm, other, request.now_ms)
        records, replies = ended.records, ended.replies
        text = "another connection has taken this session over"
        closed = {other.number: Refused(Reason.OUT_OF_ORDER, "", text)}
    qm.attached[ident] = request.connection
    connection_of(qm, request).session = ident
    return Decision(records, Resumed(), barrier=True, closed=closed, replies=replies)


def _not_in_another(qm: QueueManager, request: Request, ident: bytes) -> None:
    current = connection_of(qm, request).session
    if current and current != ident:
        raise Refusal(Reason.OUT_OF_ORDER, detail="this connection has a session already")


def _longest_detached(qm: QueueManager) -> Session:
    detached = [session for session in qm.sessions.values() if session.ident not in qm.attached]
    if not detached:
        raise Refusal(Reason.LIMIT_REACHED, detail=f"{qm.limits.sessions} sessions are in use")
    return min(detached, key=lambda session: session.away_since_ms)


def recorded_outcome(qm: QueueManager, request: Request) -> Result | None:
    """Return the outcome of a command that comes again; refuse a number that has no business."""
    session = session_of(qm, request)
    number = request.number
    outcome = session.outcomes.get(number)
    if outcome is not None:
        session.expected.discard(number)
        return outcome
    if number in session.expected and number not in session.running:
        session.expected.discard(number)
        return _fenced_result(session, number)
    if number != session.issued + 1 or number > NUMBER_MAX:
        raise Refusal(
            Reason.OUT_OF_ORDER, detail=f"command {number} came, {session.issued + 1} was expected"
        )
    if len(session.outcomes) + len(session.running) >= WINDOW:
        raise Refusal(Reason.LIMIT_REACHED, detail=f"at most {WINDOW} outcomes are unseen")
    session.issued = number
    return _fenced_result(session, number)


def _fenced_result(session: Session, number: int) -> Result | None:
    """Refuse a command whose outcome was already reported as not executed."""
    if OWN_UNIT | number not in session.fenced:
        return None
    result = Refused(
        Reason.BACKED_OUT, "", f"command {number} was already reported as not executed"
    )
    session.record(number, result)
    return result


def expire_sessions(qm: QueueManager) -> list[Record]:
    """Forget the sessions whose clients have been away too long."""
    limit = qm.limits.session_expiry_ms
    return [
        SessionExpired(session.ident)
        for session in qm.sessions.values()
        if session.ident not in qm.attached and qm.elapsed_ms - session.away_since_ms >= limit
    ]


def apply_session_opened(qm: QueueManager, record: SessionOpened) -> None:
    """Make the session."""
    qm.sessions[record.session] = Session(record.session, record.time_ms)


def apply_session_bound(qm: QueueManager, record: SessionBound) -> None:
    """Note whose session it is."""
    qm.sessions[record.session].user = record.user


def apply_session_expired(qm: QueueManager, record: SessionExpired) -> None:
    """Forget the session."""
    del qm.sessions[record.session]
