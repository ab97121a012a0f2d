"""Moving messages of MSMQ between a queue and its subqueues, and rejecting them.

A move is a receive from one queue and a put to the other, in one unit. The message keeps its id and
the transaction that sent it; its abort count begins again.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.contract.commands import Request
from adapter.core.contract.msmq import MOVE_ACCESS, RECEIVE_ACCESS, MsmqMove, MsmqReject
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Done
from adapter.core.contract.stored import Stored
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_get import MsmqGet
from adapter.core.model.msmq_queue import MsmqQueue, place_of
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.plan_room import check_room
from adapter.core.rules.messages.unit import unit_of
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq.delivery import RECEIVE_REJECTED
from adapter.core.rules.msmq.opening import reader_of
from adapter.core.rules.msmq.receive import lock
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.decision import Decision, done, own_unit, session_of


def decide_move(qm: QueueManager, request: Request, command: MsmqMove) -> Decision:
    """MQMoveMessage."""
    source = reader_of(qm, request, command.handle, RECEIVE_ACCESS | MOVE_ACCESS)
    target = reader_of(qm, request, command.target, MOVE_ACCESS)
    one, other = source.msmq, target.msmq
    parts = all(not queue.part or queue.is_subqueue for queue in (one, other))
    if one is other or one.base != other.base or not parts:
        text = "messages move between a queue and its subqueues"
        raise Refusal(Reason.OPTIONS_ERROR, target.name, text)
    stored = _there(source.msmq, command.lookup_id)
    if command.unit and not source.msmq.attributes.transactional:
        raise Refusal(Reason.TRANSACTION_USAGE, source.name, "the queue is not transactional")
    header = msmq_delivery.sent_in(stored)
    moved = structs.replace(
        stored.message, msmq=structs.replace(header, move_count=header.move_count + 1)
    )
    plan = Plan(qm, request.now_ms)
    plan.put(target.msmq, moved)
    if command.unit:
        unit = unit_of(qm, request, command.unit)
        check_room(plan, request, unit, target.name, gets=1)
        lock(qm, unit, source.msmq, stored)
        unit.received[stored] = MsmqGet(is_moved=True)
        return Decision(plan.hold(unit), Done(1), qm.entry_n)
    ident = own_unit(request, session_of(qm, request).ident)
    return done(qm, request, plan.record(ident, gets=[(source.msmq, stored)]), 1)


def _there(queue: MsmqQueue, lookup_id: int) -> Stored:
    """Return the message to be moved, or refuse."""
    stored = matching.at_place(queue, place_of(lookup_id)) if lookup_id >= 0 else None
    if stored is None:
        raise Refusal(Reason.MESSAGE_NOT_FOUND, queue.name, f"lookup id {lookup_id}")
    if stored.locked:
        raise Refusal(Reason.MESSAGE_LOCKED, queue.name, f"lookup id {lookup_id}")
    return stored


def decide_reject(qm: QueueManager, request: Request, command: MsmqReject) -> Decision:
    """MQMarkMessageRejected: with the commit the message is reported as rejected, and not as
    received.
    """
    handle = reader_of(qm, request, command.handle, RECEIVE_ACCESS)
    queue = handle.msmq
    had_outcome = "dead letters and messages of journals have had their outcome"
    if not queue.is_delivered_to:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, had_outcome)
    if not command.unit:
        text = "messages are rejected in the transaction that received them"
        raise Refusal(Reason.TRANSACTION_USAGE, queue.name, text)
    unit = unit_of(qm, request, command.unit)
    place = place_of(command.lookup_id) if command.lookup_id >= 0 else None
    stored = next((one for of, one in unit.gets if of is queue and one.place == place), None)
    got = None if stored is None else unit.received.get(stored)
    if stored is None or got is None or got.is_moved:
        raise Refusal(Reason.MESSAGE_NOT_FOUND, queue.name, f"lookup id {command.lookup_id}")
    if got.is_rejected:
        return Decision([], Done(1), qm.entry_n)
    if msmq_delivery.is_settled(stored.message):
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, had_outcome)
    plan = Plan(qm, request.now_ms)
    msmq_delivery.leave_unreceived(plan, queue, stored, RECEIVE_REJECTED)
    check_room(plan, request, unit, queue.name)
    _take_back(unit, got)
    got.is_rejected = True
    return Decision(plan.hold(unit), Done(1), qm.entry_n)


def _take_back(unit: UnitOfWork, got: MsmqGet) -> None:
    """Drop what the receive had put: the copy for the journal, and the acknowledgment."""
    for of, message in list(unit.puts) if got.caused else ():
        if any(message is one for one in got.caused):
            unit.drop_put(of, message)
