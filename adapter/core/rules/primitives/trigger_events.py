"""Trigger events: what may cause a trigger message is noted here, by the rule that decides it.

core.rules.drive.trigger decides what follows, when what was decided has been applied. This module
does not know the conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.contract.message import MessageData
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.trigger_event import TriggerEvent
from adapter.core.model.unit import UnitOfWork

EVENT_ATTRIBUTES: Final = frozenset(
    name for name, row in QUEUE_ATTRIBUTES.items() if row.attribute.is_trigger_event
)


def note_put(
    qm: QueueManager,
    queue: LocalQueue,
    message: MessageData,
    now_ms: int,
    unit: UnitOfWork | None = None,
    stored: int = 1,
    ahead: int = 0,
) -> None:
    """Note that a message is put, before the queue counts it.

    unit: holds it. stored: the segments of one message count as so many, and cause one event. A
    delayed message is no event before it is due. ahead: how many that count for triggers are put
    before it, in the same step.
    """
    if not queue.attributes.trigger_control or message.destination:
        return
    event = TriggerEvent(
        kind="put",
        queue=queue,
        now_ms=now_ms,
        priority=message.priority,
        before=queue.trigger_count() + ahead,
        stored=stored,
        unit=unit,
    )
    qm.step.trigger_work.append(event)


def note_together(
    qm: QueueManager, puts: Iterable[tuple[LocalQueue, MessageData, int]], now_ms: int
) -> None:
    """Note that messages are put in one step, in this order: with each how many are stored."""
    ahead: dict[str, int] = {}
    for queue, message, stored in puts:
        attributes, name = queue.attributes, queue.name
        if not attributes.trigger_control:
            continue
        note_put(qm, queue, message, now_ms, stored=stored, ahead=ahead.get(name, 0))
        if message.priority >= attributes.trigger_msg_priority and not message.destination:
            ahead[name] = ahead.get(name, 0) + stored


def note_open(qm: QueueManager, queue: LocalQueue, now_ms: int) -> None:
    """Note that a queue has been opened for input."""
    if queue.name in qm.initiates:
        inputs = queue.opens.input
        qm.step.trigger_work.append(
            TriggerEvent(kind="open", queue=queue, now_ms=now_ms, inputs=inputs)
        )


def note_close(qm: QueueManager, queue: LocalQueue, now_ms: int) -> None:
    """Note that a handle has been closed that had a queue open for input."""
    if queue.attributes.trigger_control:
        event = TriggerEvent(kind="close", queue=queue, now_ms=now_ms, inputs=queue.opens.input)
        qm.step.trigger_work.append(event)


def note_change(
    qm: QueueManager, queue: LocalQueue, attributes: dict[str, Any], now_ms: int
) -> None:
    """Note that attributes are about to take these values."""
    was = {
        name: before
        for name in EVENT_ATTRIBUTES.intersection(attributes)
        if (before := getattr(queue.attributes, name)) != attributes[name]
    }
    if was:
        qm.step.trigger_work.append(TriggerEvent(kind="alter", queue=queue, now_ms=now_ms, was=was))
