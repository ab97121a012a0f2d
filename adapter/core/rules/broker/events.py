"""Events of Service Broker's queues: who waits for them is answered, and notifications are put.

This module does not know what causes an event.
"""

from __future__ import annotations

from adapter.core.attributes import broker as kinds
from adapter.core.attributes.broker import NotificationAttributes
from adapter.core.contract import broker as b
from adapter.core.contract.bounds import WAIT_MAX_MS
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ConversationSet, Record
from adapter.core.contract.results import Descriptions, QueueDescription
from adapter.core.model import broker_events
from adapter.core.model.broker_queue import BrokerQueue, key_of
from adapter.core.model.conversations import ENDED
from adapter.core.model.manager import QueueManager
from adapter.core.model.waiters import Waiter
from adapter.core.rules.broker import catalog
from adapter.core.rules.broker.activation import check
from adapter.core.rules.broker.delivery import ConversationPlan, deliver
from adapter.core.rules.broker.headers import message_with
from adapter.core.rules.broker.poison import count
from adapter.core.rules.broker.release import release
from adapter.core.rules.broker.texts import event_body
from adapter.core.rules.broker.wakes import EVENTS
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision


def decide_await(qm: QueueManager, request: Request, command: b.BrokerAwaitEvent) -> Decision:
    """Return the events since a number, or wait for the next one."""
    if command.event not in b.EVENTS:
        text = f"an event is one of {', '.join(b.EVENTS)}"
        raise Refusal(Reason.OPTIONS_ERROR, command.event, text)
    if not -1 <= command.wait_ms <= WAIT_MAX_MS:
        raise Refusal(Reason.WAIT_INTERVAL_ERROR, command.event, f"{command.wait_ms} ms")
    answer = _answer(qm, command)
    if answer is not None:
        return Decision([], answer, qm.entry_n)
    if command.wait_ms == 0:
        return Decision([], Descriptions([_position(qm)]), qm.entry_n)
    if command.after < 0:
        command.after = qm.broker_events.latest
    waiting.begin_for(qm, request, EVENTS, command.wait_ms)
    return Decision([])


def serve(qm: QueueManager, waiter: Waiter) -> Decision | None:
    """Give who waits what has happened, if anything has."""
    command = waiter.request.command
    assert isinstance(command, b.BrokerAwaitEvent), "a wait for events"
    answer = _answer(qm, command)
    return Decision([], answer, qm.entry_n) if answer is not None else None


def _answer(qm: QueueManager, command: b.BrokerAwaitEvent) -> Descriptions | None:
    """Describe the events after a number, and say whether some are not known any more; None if no
    event has happened after it, or the command asks where events begin.
    """
    if command.after < 0:
        return None
    events, kind = qm.broker_events, command.event
    is_of_others = bool(command.term) and command.term != qm.numbers.term
    after = 0 if is_of_others else command.after
    term = {"term": qm.numbers.term}
    described = [
        QueueDescription(
            one.name,
            0,
            {"event": one.event, "number": one.number, "time_ms": one.time_ms}
            | {"details": one.details}
            | term,
        )
        for one in events.after(after, kind)
    ]
    if is_of_others or events.has_lost(after, kind):
        first = _position(qm)
        first.attributes |= {"missed": True}
        if described:
            first.attributes["number"] = 0
        described.insert(0, first)
    return Descriptions(described) if described else None


def _position(qm: QueueManager) -> QueueDescription:
    """Say the number to go on from."""
    attributes = {"event": "", "number": qm.broker_events.latest, "term": qm.numbers.term}
    return QueueDescription("", 0, attributes)


def decide_due(qm: QueueManager, due: broker_events.BrokerDue) -> list[Record]:
    """Do what follows from an event, count a unit that was lost, deliver what was held, or check
    whether a queue needs activation.
    """
    if isinstance(due, broker_events.HeldRelease):
        held = qm.queues.get(due.queue)
        if not isinstance(held, BrokerQueue):
            return []
        return release(qm, held, due.time_ms, goes_on=due.goes_on)
    if isinstance(due, broker_events.ActivationCheck):
        check(qm, due)
        return []
    if isinstance(due, broker_events.LostUnit):
        queue = qm.queues.get(due.queue)
        return count(qm, queue, due.unit, due.time_ms) if isinstance(queue, BrokerQueue) else []
    qm.broker_events.add(due)
    qm.waiters.wake(EVENTS)
    d = ConversationPlan(Plan(qm, due.time_ms))
    for one in catalog.notifications(qm, due.event, key_of(due.name)):
        _notify(d, one, due)
    return d.record() if d.states else []


def _notify(
    d: ConversationPlan, one: NotificationAttributes, event: broker_events.BrokerEvent
) -> None:
    """Put a message about an event to a queue, in a conversation that has only this message."""
    qm = d.qm
    queue = qm.queues.get(key_of(one.queue))
    if not isinstance(queue, BrokerQueue):
        return
    conversation, handle, group = (qm.numbers.new_guid() for _ in range(3))
    d.set(
        ConversationSet(
            handle,
            conversation,
            group,
            queue.name,
            "",
            "",
            "",
            b.NOTIFICATION_CONTRACT,
            False,
            kinds.PRIORITY_DEFAULT,
            far=ENDED,
        )
    )
    header = BrokerHeader(
        conversation=conversation,
        message_type=b.EVENT_NOTIFICATION,
        validation="X",
        contract=b.NOTIFICATION_CONTRACT,
        from_initiator=True,
    )
    deliver(d, message_with(header, event_body(qm.name, event)))
