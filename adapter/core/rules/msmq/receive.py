"""Receiving and peeking at messages of MSMQ: by order, cursor, lookup id or ids; waiting for one.

A message that a transaction has received is passed over until that ends. A cursor moves behind the
message that it receives, whatever becomes of the transaction, and does not move back. A peek at the
next message that waits is also given the message at the cursor, if that was received in a
transaction while the peek waited, and came back: so that a service which peeks before it calls a
program is given a message again that the program could not process. This module does not know how
a wait begins or ends, nor what a message causes that is received.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adapter.core.contract.bounds import WAIT_MAX_MS
from adapter.core.contract.commands import Request
from adapter.core.contract.message import ID_LENGTH, Place
from adapter.core.contract.msmq import (
    CURRENT,
    FIRST,
    LAST,
    LEVEL_LATEST,
    NEXT,
    NO_LOOKUP_ID,
    PEEK_ACCESS,
    PREVIOUS,
    RECEIVE_ACCESS,
    REWINDING,
    MsmqReceive,
)
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.results import Messages, Refused
from adapter.core.contract.stored import Stored, delivered
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_get import MsmqGet
from adapter.core.model.msmq_handles import MsmqReader, ReadCursor
from adapter.core.model.msmq_queue import MsmqQueue, place_of
from adapter.core.model.unit import UnitOfWork
from adapter.core.model.waiters import Waiter
from adapter.core.rules.messages import pages
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.unit import (
    delivery_records,
    expiry_records,
    unit_of,
    unit_with_room,
)
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq.opening import reader_of
from adapter.core.rules.primitives import matching, waiting
from adapter.core.rules.primitives.decision import Decision, outcome_of, own_unit, session_of

NOT_WAITING = 0
"""The arrival number of a request that does not wait."""
WITH_CURSOR = (CURRENT, NEXT, REWINDING)
WITH_LOOKUP_ID = (CURRENT, NEXT, PREVIOUS)


def decide_receive(qm: QueueManager, request: Request, command: MsmqReceive) -> Decision:
    """MQReceiveMessage, MQReceiveMessageByLookupId."""
    access = RECEIVE_ACCESS | PEEK_ACCESS if command.peek else RECEIVE_ACCESS
    handle = reader_of(qm, request, command.handle, access)
    _check(command, handle)
    _check_transaction(qm, command, handle)
    if command.unit:
        unit_with_room(qm, request, command.unit, 1, 0)
    records: list[Record] = []
    given = give(qm, request, command, handle, records, NOT_WAITING)
    if given is not None:
        return given
    if command.wait_ms == 0 or command.lookup_id != NO_LOOKUP_ID:
        return Decision(records, Messages([]), qm.entry_n)
    waiting.begin(qm, request, command, handle)
    return Decision(records)


def _check(command: MsmqReceive, handle: MsmqReader) -> None:
    name = handle.name
    if not -1 <= command.wait_ms <= WAIT_MAX_MS:
        raise Refusal(Reason.WAIT_INTERVAL_ERROR, name, f"{command.wait_ms} ms")
    for field in ("message_id", "correlation_id"):
        if len(getattr(command, field)) not in (0, ID_LENGTH):
            raise Refusal(Reason.IDENTIFIER_ERROR, name, f"{field} is not 24 bytes")
    if command.cursor and command.cursor not in handle.cursors:
        raise Refusal(Reason.HANDLE_NOT_OPEN, name, f"cursor {command.cursor}")
    has_ids = bool(command.message_id or command.correlation_id)
    ways = [bool(command.cursor), command.lookup_id != NO_LOOKUP_ID, has_ids]
    starts: tuple[int, ...] = (FIRST,) if has_ids else (FIRST, LAST)
    if command.cursor:
        starts = WITH_CURSOR if command.peek else (CURRENT,)
    elif command.lookup_id != NO_LOOKUP_ID:
        starts = WITH_LOOKUP_ID
    if sum(ways) > 1 or command.start not in starts or command.lookup_id < NO_LOOKUP_ID:
        raise Refusal(Reason.OPTIONS_ERROR, name, f"start {command.start} does not go with this")


def _check_transaction(qm: QueueManager, command: MsmqReceive, handle: MsmqReader) -> None:
    """Refuse to read in a transaction what MSMQ does not read so."""
    if not command.unit and not command.single:
        return
    queue = handle.msmq
    if command.peek:
        text = "a peek cannot be part of a transaction"
    elif not queue.attributes.transactional:
        text = "the queue is not transactional"
    elif handle.is_remote and min(handle.level, qm.attributes.msmq_level) < LEVEL_LATEST:
        text = "it is a queue of another computer, which only version 4 of MSMQ reads so"
    elif command.unit and command.single:
        text = "a single message is received outside of other transactions"
    else:
        return
    raise Refusal(Reason.TRANSACTION_USAGE, queue.name, text)


def serve(qm: QueueManager, waiter: Waiter, records: list[Record]) -> Decision | None:
    """Give a request that waits what there is now, or None."""
    handle, command = waiter.handle, waiter.command
    assert isinstance(handle, MsmqReader), "a wait of MSMQ"
    assert isinstance(command, MsmqReceive), "a wait of MSMQ"
    try:
        return give(qm, waiter.request, command, handle, records, waiter.arrival)
    except Refusal as refusal:
        refused = Refused(refusal.reason, refusal.name, refusal.detail)
        return Decision([], refused, qm.entry_n)


def give(
    qm: QueueManager,
    request: Request,
    command: MsmqReceive,
    handle: MsmqReader,
    records: list[Record],
    arrival: int,
) -> Decision | None:
    """Give a request what there is now, or None. records: takes what has expired on the way."""
    queue = handle.msmq
    expired: list[Stored] = []
    found = _find(qm, command, handle, request.now_ms, expired, arrival)
    if expired and not command.peek:
        records += expiry_records(queue, expired)
    if found is None:
        return None
    cursor = handle.cursors.get(command.cursor)
    pages.look_ahead(qm, queue, -found.place[0])
    if command.peek:
        if cursor is not None:
            cursor.move_to(found.place)
            cursor.expires_at_ms = found.expires_at_ms
        return Decision(records, Messages([delivered(found)]), qm.entry_n)
    if cursor is not None:
        cursor.move_behind(found.place)
    unit = unit_of(qm, request, command.unit) if command.unit else None
    decision = _take(qm, request, queue, unit, found)
    decision.records = records + decision.records
    return decision


def _take(
    qm: QueueManager, request: Request, queue: MsmqQueue, unit: UnitOfWork | None, found: Stored
) -> Decision:
    """Take a message for good, or lock it until its unit ends; with its journal copy and its
    acknowledgment.
    """
    plan = Plan(qm, request.now_ms)
    if queue.is_delivered_to:
        msmq_delivery.copy_to_journal(plan, queue, found)
        if not msmq_delivery.is_settled(found.message):
            msmq_delivery.acknowledge(plan, found.message, msmq_delivery.RECEIVED)
    if unit is not None:
        lock(qm, unit, queue, found)
        unit.received[found] = MsmqGet([message for _, message in plan.puts + plan.reports])
        records = plan.hold(unit) + delivery_records(unit, queue, [found])
        after = qm.entry_n if records else found.entry_n
        return Decision(records, Messages([delivered(found)]), after)
    ident = own_unit(request, session_of(qm, request).ident)
    return Decision(plan.record(ident, "get", outcome_of(qm, request), [(queue, found)]))


def lock(qm: QueueManager, unit: UnitOfWork, queue: MsmqQueue, found: Stored) -> None:
    """Lock a message until its unit ends, and note who waits meanwhile."""
    if qm.waiters.count(queue):
        queue.locked_at[found.place] = qm.waiters.arrivals
    unit.lock(queue, [found])


def _find(
    qm: QueueManager,
    command: MsmqReceive,
    handle: MsmqReader,
    now_ms: int,
    expired: list[Stored],
    arrival: int,
) -> Stored | None:
    """Find the message that a request asks for; may raise PageNeeded. Changes nothing."""
    queue = handle.msmq
    if command.cursor:
        cursor = handle.cursors[command.cursor]
        return _at_cursor(queue, command, cursor, now_ms, expired, arrival)
    if command.lookup_id != NO_LOOKUP_ID:
        return _by_lookup_id(queue, command, now_ms, expired)
    if command.start == LAST:
        return _first(_backwards(queue, None), now_ms, expired)
    wanted = [
        (field, value)
        for field in ("message_id", "correlation_id")
        if (value := getattr(command, field))
    ]
    if not wanted:
        return _first(queue.in_order(), now_ms, expired)
    return _first(matching.with_all(queue, wanted), now_ms, expired)


def _first(source: Iterable[Stored], now_ms: int, expired: list[Stored]) -> Stored | None:
    """Return the first message that has not expired."""
    for stored in source:
        if not matching.is_over(stored, now_ms):
            return stored
        expired.append(stored)
    return None


def _at_cursor(
    queue: MsmqQueue,
    command: MsmqReceive,
    cursor: ReadCursor,
    now_ms: int,
    expired: list[Stored],
    arrival: int,
) -> Stored | None:
    if command.start == CURRENT:
        if cursor.at is None:
            return _first(queue.in_order_after(cursor.behind), now_ms, expired)
        return _under_cursor(queue, cursor, cursor.at, now_ms)
    if command.start == NEXT and cursor.at is None and arrival == NOT_WAITING:
        raise Refusal(Reason.ILLEGAL_CURSOR_ACTION, queue.name)
    again = _came_back(queue, cursor, arrival)
    following = _rewinding(queue, cursor) if command.start == REWINDING else None
    if following is None:
        following = queue.in_order_after(cursor.behind)
    found = _first(following, now_ms, expired)
    if again is None or matching.is_over(again, now_ms):
        return found
    return again if found is None or again.place < found.place else found


def _under_cursor(queue: MsmqQueue, cursor: ReadCursor, place: Place, now_ms: int) -> Stored:
    """Return the message that a cursor is at, or refuse and say what has become of it."""
    stored = matching.at_place(queue, place)
    if stored is not None and stored.locked:
        text = "a transaction has received it"
    elif stored is not None and not matching.is_over(stored, now_ms):
        return stored
    elif 0 < cursor.expires_at_ms <= now_ms:
        text = "it has expired"  # what was received just before that is not told apart
    else:
        text = "another program has received it, or it was removed"
    raise Refusal(Reason.MESSAGE_ALREADY_RECEIVED, queue.name, text)


def _came_back(queue: MsmqQueue, cursor: ReadCursor, arrival: int) -> Stored | None:
    """Return the message at a cursor, if it was received in a transaction while this request
    waited, and is there again.
    """
    if arrival == NOT_WAITING or cursor.at is None:
        return None
    if queue.locked_at.get(cursor.at, 0) < arrival:
        return None
    stored = matching.at_place(queue, cursor.at)
    return None if stored is None or stored.locked else stored


def _rewinding(queue: MsmqQueue, cursor: ReadCursor) -> Iterator[Stored]:
    """Iterate over what the cursor has not passed, of the highest lane first."""
    for lane in reversed(queue.lanes):
        passed = cursor.passed[lane.number]
        yield from lane.in_order(queue.name, (-lane.number, passed, 0))


def _by_lookup_id(
    queue: MsmqQueue, command: MsmqReceive, now_ms: int, expired: list[Stored]
) -> Stored | None:
    place = place_of(command.lookup_id)
    if command.start == NEXT:
        return _first(queue.in_order_after(place), now_ms, expired)
    if command.start == PREVIOUS:
        return _first(_backwards(queue, place), now_ms, expired)
    stored = matching.at_place(queue, place)
    if stored is None or matching.is_over(stored, now_ms):
        raise Refusal(Reason.MESSAGE_NOT_FOUND, queue.name, f"lookup id {command.lookup_id}")
    if stored.locked and command.peek:
        text = "a transaction has received the message"
        raise Refusal(Reason.TRANSACTION_USAGE, queue.name, text)
    if stored.locked:
        raise Refusal(Reason.MESSAGE_LOCKED, queue.name, f"lookup id {command.lookup_id}")
    return stored


def _backwards(queue: MsmqQueue, place: Place | None) -> Iterator[Stored]:
    """Iterate from the message before a place, or the last one, to the first; may raise
    PageNeeded.
    """
    first = 0 if place is None else -place[0]
    for number in range(max(first, 0), len(queue.lanes)):
        seq = place[1] if place is not None and number == first else None
        yield from queue.lanes[number].backwards(queue.name, seq)
