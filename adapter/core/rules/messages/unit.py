"""Units: what commit and backout mean, and the one record by which messages move.

Every durable movement of messages is a UnitCommitted, whether the client opened a unit or the verb
was one of its own: one mechanism, applied live and on replay.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import Final

from adapter.core.attributes.system import DELAYED_QUEUE, RETAINED_QUEUE
from adapter.core.contract.backout import THRESHOLD_REACHED
from adapter.core.contract.commands import AskOutcome, Backout, Begin, Commit, Request, Touch
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import (
    BackoutCounted,
    Cause,
    DeliveryCounted,
    EventRaised,
    MessagesDiscarded,
    Record,
    UnitFenced,
)
from adapter.core.contract.results import (
    Done,
    Messages,
    PutDone,
    Result,
    UnitOutcome,
    UnitState,
    put_done,
)
from adapter.core.contract.stored import Stored, delivered
from adapter.core.contract.unit_records import OutcomeOf, Placed, Taken, UnitCommitted, Verb
from adapter.core.contract.weights import size_of
from adapter.core.model.connection import ConnectionState
from adapter.core.model.manager import Absent, QueueManager
from adapter.core.model.moment import Moment
from adapter.core.model.queue import LocalQueue
from adapter.core.model.segments import join
from adapter.core.model.session import Session
from adapter.core.model.trigger_put import TriggerPut
from adapter.core.model.undo import Removed
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.primitives import access, staging, waiting
from adapter.core.rules.primitives.decision import (
    OWN_UNIT,
    SESSION_ID_LENGTH,
    UNIT_ID_LENGTH,
    Decision,
    connection_of,
    outcome_of,
    session_of,
)

_unpack_number: Final = Layout(">Q").unpack_from
"""What is behind the session's id in a unit's."""
DISCARDED_PER_RECORD: Final = 20_000  # so that a record stays far below what the ledger takes

Puts = list[tuple[LocalQueue, MessageData]]
Gets = list[tuple[LocalQueue, Stored]]


def unit_of(qm: QueueManager, request: Request, ident: bytes) -> UnitOfWork:
    """Return the connection's unit, or refuse: it ended, and what it held was backed out.

    If it never began, because its begin was refused without an answer, it is refused like that.
    """
    connection = connection_of(qm, request)
    unit = connection.units.get(ident)
    if unit is None:
        begin = connection.refused_begins.get(ident)
        if begin is not None:
            raise Refusal(Reason(begin.reason), begin.name, begin.detail)
        raise Refusal(Reason.BACKED_OUT, ident.hex(), "the unit is not open")
    return unit


def unit_with_room(
    qm: QueueManager, request: Request, ident: bytes, messages: int, weight: int
) -> UnitOfWork:
    """Return the unit if it can take so much more, or refuse.

    What a get will hold is not known before: it passes the bound on what all units hold by one
    answer at most.
    """
    unit = unit_of(qm, request, ident)
    if len(unit) + messages > qm.limits.unit_messages:
        raise Refusal(Reason.UNIT_TOO_LARGE, detail=f"{qm.limits.unit_messages} messages at most")
    if unit.weight + weight > qm.limits.unit_bytes:
        raise Refusal(Reason.UNIT_TOO_LARGE, detail=f"{qm.limits.unit_bytes} bytes at most")
    if qm.held.total + weight > qm.limits.held_bytes:
        most = qm.limits.held_bytes
        text = f"the units of all programs hold {qm.held.total} bytes in memory, of {most}"
        raise Refusal(Reason.LIMIT_REACHED, detail=text)
    return unit


def decide_begin(qm: QueueManager, request: Request, command: Begin) -> Decision:
    """MQBEGIN. The unit is soft: it is gone with its connection or its owner."""
    session, connection = session_of(qm, request), connection_of(qm, request)
    ident = command.unit
    if len(ident) != UNIT_ID_LENGTH or ident[:SESSION_ID_LENGTH] != session.ident:
        raise Refusal(Reason.IDENTIFIER_ERROR, detail="a unit id is its session's id and a number")
    number = unit_number(ident)
    if number in session.fenced:
        raise Refusal(Reason.BACKED_OUT, ident.hex(), "it was already reported as backed out")
    if number >> 63 or ident in connection.units or session.is_committed(number) is not False:
        raise Refusal(Reason.IDENTIFIER_ERROR, detail="a unit number is new and below 2**63")
    if len(connection.units) >= qm.limits.units_per_connection:
        most = qm.limits.units_per_connection
        raise Refusal(Reason.LIMIT_REACHED, detail=f"a connection has at most {most} units")
    since = Moment(request.now_ms, qm.elapsed_ms)
    unit = UnitOfWork(ident, connection.number, since, qm.held)
    unit.ahead = command.ahead
    connection.units[ident] = unit
    return Decision([], Done())


def decide_touch(qm: QueueManager, request: Request, command: Touch) -> Decision:
    """What the unit got is shown: its messages count as delivered if it is backed out."""
    unit = connection_of(qm, request).units.get(command.unit)
    if unit is not None:
        unit.ahead = False
    return Decision([], Done())


def unit_number(ident: bytes) -> int:
    """Return the number of a unit in its session."""
    number: int = _unpack_number(ident, SESSION_ID_LENGTH)[0]
    return number


def decide_commit(qm: QueueManager, request: Request, command: Commit) -> Decision:
    """MQCMIT: everything the unit put and got takes effect together, in put order.

    A unit of which a deferred put was refused is backed out, and its commit is refused for that.
    """
    unit, now_ms = unit_of(qm, request, command.unit), request.now_ms
    if unit.refusal is not None:
        replies = waiting.end_unit_waits(qm, connection_of(qm, request), unit.ident)
        backed_out = backout_records(qm, unit, None, now_ms)
        return Decision(backed_out, unit.refusal, qm.entry_n, replies=replies)
    replaced = _replacing_records(qm, unit) if unit.retains else []
    work = unit.broker
    before, end = work.on_commit(qm, work, unit, now_ms) if work is not None else ([], None)
    replies = waiting.end_unit_waits(qm, connection_of(qm, request), unit.ident)
    _end(qm, unit)
    _release(qm, unit.triggers, now_ms)
    outcome = outcome_of(qm, request)
    puts = staging.stage(qm, unit.settled_puts())
    records = replaced + commit_records(unit.ident, puts, unit.gets, "commit", outcome)
    if end is not None:
        records = before + records + end()
    return Decision(records, replies=replies)


def _replacing_records(qm: QueueManager, unit: UnitOfWork) -> list[Record]:
    """Say that the retained publications before those of a unit are gone: else they would be given
    again when these have expired.
    """
    queue = qm.queues.get(RETAINED_QUEUE)
    if queue is None:
        return []
    keys = dict.fromkeys(one.correlation_id for to, one in unit.puts if to is queue)
    gone = [one for key in keys for one in queue.indexes.with_id("correlation_id", key)]
    return discard_records([taken_from(queue, one) for one in gone], "purged")


def decide_backout(qm: QueueManager, request: Request, command: Backout) -> Decision:
    """MQBACK: puts vanish; gets return to their places, counts raised by one if they are to be."""
    unit = unit_of(qm, request, command.unit)
    replies = waiting.end_unit_waits(qm, connection_of(qm, request), unit.ident)
    unit.ahead = unit.ahead or command.uncounted
    records = backout_records(qm, unit, outcome_of(qm, request), request.now_ms)
    return Decision(records, Done(), replies=replies)


def decide_ask_outcome(qm: QueueManager, request: Request, command: AskOutcome) -> Decision:
    """Say what became of a unit, after an entry made now: a deposed owner cannot answer.

    A unit that is not known of a session that lives on another connection counts as in flight: its
    commands may still be on their way. That of a session without a connection is fenced, so that
    what was said stays true when its client comes back.
    """
    ident = command.unit
    if len(ident) != UNIT_ID_LENGTH:
        raise Refusal(Reason.IDENTIFIER_ERROR, detail="a unit id is 24 bytes")
    known = qm.sessions.get(ident[:SESSION_ID_LENGTH])
    if known is not None and not connection_of(qm, request).party.principal.is_privileged:
        access.check_session(qm, request, known)
    state = _outcome(qm, request, ident)
    fences = state == "backed out" and unit_number(ident) not in _session_of(qm, ident).fenced
    return Decision([UnitFenced(ident)] if fences else [], UnitOutcome(state), barrier=True)


def _session_of(qm: QueueManager, ident: bytes) -> Session:
    return qm.sessions[ident[:SESSION_ID_LENGTH]]


def _outcome(qm: QueueManager, request: Request, ident: bytes) -> UnitState:
    if any(ident in connection.units for connection in qm.connections.values()):
        return "in flight"
    session = qm.sessions.get(ident[:SESSION_ID_LENGTH])
    if session is None:
        return "unknown"
    number = unit_number(ident)
    if number >= OWN_UNIT:
        state = _own_outcome(session, number - OWN_UNIT)
    elif (committed := session.is_committed(number)) is True:
        return "committed"  # at last, whatever became of a unit of this number before
    elif number in session.backed_out or number in session.fenced:
        return "backed out"
    else:
        state = "unknown" if committed is None else None
    if state is None:
        elsewhere = qm.attached.get(session.ident, request.connection) != request.connection
        state = "in flight" if elsewhere else "backed out"
    return state


def _own_outcome(session: Session, number: int) -> UnitState | None:
    """Say what became of the unit that a put or get outside a unit is; None: it was not met."""
    result = session.outcomes.get(number)
    if isinstance(result, PutDone) or (
        isinstance(result, Messages)
        and (bool(result.messages) and result.warning != Reason.MESSAGE_TRUNCATED)
    ):
        return "committed"
    if result is not None:
        return "backed out"
    if number in session.running:
        return "in flight"
    if number > session.issued or number in session.expected:
        return None
    return "unknown"  # it has been seen, or was lost while it waited


def commit_records(
    ident: bytes, puts: Puts, gets: Gets, verb: Verb, outcome: OutcomeOf | None
) -> list[Record]:
    """Say what a unit's commit does: one logged record, and one for what is not persistent.

    The first carries the outcome; a unit without messages still is a record, so that it has one.
    """
    placed = _place(puts)
    taken = [taken_from(queue, stored) for queue, stored in gets]
    logged = [p for p in placed if not p.n]
    logged_gets = [t for t in taken if not t.n]
    records: list[Record] = []
    if logged or logged_gets:
        records.append(UnitCommitted(ident, len(logged), logged, logged_gets, verb, outcome))
        outcome = None
    if not records or len(logged) < len(placed) or len(logged_gets) < len(taken):
        soft = [p for p in placed if p.n]
        soft_gets = [t for t in taken if t.n]
        records.append(
            UnitCommitted(ident, len(soft), soft, soft_gets, verb, outcome, logged=False)
        )
    return records


def taken_from(queue: LocalQueue, stored: Stored) -> Taken:
    """Name the place of a stored message."""
    lane, seq, n = stored.place
    return Taken(queue.name, -lane, seq, n, stored.priority)


def discard_records(places: list[Taken], cause: Cause) -> list[Record]:
    """Say that messages are gone without having been got, in records of bounded size."""
    logged = [taken for taken in places if not taken.n]
    soft = [taken for taken in places if taken.n]
    records: list[Record] = [
        MessagesDiscarded(logged[at : at + DISCARDED_PER_RECORD], cause)
        for at in range(0, len(logged), DISCARDED_PER_RECORD)
    ]
    return records + ([MessagesDiscarded(soft, cause, logged=False)] if soft else [])


def expiry_records(queue: LocalQueue, expired: list[Stored]) -> list[Record]:
    """Say which messages are gone because their time is over."""
    return discard_records([taken_from(queue, stored) for stored in expired], "expired")


def _place(puts: Puts) -> list[Placed]:
    """Give every put its place: adjacent within each lane, in the order they were put.

    Index and size count the persistent messages of a unit, or else the others, each for
    themselves: a reader of the topics never meets the others, and must know a unit complete.
    """
    if len(puts) == 1:
        queue, message = puts[0]
        return [_placed_alone(queue, message)]
    totals = [0, 0]
    counts: dict[tuple[str, int], int] = {}
    tails: dict[tuple[str, int], list[int]] = {}
    placed = []
    for queue, message in puts:
        name, persistence, number = queue.name, message.persistence, queue.lane_of(message)
        tail = tails.get((name, number))
        if tail is None:
            lane = queue.lanes[number]
            tail = tails[name, number] = [lane.next_seq, lane.next_n]
        seq, n = _next_place(tail, message)
        share = (name, persistence)
        index, at = totals[persistence], counts.get(share, 0)
        placed.append(Placed(name, number, seq, n, index, at, 0, message))
        totals[persistence] = index + 1
        counts[share] = at + 1
    for one in placed:
        one.queue_size = counts[one.queue, one.message.persistence]
    return placed


def _placed_alone(queue: LocalQueue, message: MessageData) -> Placed:
    number = queue.lane_of(message)
    lane = queue.lanes[number]
    seq, n = _next_place([lane.next_seq, lane.next_n], message)
    return Placed(queue.name, number, seq, n, 0, 0, 1, message)


def _next_place(tail: list[int], message: MessageData) -> tuple[int, int]:
    """Take the next (seq, n) of a lane: persistent ones count seq, the others lie between."""
    if message.persistence:
        seq, n = tail[0], 0
        tail[0] = seq + 1
    else:
        seq, n = tail[0] - 1, tail[1]
        tail[1] = n + 1
    return seq, n


def backout_records(
    qm: QueueManager, unit: UnitOfWork, outcome: OutcomeOf | None, now_ms: int
) -> list[Record]:
    """End a unit without effect: unlock what it got, and say which counts rose."""
    _end(qm, unit)
    _release(qm, [one for one in unit.triggers if not one.with_unit], now_ms)
    if not unit.ahead:
        qm.tally.backed_out(queue.name for queue, _ in unit.gets)
    for restore in unit.restore.values():
        restore()
    session = qm.sessions.get(unit.ident[:SESSION_ID_LENGTH])
    if session is not None:
        session.unit_backed_out(unit_number(unit.ident))
    returned: dict[LocalQueue, list[Place]] = {}
    for queue, stored in unit.gets:
        queue.unlock(stored)
        qm.wake(queue)
        returned.setdefault(queue, []).append(stored.place)
        qm.add_expiry(queue, stored)
    records = [] if unit.ahead else _count_records(qm, unit, returned, outcome, now_ms)
    if unit.broker is not None:
        records += unit.broker.on_backout(qm, unit.broker, unit.ident, now_ms)
    return records if unit.ahead else records + _threshold_events(unit, now_ms)


def _count_records(
    qm: QueueManager,
    unit: UnitOfWork,
    returned: dict[LocalQueue, list[Place]],
    outcome: OutcomeOf | None,
    now_ms: int,
) -> list[Record]:
    """Raise the counts of what a unit got, but for those that were raised when it was given."""
    counted = unit.counted
    taken = [
        taken_from(queue, stored)
        for queue, stored in unit.gets
        if not counted or (queue.name, stored.place) not in counted
    ]
    logged = [t for t in taken if not t.n]
    soft = [t for t in taken if t.n]
    records: list[Record] = []
    if logged:
        records.append(BackoutCounted(logged, outcome))
    if soft:
        records.append(BackoutCounted(soft, None, logged=False))
    for queue, places in returned.items():
        qm.note_backouts(queue, places, now_ms)
    return records


def delivery_records(unit: UnitOfWork, queue: LocalQueue, found: list[Stored]) -> list[Record]:
    """HARDENBO: count what is handed out to a unit before the program sees it.

    A message that is not persistent does not outlive the owner, nor does its count. What is counted
    is not ahead any more, nor is what its unit got besides. What is got ahead of a transmission
    queue is not counted: its sender shows it to no program.
    """
    if not queue.attributes.harden_get_backout or (unit.ahead and queue.is_transmission):
        return []
    unit.ahead = False
    hard = [stored for stored in found if not stored.place[2]]
    unit.counted.update((queue.name, stored.place) for stored in hard)
    return [DeliveryCounted([taken_from(queue, stored) for stored in hard])] if hard else []


def _threshold_events(unit: UnitOfWork, now_ms: int) -> list[Record]:
    returned = [
        (queue, stored, stored.backout_count + ((queue.name, stored.place) not in unit.counted))
        for queue, stored in unit.gets
    ]
    return [
        EventRaised(
            THRESHOLD_REACHED,
            queue.name,
            now_ms,
            {
                "message_id": stored.message.message_id.hex(),
                "backout_count": str(count),
            },
        )
        for queue, stored, count in returned
        if count == queue.attributes.backout_threshold and not queue.moves_backouts
    ]


def _end(qm: QueueManager, unit: UnitOfWork) -> None:
    """Forget a unit and the puts it held; its gets stay locked until a record takes them."""
    del qm.connections[unit.connection].units[unit.ident]
    unit.end()
    for queue, message in unit.puts:
        queue.drop_put(message)


def _release(qm: QueueManager, triggers: list[TriggerPut], now_ms: int) -> None:
    """Have trigger messages put that waited for their unit's end."""
    for trigger in triggers:
        trigger.now_ms = now_ms
        qm.step.trigger_work.append(trigger)


def backout_all(qm: QueueManager, connection: ConnectionState, now_ms: int) -> list[Record]:
    """Back out every unit of a connection that has gone (S4.46)."""
    records: list[Record] = []
    for unit in list(connection.units.values()):
        records += backout_records(qm, unit, None, now_ms)
    return records


def apply_unit_committed(qm: QueueManager, record: UnitCommitted) -> Removed | None:
    """Store what was put and remove what was got; returns that, if it is in no ledger."""
    if record.verb == "get" and record.outcome is not None:
        _note_absent(qm, record)
    got = take(qm, record.gets)
    if not _store_together(qm, record):
        for placed in record.puts:
            _store(qm, record, placed)
    if record.logged and record.puts:
        size = 0
        for placed in record.puts:
            size += size_of(placed.message)
        qm.uncopied.add(qm.entry_n, len(record.puts), size)
    if record.gets and record.gets[0].queue == DELAYED_QUEUE:  # nobody else gets from there
        for placed in record.puts:
            qm.queues[placed.queue].delayed -= 1
    removed = removal_of(record.gets, got) if got and not record.logged else None
    outcome = record.outcome
    if outcome is None:
        return removed
    session = qm.sessions[outcome.session]
    if record.logged:
        session.told(outcome.seen)
    session.record(outcome.number, _result(record, got), written=record.logged)
    if record.verb == "commit":
        session.unit_committed(unit_number(record.unit))
    return removed


def removal_of(places: list[Taken], gone: list[Stored]) -> Removed:
    """Say what a record that is not logged has removed: all of that was in memory."""
    return [(taken.queue, stored) for taken, stored in zip(places, gone, strict=True)]


def take(qm: QueueManager, places: list[Taken]) -> list[Stored]:
    """Remove messages for good; returns those whose content is in memory."""
    found = [qm.queues[t.queue].take((-t.lane, t.seq, t.n), t.priority) for t in places]
    return [stored for stored in found if stored is not None]


def _note_absent(qm: QueueManager, record: UnitCommitted) -> None:
    """At replay: what was got, or a segment of it, may be not in memory; its outcome needs it."""
    queue, outcome = qm.queues[record.gets[0].queue], record.outcome
    places = [(-taken.lane, taken.seq, taken.n) for taken in record.gets]
    if outcome is None or all(place in queue.stored for place in places):
        return
    known = [queue.stored.get(place) for place in places]
    counts = [queue.lanes[taken.lane].counts.get(taken.seq, 0) for taken in record.gets]
    absent = Absent(record.gets, queue.incarnation, counts, known)
    qm.absent[outcome.session, outcome.number] = absent


def _store_together(qm: QueueManager, record: UnitCommitted) -> bool:
    """Store puts to one lane of a local queue of MQ, none of them delayed.

    False, and nothing is done, if they are others, or it is one.
    """
    puts = record.puts
    if len(puts) < 2:
        return False
    name, lane, queue = puts[0].queue, puts[0].lane, qm.queues[puts[0].queue]
    if type(queue) is not LocalQueue or queue.indexes.is_used:
        return False
    for one in puts:
        if one.queue != name or one.lane != lane or one.message.destination:
            return False
    unit, size, entry_n = record.unit, record.size, qm.entry_n
    come = [stored_as(one, unit, size, entry_n=entry_n) for one in puts]
    queue.add_all(come)
    for stored in come:
        if stored.expires_at_ms:
            qm.add_expiry(queue, stored)
    queue.note_taken(logged=record.logged)
    qm.wake(queue)
    return True


def _store(qm: QueueManager, record: UnitCommitted, placed: Placed) -> None:
    queue = qm.queues[placed.queue]
    stored = stored_as(placed, record.unit, record.size, entry_n=qm.entry_n)
    queue.add(stored)
    if stored.expires_at_ms:
        qm.add_expiry(queue, stored)
    to = placed.message.destination
    if to:
        qm.add_delay(stored)
    (qm.queues[to] if to else queue).note_taken(logged=record.logged)
    qm.wake(queue)


def stored_as(
    placed: Placed, unit: bytes, unit_size: int, *, backout_count: int = 0, entry_n: int = -1
) -> Stored:
    """Make what a queue stores of a message that a unit put."""
    return Stored(
        message=placed.message,
        place=(-placed.lane, placed.seq, placed.n),
        unit=unit,
        unit_index=placed.index,
        unit_size=unit_size,
        queue_unit_index=placed.queue_index,
        queue_unit_size=placed.queue_size,
        backout_count=backout_count,
        entry_n=entry_n,
    )


def _result(record: UnitCommitted, got: list[Stored]) -> Result:
    if record.verb == "put":
        message = record.puts[0].message
        return put_done([message.message_id], message)
    if record.verb == "get":
        return Messages([join(got)] if len(got) > 1 else [delivered(stored) for stored in got])
    return Done(record.size)


def apply_unit_fenced(qm: QueueManager, record: UnitFenced) -> None:
    """Remember what was said of the unit."""
    _session_of(qm, record.unit).unit_fenced(unit_number(record.unit))


def apply_backout_counted(qm: QueueManager, record: BackoutCounted) -> None:
    """Raise the backout counts of returned messages."""
    _raise_counts(qm, record.gets)
    if record.outcome is not None:
        session = qm.sessions[record.outcome.session]
        session.told(record.outcome.seen)
        session.record(record.outcome.number, Done(), written=True)


def apply_delivery_counted(qm: QueueManager, record: DeliveryCounted) -> None:
    """Raise the backout counts of messages that are handed out."""
    _raise_counts(qm, record.gets)


def _raise_counts(qm: QueueManager, places: list[Taken]) -> None:
    for t in places:
        qm.queues[t.queue].count_backout((-t.lane, t.seq, t.n), qm.entry_n)


def note_entry(qm: QueueManager, record: Record, entry_n: int) -> None:
    """Let the messages of a record that was applied be of this entry, and of none before it."""
    if isinstance(record, UnitCommitted):
        places = [(put.queue, (-put.lane, put.seq, put.n)) for put in record.puts]
    elif isinstance(record, (BackoutCounted, DeliveryCounted)):
        places = [(taken.queue, (-taken.lane, taken.seq, taken.n)) for taken in record.gets]
    else:
        return
    for name, place in places:
        queue = qm.queues.get(name)
        stored = queue.stored.get(place) if queue else None
        if stored is not None:
            stored.entry_n = entry_n
