"""BEGIN DIALOG, SEND, MOVE CONVERSATION and BEGIN CONVERSATION TIMER: what a unit does to its side.

All of it is noted in the unit, and takes effect when that commits. This module does not know where
a message goes.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.commands import Request
from adapter.core.contract.message import GUID_LENGTH, MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ConversationSet
from adapter.core.contract.results import Done
from adapter.core.contract.weights import weight
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.broker_unit import EndpointChange
from adapter.core.model.conversations import BROKEN, ENDED
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.broker import catalog, to_exports
from adapter.core.rules.broker.headers import message_of
from adapter.core.rules.broker.locks import check, lock, work_of
from adapter.core.rules.broker.texts import shown
from adapter.core.rules.messages import context
from adapter.core.rules.messages.unit import unit_with_room
from adapter.core.rules.primitives import parking
from adapter.core.rules.primitives.decision import Decision

TIMEOUT_MAX_MS = 2_147_483_647 * 1_000
CONVERSATIONS_PER_SEND = 1_000
HEADER_WEIGHT = 2_048
"""What a message weighs besides its body, at most."""
TURNS = 2
"""How often a unit moves or ends each of its conversations, all in all: as a rule once."""


def check_guid(value: bytes, what: str) -> None:
    """Refuse what is not 16 bytes."""
    if len(value) != GUID_LENGTH:
        raise Refusal(Reason.IDENTIFIER_ERROR, detail=f"{what} is {len(value)} bytes, and not 16")


def begin(qm: QueueManager, request: Request, command: b.BrokerBegin, unit: UnitOfWork) -> Decision:
    """BEGIN DIALOG CONVERSATION: the far side learns of it with the first message."""
    check_guid(command.handle, "the conversation handle")
    service = catalog.service(qm, command.from_service)
    catalog.contract(qm, command.contract)
    queue = catalog.queue_named(qm, service.queue)
    work = work_of(unit)
    if qm.conversations.is_taken(command.handle) or command.handle in work.changes:
        raise Refusal(Reason.IDENTIFIER_ERROR, shown(command.handle), "the handle is in use")
    catalog.check_name(kinds.SERVICE, command.to_service)
    catalog.check_service_name(command.to_service)
    if not 0 <= command.lifetime_ms <= TIMEOUT_MAX_MS:
        text = f"a lifetime of {command.lifetime_ms} ms: it is 1 to 2147483647 seconds"
        raise Refusal(Reason.OPTIONS_ERROR, detail=text)
    if command.encryption:
        text = "messages are not encrypted: begin the dialog with ENCRYPTION = OFF"
        raise Refusal(Reason.OPTIONS_ERROR, detail=text)
    catalog.check_room(qm)
    check_changes(qm, unit, [command.handle])
    ident = _group_of(qm, queue, command, unit)
    check_guid(ident, "the conversation group")
    group = queue.groups.get(ident)
    check(queue, group, unit)
    lock(queue, group or queue.groups.need(ident), unit)
    begun = ConversationSet(
        command.handle,
        command.handle,
        ident,
        queue.name,
        command.from_service,
        command.to_service,
        catalog.address_of(qm, command.to_service),
        command.contract,
        True,
        catalog.priority(qm, command.contract, command.from_service, command.to_service),
        lifetime_ms=request.now_ms + command.lifetime_ms if command.lifetime_ms else 0,
    )
    work.change(command.handle, begun)
    qm.conversations.count_begun(begun, 1)
    return Decision([], Done(), qm.entry_n)


def _group_of(
    qm: QueueManager, queue: BrokerQueue, command: b.BrokerBegin, unit: UnitOfWork
) -> bytes:
    if not command.related:
        return command.group
    related = state_of(qm, command.related, unit)
    if related.queue != queue.name:
        text = f"it is not a conversation of the queue of service {command.from_service}"
        raise Refusal(Reason.CONVERSATION_NOT_FOUND, shown(command.related), text)
    return related.group


def state_of(
    qm: QueueManager, handle: bytes, unit: UnitOfWork, *, may_be_ended: bool = False
) -> ConversationSet:
    """Return an endpoint as the unit sees it, or refuse: it is not known, or was ended by its side.

    What the far side and the queue manager have done counts at once. It is to be copied before it
    is changed.
    """
    change = unit.broker.changes.get(handle) if unit.broker is not None else None
    endpoint = qm.conversations.endpoints.get(handle)
    state = endpoint.state if endpoint is not None else None
    if change is not None:
        state = change.begun or state
    if state is None:
        raise Refusal(Reason.CONVERSATION_NOT_FOUND, shown(handle))
    if change is not None:
        state = change.applied_to(state)
    if state.is_ended and not may_be_ended:
        text = "this side has ended the conversation, and the other side does not know it yet (DO)"
        raise Refusal(Reason.CONVERSATION_STATE_ERROR, shown(handle), text)
    return state


def change_of(
    qm: QueueManager, handle: bytes, unit: UnitOfWork, *, may_be_ended: bool = False
) -> EndpointChange:
    """Return what the unit does to an endpoint, to be added to, with its group locked; may raise
    LockNeeded.
    """
    check_lock(qm, handle, unit, may_be_ended=may_be_ended)
    state = state_of(qm, handle, unit, may_be_ended=may_be_ended)
    queue = catalog.that_queue(qm, state.queue)
    lock(queue, queue.groups.need(state.group), unit)
    return work_of(unit).change(handle)


def check_lock(
    qm: QueueManager, handle: bytes, unit: UnitOfWork, *, may_be_ended: bool = False
) -> None:
    """Refuse an endpoint that does not exist, and one more than a unit changes; raise LockNeeded if
    another unit has its group.
    """
    state = state_of(qm, handle, unit, may_be_ended=may_be_ended)
    queue = catalog.that_queue(qm, state.queue)
    check(queue, queue.groups.get(state.group), unit)
    check_changes(qm, unit, [handle])


def check_changes(qm: QueueManager, unit: UnitOfWork, handles: list[bytes]) -> None:
    """Refuse to change more conversations in a unit, by whatever verb, than it may have messages:
    each is recorded with the unit, in one step.
    """
    work, most = work_of(unit), qm.limits.unit_messages
    more = sum(handle not in work.changes for handle in handles)
    if len(work.changes) + more > most or len(work.undo) >= TURNS * most:
        text = f"it begins, changes and ends {most} conversations at most"
        raise Refusal(Reason.UNIT_TOO_LARGE, detail=text)


def far_of(qm: QueueManager, handle: bytes) -> int:
    """Say what has come of the far side of a conversation."""
    endpoint = qm.conversations.endpoints.get(handle)
    return endpoint.state.far if endpoint is not None else 0


def send(qm: QueueManager, request: Request, command: b.BrokerSend, unit: UnitOfWork) -> Decision:
    """SEND ON CONVERSATION: on all of the handles, or on none."""
    handles = command.handles
    if not 0 < len(handles) <= CONVERSATIONS_PER_SEND or len(set(handles)) < len(handles):
        text = f"{len(handles)} conversations: 1 to {CONVERSATIONS_PER_SEND}, each once"
        raise Refusal(Reason.OPTIONS_ERROR, detail=text)
    validation = catalog.check_type(qm, command.message_type)
    body = command.body or b""
    catalog.check_length(body)
    count = 0
    for handle in handles:
        count += catalog.held_of(_check_send(qm, handle, command.message_type, unit))
    check_changes(qm, unit, handles)
    unit_with_room(qm, request, command.unit, count, count * (len(body) + HEADER_WEIGHT))
    for handle in handles:
        change = change_of(qm, handle, unit)
        state = state_of(qm, handle, unit)
        message = message_of(structs.replace(state), command.message_type, body, validation)
        context.write_sender(qm, request, message)
        queue = catalog.that_queue(qm, state.queue)
        if queue.attributes.retention:
            catalog.retain_sent(qm, queue, unit, message, state)
        hold(unit, change, message)
    return Decision([], Done(len(handles)), qm.entry_n)


def _check_send(
    qm: QueueManager, handle: bytes, message_type: str, unit: UnitOfWork
) -> BrokerQueue:
    """Refuse what cannot be sent on a conversation; return the queue of the side that sends."""
    check_lock(qm, handle, unit)
    state = state_of(qm, handle, unit)
    far = far_of(qm, handle)
    if far in (ENDED, BROKEN):
        how = "has ended it" if far == ENDED else "has ended with an error"
        text = f"the far side of the conversation {how}: no message can be sent"
        raise Refusal(Reason.CONVERSATION_STATE_ERROR, shown(handle), text)
    if message_type in b.SYSTEM_TYPES:
        text = f"{message_type} is a type of system messages, which programs do not send"
        raise Refusal(Reason.MESSAGE_TYPE_ERROR, message_type, text)
    catalog.check_sendable(qm, state.contract, message_type, from_initiator=state.is_initiator)
    if qm.parked or qm.uncopied.is_full:
        parking.check_send(qm, state.far_service, _far_queue(qm, state))
    return catalog.that_queue(qm, state.queue)


def _far_queue(qm: QueueManager, state: ConversationSet) -> LocalQueue | None:
    """Return the queue of the far service; None: it is on another queue manager, or not known."""
    export = to_exports.export_of(state.far_queue_manager)
    if export:
        return to_exports.queue_of(qm, export)
    far = qm.conversations.at(state.conversation, not state.is_initiator)
    if far is not None:
        return catalog.that_queue(qm, far.state.queue)
    found = catalog.lookup(qm, kinds.SERVICE, state.far_service)
    if state.far_queue_manager or not isinstance(found, kinds.ServiceAttributes):
        return None
    return catalog.queue_named(qm, found.queue)


def hold(unit: UnitOfWork, change: EndpointChange, message: MessageData) -> None:
    """Keep the next message of an endpoint until the unit ends."""
    change.sent += 1
    work_of(unit).sends.add(message)
    unit.hold_send(message, weight(message))


def move(qm: QueueManager, request: Request, command: b.BrokerMove, unit: UnitOfWork) -> Decision:
    """MOVE CONVERSATION: both groups are locked."""
    check_guid(command.group, "the conversation group")
    check_lock(qm, command.handle, unit)
    state = state_of(qm, command.handle, unit)
    queue = catalog.that_queue(qm, state.queue)
    check(queue, queue.groups.get(command.group), unit)
    target = queue.groups.need(command.group)
    lock(queue, target, unit)
    change_of(qm, command.handle, unit).group = command.group
    endpoint = qm.conversations.endpoints.get(command.handle)
    if endpoint is not None:
        before = endpoint.group.ident
        queue.groups.move(endpoint, command.group)
        work_of(unit).undo.append(lambda: queue.groups.move(endpoint, before))
    return Decision([], Done(), qm.entry_n)


def set_timer(
    qm: QueueManager, request: Request, command: b.BrokerTimer, unit: UnitOfWork
) -> Decision:
    """BEGIN CONVERSATION TIMER: one a conversation; setting it again sets it anew."""
    if not 1_000 <= command.timeout_ms <= TIMEOUT_MAX_MS:
        text = f"a timeout of {command.timeout_ms} ms: it is 1 to 2147483647 seconds"
        raise Refusal(Reason.OPTIONS_ERROR, shown(command.handle), text)
    if far_of(qm, command.handle) == BROKEN:
        text = "the conversation has ended with an error"
        raise Refusal(Reason.CONVERSATION_STATE_ERROR, shown(command.handle), text)
    change_of(qm, command.handle, unit).timer_ms = request.now_ms + command.timeout_ms
    return Decision([], Done(), qm.entry_n)
