"""What decide_* returns, and the helpers that every family shares. It knows no single verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import OutcomeRecorded, Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Messages, PutDone, Refused, Result, at_time
from adapter.core.contract.unit_records import OutcomeOf
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.queue_kinds import why_not_of_mq
from adapter.core.model.session import Session
from adapter.core.model.topics import SubscriptionState

UNIT_ID_LENGTH: Final = 24
SESSION_ID_LENGTH: Final = 16
OWN_UNIT: Final = 1 << 63
"""Marks, in a unit id, the number of a command that is a unit by itself."""


TEXT_MAX: Final = 300
"""Longer than any sentence of core; an invalid name may have millions of letters."""


NOBODY: Final[Mapping[int, Refused]] = {}
NO_QUEUES: Final[Mapping[str, LocalQueue]] = {}
"""Nearly every decision ends no connection, and makes no queue."""


class Decision:
    """What a rule has decided, and what the step does with it, in this order.

    1. records: they are applied, in order, before anything is decided again. made, subscribed:
       queues and subscriptions that a handle has open already, by name, for the records by which
       they come to be.
    2. result: the answer to the command; None if it waits, or if a record carries its outcome.
       after: the entry that must be durable before it may be shown; -1: none but those of its
       records. barrier: an entry made after the request must be durable first, so that a deposed
       owner cannot answer. warning: the reason that the answer carries, 0 if none. subscriptions:
       see PutDone.
    3. replies: answers to other requests, which waited.
    4. closed: connections that have ended by this, and what they are told.
    """

    __slots__ = (
        *("after", "barrier", "closed", "made", "records", "replies", "result", "subscribed"),
        *("subscriptions", "warning"),
    )

    def __init__(
        self,
        records: list[Record],
        result: Result | None = None,
        after: int = -1,
        *,
        barrier: bool = False,
        replies: list[Reply] | None = None,
        closed: Mapping[int, Refused] | None = None,
        warning: int = 0,
        subscriptions: int = -1,
        made: Mapping[str, LocalQueue] | None = None,
        subscribed: dict[str, SubscriptionState] | None = None,
    ) -> None:
        self.records = records
        self.result = result
        self.after = after
        self.barrier = barrier
        self.replies: list[Reply] = [] if replies is None else replies
        self.closed: Mapping[int, Refused] = NOBODY if closed is None else closed
        self.warning = warning
        self.subscriptions = subscriptions
        self.made: Mapping[str, LocalQueue] = NO_QUEUES if made is None else made
        self.subscribed: dict[str, SubscriptionState] | None = subscribed

    def complete(self, result: Result, now_ms: int) -> Result:
        """Return an answer as it is sent: with what this says of it, and the time of messages that
        expire.
        """
        if self.warning and isinstance(result, (Done, PutDone, Messages)):
            result.warning = self.warning
        if self.subscriptions >= 0 and isinstance(result, PutDone):
            result.subscriptions = self.subscriptions
        return at_time(result, now_ms) if isinstance(result, Messages) else result


def refused(refusal: Refusal) -> Refused:
    """Make the answer of a refusal, with no more of what a client sent than people can read."""
    return Refused(refusal.reason, _short(refusal.name), _short(refusal.detail))


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}... ({len(text)} characters)"


def connection_of(qm: QueueManager, request: Request) -> ConnectionState:
    """Return the connection that asks."""
    return qm.connections[request.connection]


def session_of(qm: QueueManager, request: Request) -> Session:
    """Return the session of the connection that asks, or refuse."""
    session = qm.sessions.get(qm.connections[request.connection].session)
    if session is None:
        raise Refusal(Reason.OUT_OF_ORDER, detail="this command needs a session: open one first")
    return session


def outcome_of(qm: QueueManager, request: Request) -> OutcomeOf | None:
    """Say whose outcome the record being made is, or None."""
    if not request.number:
        return None
    session = session_of(qm, request)
    return OutcomeOf(session.ident, request.number, list(session.seen))


NOT_OPEN_FOR_INPUT: Final = Reason.NOT_OPEN_FOR_INPUT
NOT_OPEN_FOR_OUTPUT: Final = Reason.NOT_OPEN_FOR_OUTPUT
"""A member of an Enum is not looked up each time."""


def handle_of(
    qm: QueueManager, request: Request, number: int, mode: int, reason: Reason
) -> QueueHandle:
    """Return the handle of an open queue, or refuse if it is not open, or not open for this."""
    handle = qm.connections[request.connection].handles.get(number)
    if handle is None:
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {number} is not open")
    if not handle.modes & mode or not isinstance(handle, QueueHandle):
        raise Refusal(reason, handle.name)
    if handle.queue.is_deleted:
        raise Refusal(Reason.QUEUE_DELETED, handle.queue.name)
    return handle


def queue_of(qm: QueueManager, name: str) -> LocalQueue:
    """Return a queue by name, or refuse."""
    queue = qm.queues.get(name)
    if queue is None:
        raise Refusal(Reason.QUEUE_NOT_FOUND, name)
    check_of_mq(queue)
    return queue


def check_of_mq(queue: LocalQueue) -> None:
    """Refuse what programs of MQ and the SDK want of another face's queue, other than browsing."""
    why = why_not_of_mq(queue)
    if why:
        raise Refusal(Reason.OBJECT_TYPE_ERROR, queue.name, why)


def done(
    qm: QueueManager,
    request: Request,
    records: list[Record],
    count: int = 0,
    replies: list[Reply] | None = None,
) -> Decision:
    """Answer a durable command that moves no message one by one. count: messages concerned."""
    outcome = outcome_of(qm, request)
    if outcome is not None:
        records = [*records, OutcomeRecorded(outcome, count)]
    return Decision(records, Done(count), qm.entry_n, replies=replies or [])


def own_unit(request: Request, session: bytes) -> bytes:
    """Name the unit that a verb outside any unit is: unique, and never a client's own."""
    return session + (OWN_UNIT | request.number).to_bytes(8, "big")
