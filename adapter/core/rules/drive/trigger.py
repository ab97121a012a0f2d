"""Triggers: which trigger messages an event causes, and what becomes of them.

Events are noted by core.rules.primitives.trigger_events; when what was decided has been applied,
decide() says what follows. Trigger messages are not persistent. A trigger message that a put in a
unit caused stays with the unit until the unit ends. The put succeeds, whatever becomes of the
trigger message. core.rules.drive.trigger_conditions says when a trigger message is made.
"""

from __future__ import annotations

from typing import Final

from adapter.core.attributes.objects import ProcessAttributes
from adapter.core.contract.details import APPL_TYPE_QMGR, Details
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.records import EventRaised, QueueAltered, Record
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.trigger_event import TriggerEvent
from adapter.core.model.trigger_put import TriggerPut
from adapter.core.mq_layouts import trigger_message
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.mq_layouts.trigger_message import TriggerFields
from adapter.core.rules.drive.trigger_conditions import Situation, way
from adapter.core.rules.messages.plan import Plan, dead_letter_queue

LOST: Final = "trigger_message_lost"
NO_PROCESS: Final = ProcessAttributes(appl_type=trigger_message.APPL_TYPE_UNKNOWN)
"""For a transmission queue, where TriggerData may name a channel (condition 5)."""


def decide(qm: QueueManager, work: TriggerEvent | TriggerPut) -> list[Record]:
    """Say what follows from something that was noted; that itself may note more.

    A queue manager that is coming to its end starts no program any more: trigger messages would go
    with it, and the monitor's first open after the start makes them.
    """
    if isinstance(work, TriggerPut):
        return _put(qm, work)
    if qm.quiescing:
        return []
    return [one for queue in _queues_of(qm, work) for one in _judge(qm, work, queue)]


def _queues_of(qm: QueueManager, event: TriggerEvent) -> list[LocalQueue]:
    """Return the application queues that an event may cause trigger messages for, by name."""
    queue = event.queue
    if queue.is_deleted:  # by the very close that is the event
        return []
    found = {} if event.kind == "open" else {queue.name: queue}
    if event.kind in ("open", "alter"):
        found |= qm.initiates.get(queue.name, {})
    return [found[name] for name in sorted(found)]


def _judge(qm: QueueManager, event: TriggerEvent, queue: LocalQueue) -> list[Record]:
    """Make a trigger message for a queue if the conditions are met."""
    attributes = queue.attributes
    initiation = qm.queues.get(attributes.initiation_queue)
    process = qm.objects.get(("process", attributes.process))
    since_ms = None if queue.triggered_ms is None else qm.elapsed_ms - queue.triggered_ms
    interval_ms = qm.attributes.trigger_interval_ms
    if way(Situation(event, queue, initiation, process is not None, interval_ms, since_ms)) is None:
        return []
    assert initiation is not None, "condition 6"
    assert process is None or isinstance(process, ProcessAttributes)
    _hold(qm, event, queue, initiation, _body(queue, process))
    if attributes.trigger_type == "DEPTH" and qm.attributes.depth_trigger_disables:
        off = {"trigger_control": False}
        return [QueueAltered(queue.name, off, logged=not queue.is_temporary)]
    return []


def _body(queue: LocalQueue, process: ProcessAttributes | None) -> bytes:
    """Return the MQTM, with attributes as they are now."""
    process = process or NO_PROCESS
    return trigger_message.to_tm(
        TriggerFields(
            queue=queue.name,
            process=queue.attributes.process,
            trigger_data=queue.attributes.trigger_data,
            appl_type=process.appl_type,
            appl_id=process.appl_id,
            env_data=process.env_data,
            user_data=process.user_data,
        )
    )


def _hold(
    qm: QueueManager, event: TriggerEvent, queue: LocalQueue, initiation: LocalQueue, body: bytes
) -> None:
    """Have a trigger message put: when its unit ends, if a unit's put caused it, or else next."""
    queue.triggered_ms = qm.elapsed_ms
    message = MessageData(
        body=body,
        correlation_id=NO_ID,
        group_id=NO_ID,
        priority=initiation.attributes.def_priority,
        persistence=0,
        format=trigger_message.FORMAT,
        application=qm.name,
        details=Details(appl_type=APPL_TYPE_QMGR),
    )
    trigger = TriggerPut(queue, initiation.name, message, event.now_ms)
    if event.unit is None:
        qm.step.trigger_work.append(trigger)
        return
    is_every = queue.attributes.trigger_type == "EVERY"
    trigger.with_unit = is_every and not qm.attributes.every_triggers_on_backout
    event.unit.hold_trigger(trigger)


def _put(qm: QueueManager, trigger: TriggerPut) -> list[Record]:
    """Put a trigger message; if its queue cannot take it, on the dead-letter queue; else report it
    lost. A trigger message on an initiation queue is no event of that queue. The dead-letter
    queue's own does not go there: it would cause the next one.
    """
    message, to, plan = trigger.message, trigger.initiation, Plan(qm, trigger.now_ms)
    message.message_id = qm.numbers.new_message_id()
    message.put_time_ms, trigger.queue.triggered_ms = trigger.now_ms, qm.elapsed_ms
    reason = plan.offer(qm.queues.get(to), [message])
    if reason is not None:
        code, is_own = code_of(reason), dead_letter_queue(qm) is trigger.queue
        if is_own or plan.bury([message], to, code) is not None:
            if trigger.queue.loss_reported:
                return []  # one event, until a trigger message for the queue can be put again
            trigger.queue.loss_reported = True
            details = {"initiation_queue": trigger.initiation, "reason": str(code)}
            details["dead_letter_queue"] = qm.attributes.dead_letter_queue
            return [EventRaised(LOST, trigger.queue.name, trigger.now_ms, details)]
    trigger.queue.loss_reported = False
    return plan.record(NO_ID, is_event=reason is not None)
