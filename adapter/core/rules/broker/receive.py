"""RECEIVE and GET CONVERSATION GROUP: messages of one conversation group, which the unit locks.

This module does not know how a verb waits, nor what becomes of a queue whose units roll back.
"""

from __future__ import annotations

import heapq

from msgspec import Struct, structs

from adapter.core.contract.broker import ROWS_BYTES_MAX, BrokerGetGroup, BrokerReceive
from adapter.core.contract.broker_header import RETAINED_RECEIVED, BrokerHeader
from adapter.core.contract.commands import Request
from adapter.core.contract.message import Delivered
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ReceiveNoted, Record
from adapter.core.contract.results import Descriptions, Messages, QueueDescription
from adapter.core.contract.stored import Stored, delivered
from adapter.core.contract.weights import weight
from adapter.core.model.broker_queue import BrokerQueue, place_of
from adapter.core.model.conversations import ConversationGroup, Endpoint, seq_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.broker.activation import note_received
from adapter.core.rules.broker.catalog import check_on, held_of, queue_named, retained_of
from adapter.core.rules.broker.locks import check, lock, work_of
from adapter.core.rules.broker.texts import shown
from adapter.core.rules.messages.unit import unit_with_room
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.decision import Decision

ROWS_ENOUGH = 100
"""So many rows are received without the next one if that is not in memory."""


def receive(
    qm: QueueManager, request: Request, command: BrokerReceive, unit: UnitOfWork
) -> Decision | None:
    """RECEIVE; None if there is no message. May raise PageNeeded and LockNeeded."""
    queue = queue_named(qm, command.queue)
    check_on(queue)
    if command.top != -1 and command.top < 1:
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, f"TOP {command.top}: it is 1 or more")
    room = _room_of(qm, request, command, queue)
    group, endpoint = _select(qm, queue, command, unit)
    if group is None:
        return None
    found = _take_rows(queue, group, endpoint, room)
    if not found:
        return None
    lock(queue, group, unit)
    note_received(qm, queue)
    return _hold(qm, queue, group, unit, found)


class _Room(Struct):
    """What a receive takes at most. rows: one at least. size: of all rows; first: of the first one,
    which may be larger than size.
    """

    rows: int
    size: int
    first: int | None


def _room_of(
    qm: QueueManager, request: Request, command: BrokerReceive, queue: BrokerQueue
) -> _Room:
    """Say how much a unit can receive from a queue, or refuse: it has no room for a row.

    It can answer each row, and end its conversation, before it has no more room: a program that
    cannot commit what it has received rolls back, and with it the queue is turned off in the end.
    """
    held = held_of(queue)
    unit = unit_with_room(qm, request, command.unit, held, 0)
    rows = max((qm.limits.unit_messages - len(unit)) // (2 * held + 1), 1)
    if command.top != -1:
        rows = min(command.top, rows)
    if held == 1:
        return _Room(rows, ROWS_BYTES_MAX, None)
    left = qm.limits.unit_bytes - unit.weight  # for copies; answers as long have copies, too
    return _Room(rows, min(ROWS_BYTES_MAX, left // 4), left)


def _select(
    qm: QueueManager, queue: BrokerQueue, command: BrokerReceive, unit: UnitOfWork
) -> tuple[ConversationGroup | None, Endpoint | None]:
    """Return the group to receive from, and the endpoint, if only its messages are asked for."""
    if command.conversation:
        endpoint = endpoint_on(qm, queue, command.conversation, unit)
        return endpoint.group, endpoint
    if command.group:
        group = queue.groups.get(command.group)
        if group is None or not (group.locked_by or _has_open(group)):
            text = f"queue {queue.attributes.display_name} has no conversation of this group"
            raise Refusal(Reason.CONVERSATION_NOT_FOUND, shown(command.group), text)
        check(queue, group, unit)
        return group, None
    return next_group(queue, unit), None


def _has_open(group: ConversationGroup) -> bool:
    """Whether a group has a conversation that its side has not ended."""
    return any(not endpoint.state.is_ended for endpoint in group.endpoints.values())


def endpoint_on(qm: QueueManager, queue: BrokerQueue, handle: bytes, unit: UnitOfWork) -> Endpoint:
    """Return an endpoint of a queue, or refuse: it is not known, or the unit has ended it."""
    endpoint = qm.conversations.endpoints.get(handle)
    if endpoint is None:
        raise Refusal(Reason.CONVERSATION_NOT_FOUND, shown(handle))
    if endpoint.state.queue == queue.name:
        check(queue, endpoint.group, unit)
        if handle not in endpoint.group.endpoints:
            raise Refusal(Reason.CONVERSATION_NOT_FOUND, shown(handle))
    if endpoint.state.queue != queue.name:
        text = f"it is not a conversation of queue {queue.attributes.display_name}"
        raise Refusal(Reason.CONVERSATION_NOT_FOUND, shown(handle), text)
    return endpoint


def next_group(queue: BrokerQueue, unit: UnitOfWork) -> ConversationGroup | None:
    """Return the next group: of those that are not locked, and those the unit has locked."""
    found = (queue.groups.next(), queue.groups.next(unit.ident))
    groups = [group for group in found if group is not None]
    return min(groups, key=lambda one: one.heap[0][:2], default=None)


def _take_rows(
    queue: BrokerQueue, group: ConversationGroup, only: Endpoint | None, room: _Room
) -> list[tuple[Endpoint, Stored]]:
    """Take the next rows of a group out of its heaps: of one conversation after the other.

    If a message is not in memory, all are put back and PageNeeded is raised; unless there are many
    by then: these are all that is received, as looking through them again for each page would cost
    the square of their number.
    """
    found: list[tuple[Endpoint, Stored]] = []
    taken: list[tuple[Endpoint, int]] = []
    size = 0
    try:
        while len(found) < room.rows:
            endpoint = only or queue.groups.first_of(group)
            row = endpoint.first(queue.is_there) if endpoint is not None else None
            while endpoint is not None and row is not None and len(found) < room.rows:
                stored = matching.at_place(queue, place_of(seq_of(row)))
                assert stored is not None, "the row is there"
                size += weight(stored.message)
                if found and size > room.size:
                    return found
                if room.first is not None and size > room.first:
                    text = f"there is no room for a copy of {size} bytes, which the queue retains"
                    raise Refusal(Reason.UNIT_TOO_LARGE, detail=text)
                heapq.heappop(endpoint.rows)
                taken.append((endpoint, row))
                found.append((endpoint, stored))
                row = endpoint.first(queue.is_there)
            if endpoint is None or endpoint is only:
                return found
    except PageNeeded as needed:
        if len(found) >= ROWS_ENOUGH:
            return found
        _put_back(queue, taken)
        is_behind = not found or needed.seq == found[-1][1].place[1] + 1
        if is_behind:  # what is behind it will be needed too
            raise PageNeeded(needed.queue, needed.lane, needed.seq) from None
        raise
    except BaseException:
        _put_back(queue, taken)
        raise
    return found


def _put_back(queue: BrokerQueue, taken: list[tuple[Endpoint, int]]) -> None:
    for endpoint, row in taken:
        queue.groups.add_row(endpoint, row)


def _hold(
    qm: QueueManager,
    queue: BrokerQueue,
    group: ConversationGroup,
    unit: UnitOfWork,
    found: list[tuple[Endpoint, Stored]],
) -> Decision:
    """Lock messages until the unit ends. That it receives is recorded before anybody sees them, so
    that it counts as rolled back if the queue manager dies.
    """
    rows: list[Delivered] = []
    unit.lock(queue, [stored for _, stored in found])
    for _, stored in found:
        header = _header_of(stored)
        shown = delivered(stored)
        shown.message = structs.replace(
            stored.message, broker=structs.replace(header, group=group.ident)
        )
        rows.append(shown)
        if queue.attributes.retention:
            copy = structs.replace(header, status=RETAINED_RECEIVED)
            message = structs.replace(stored.message, broker=copy)
            unit.hold_put(retained_of(qm, queue), message, weight(message))
    work_of(unit).received[queue.name] = queue
    records: list[Record] = []
    if unit.ident not in queue.receiving:
        records.append(ReceiveNoted(queue.name, unit.ident, has_ended=False))
    after = qm.entry_n if records else max(stored.entry_n for _, stored in found)
    return Decision(records, Messages(rows), after)


def _header_of(stored: Stored) -> BrokerHeader:
    header = stored.message.broker
    assert header is not None, "every message of the queue has one"
    return header


def get_group(
    qm: QueueManager, request: Request, command: BrokerGetGroup, unit: UnitOfWork
) -> Decision | None:
    """GET CONVERSATION GROUP: lock the group of the message that RECEIVE would return first; None
    if it would return no message.
    """
    queue = queue_named(qm, command.queue)
    check_on(queue)
    group = next_group(queue, unit)
    if group is None:
        return None
    lock(queue, group, unit)
    note_received(qm, queue)
    return Decision([], Descriptions([QueueDescription(group.ident.hex(), 0, {})]), qm.entry_n)
