"""END CONVERSATION: plainly, with an error, or with cleanup; and savepoints of a unit.

With the commit the messages of the conversation on this side's queue are gone, and the far side
learns of the end behind everything that was sent before; of an error, instead of what the unit was
to send. If that was all that was ever sent, there is no far side that could learn of it. This
module does not know how a message reaches the far side.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.contract import broker as b
from adapter.core.contract.commands import Request
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ConversationSet
from adapter.core.contract.results import Done
from adapter.core.contract.weights import weight
from adapter.core.model.conversations import OPEN, Endpoint
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.broker import catalog
from adapter.core.rules.broker.dialogs import (
    change_of,
    check_lock,
    far_of,
    hold,
    state_of,
)
from adapter.core.rules.broker.headers import message_of
from adapter.core.rules.broker.locks import work_of
from adapter.core.rules.broker.texts import error_body, shown
from adapter.core.rules.messages import context
from adapter.core.rules.messages.unit import unit_of, unit_with_room
from adapter.core.rules.primitives.decision import Decision

DESCRIPTION_LENGTH_MAX = 3_000
ERROR_MAX = 2_147_483_647
SAVEPOINTS_MAX = 1_000
SAVEPOINT_NAME_MAX = 32


def end(qm: QueueManager, request: Request, command: b.BrokerEnd, unit: UnitOfWork) -> Decision:
    """END CONVERSATION."""
    _check(command)
    check_lock(qm, command.handle, unit, may_be_ended=command.cleanup)
    before = state_of(qm, command.handle, unit, may_be_ended=command.cleanup)
    dropped = _sends_of(unit, before) if command.error is not None else []
    sent = before.sent - len(dropped)
    is_open = not command.cleanup and far_of(qm, command.handle) == OPEN
    tells = is_open and (sent > 0 or not before.is_initiator)
    last = structs.replace(before, sent=sent)
    message = _last_of(qm, request, command, unit, last, dropped) if tells else None
    change = change_of(qm, command.handle, unit, may_be_ended=command.cleanup)
    if is_open and dropped:
        _drop_sends(unit, before)
        change.sent -= len(dropped)
    if message is not None:
        hold(unit, change, message)
    change.is_ended, change.timer_ms = True, 0
    change.is_cleaned = change.is_cleaned or command.cleanup
    endpoint = qm.conversations.endpoints.get(command.handle)
    if endpoint is not None:
        catalog.that_queue(qm, before.queue).groups.hide(endpoint)
        work_of(unit).undo.append(lambda: _show(qm, endpoint))
    return Decision([], Done(), qm.entry_n)


def _sends_of(unit: UnitOfWork, state: ConversationSet) -> list[MessageData]:
    """Return what a unit was to send for a side of a conversation."""
    return work_of(unit).sends.of((state.conversation, state.is_initiator))


def _last_of(
    qm: QueueManager,
    request: Request,
    command: b.BrokerEnd,
    unit: UnitOfWork,
    state: ConversationSet,
    less: list[MessageData],
) -> MessageData:
    """Make the message by which the far side learns of the end, or refuse: the unit has no room.

    less: what is not sent then, and is not counted in the state, which is changed.
    """
    if command.error is None:
        message = message_of(state, b.END_DIALOG, b"", "E")
    else:
        message = message_of(state, b.ERROR, error_body(command.error, command.description), "X")
    more = weight(message) - sum(weight(one) for one in less)
    unit_with_room(qm, request, command.unit, 1 - len(less), more)
    context.write_sender(qm, request, message)
    return message


def _drop_sends(unit: UnitOfWork, state: ConversationSet) -> None:
    """Send nothing of what the unit was to send for a side of a conversation."""
    dropped = work_of(unit).sends.drop((state.conversation, state.is_initiator))
    unit.hold_less(dropped, sum(weight(one) for one in dropped))


def _show(qm: QueueManager, endpoint: Endpoint) -> None:
    """Let an endpoint be found that is not ended after all; it may have ceased to be."""
    state = endpoint.state
    if qm.conversations.endpoints.get(state.handle) is endpoint and not state.is_ended:
        catalog.that_queue(qm, state.queue).groups.show(endpoint)


def _check(command: b.BrokerEnd) -> None:
    handle = shown(command.handle)
    if command.error is not None and not 0 < command.error <= ERROR_MAX:
        text = f"error {command.error}: it is 1 to {ERROR_MAX}; negative ones are the system's own"
        raise Refusal(Reason.OPTIONS_ERROR, handle, text)
    if len(command.description) > DESCRIPTION_LENGTH_MAX:
        text = f"a description has at most {DESCRIPTION_LENGTH_MAX} characters"
        raise Refusal(Reason.OPTIONS_ERROR, handle, text)
    if command.error is not None and command.cleanup:
        raise Refusal(Reason.OPTIONS_ERROR, handle, "an error does not go with cleanup")


def decide_save(qm: QueueManager, request: Request, command: b.BrokerSave) -> Decision:
    """SAVE TRANSACTION."""
    unit = unit_of(qm, request, command.unit)
    work = work_of(unit)
    if not 0 < len(command.name) <= SAVEPOINT_NAME_MAX:
        text = f"a savepoint has 1 to {SAVEPOINT_NAME_MAX} characters"
        raise Refusal(Reason.NAME_ERROR, command.name, text)
    if len(work.savepoints) >= SAVEPOINTS_MAX:
        raise Refusal(Reason.LIMIT_REACHED, command.name, f"{SAVEPOINTS_MAX} savepoints at most")
    work.save(command.name, unit.mark())
    return Decision([], Done(), qm.entry_n)


def decide_rollback_to(qm: QueueManager, request: Request, command: b.BrokerRollbackTo) -> Decision:
    """ROLLBACK TRANSACTION to a savepoint: messages come back, and groups stay locked.

    It counts as no rollback of the transaction.
    """
    unit = unit_of(qm, request, command.unit)
    work = work_of(unit)
    savepoint = work.savepoints.get(command.name)
    if savepoint is None:
        text = "the transaction has no savepoint of this name"
        raise Refusal(Reason.OBJECT_NOT_FOUND, command.name, text)
    begun = list(work.list_begun())
    dropped, again = work.return_to(command.name)
    for state in begun:
        if state.handle not in work.changes:
            qm.conversations.count_begun(state, -1)
    for queue, stored in unit.return_to(savepoint.unit, dropped, again):
        qm.add_expiry(queue, stored)
        qm.wake(queue)
    return Decision([], Done(), qm.entry_n)
