"""Held messages: delivered in their order when their queue is turned on, or their service exists,
here or at another queue manager.

A step delivers some of them; the rest is due at once. What comes between two of these steps is held
behind the rest: the conversation may have an endpoint by then, whose queue would take it at once.
This module does not know why one was held.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from msgspec import structs

from adapter.core.attributes import broker as kinds
from adapter.core.contract.broker import SYSTEM_TYPES
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.records import EventRaised, QueueDeleted, Record
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import weight
from adapter.core.model.broker_events import HeldRelease
from adapter.core.model.broker_queue import HELD, PREFIX, BrokerQueue, HeldLook
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import catalog
from adapter.core.rules.broker.delivery import (
    ConversationPlan,
    is_own,
    send,
    waiting_queue,
    waits_for_export,
    way_of,
)
from adapter.core.rules.broker.to_exports import note_retry
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.primitives.step_room import StepRoom

RELEASED_PER_STEP = 500
MISSING: Final = "held_message_missing"
MISSING_AGAIN_MS: Final = 60_000


def note_due(qm: QueueManager, now_ms: int) -> None:
    """Note the queues whose messages are to be delivered further, for the step to see to."""
    goes_on = {one[1]: True for one in qm.due.releases.due(qm.elapsed_ms)}
    again = {one[1]: False for one in qm.due.retries.due(qm.elapsed_ms)}
    for name, is_further in (goes_on | again).items():
        qm.step.broker_due.append(HeldRelease(name, now_ms, is_further))


def release(
    qm: QueueManager, queue: BrokerQueue, now_ms: int, *, goes_on: bool = False
) -> list[Record]:
    """Deliver the first messages of a queue, as far as they are in memory and are held no longer.

    Where one is not, its page is asked for, and this is called again when it has come. goes_on:
    only if a release is going on, and from where it has come to.
    """
    look = queue.look if goes_on else HeldLook()
    queue.look = None
    if is_unneeded(qm, queue):
        qm.wake(queue)
        return [QueueDeleted(queue.name)]
    if look is None or HELD not in queue.name or not is_open(qm, queue):
        return []
    d = ConversationPlan(Plan(qm, now_ms), queue.name)
    found = _first(qm, d, queue, look)
    if not found:
        return []
    d.taken = {stored.place[1] for stored in found}
    for stored in found:
        header = stored.message.broker
        assert header is not None, "every message of the queue has one"
        if _is_dropped(d, header):
            continue
        send(d, structs.replace(stored.message, broker=structs.replace(header, handle=b"")))
    if len(found) == queue.available_count:
        qm.step.broker_due.append(HeldRelease(queue.name, now_ms))  # it may go
    return d.record([(queue, stored) for stored in found])


def is_unneeded(qm: QueueManager, queue: BrokerQueue) -> bool:
    """Whether a queue goes on which messages have waited for a service: none does, no conversation
    here is with the service, and neither it nor a route for it exists here.
    """
    if not queue.name.startswith(PREFIX + HELD) or queue.available_count or queue.locked_count:
        return False
    service = queue.name.removeprefix(PREFIX + HELD)
    return (
        not qm.conversations.of_far_service[service]
        and catalog.lookup(qm, kinds.SERVICE, service) is None
        and qm.references.first((kinds.ROUTE, service)) is None
    )


def _first(
    qm: QueueManager, d: ConversationPlan, queue: BrokerQueue, look: HeldLook
) -> list[Stored]:
    """Return the first messages of a queue that may leave it. All of a conversation go the way of
    its first one.
    """
    found: list[Stored] = []
    ways: dict[tuple[bytes, bool], str | None] = dict.fromkeys(look.waiting)
    leaving = Counter[str]()
    room = StepRoom(RELEASED_PER_STEP)
    waits_for_service = queue.name.startswith(PREFIX + HELD)
    try:
        for stored in queue.in_order_after(look.after) if look.after else queue.in_order():
            if room.is_over:
                queue.look = look
                qm.due.releases.push((qm.elapsed_ms, queue.name), lambda one: one[1] in qm.queues)
                break
            header = stored.message.broker
            assert header is not None, "every message of the queue has one"
            side = header.conversation, header.from_initiator
            if side not in ways:
                ways[side] = way_of(d, header) if waits_for_service else ""
            way = ways[side]
            if way and waits_for_export(d, way, stored.message, leaving[way]):
                way = ways[side] = None
                note_retry(qm, queue.name)
            if way is None:
                look.waiting.add(side)
            else:
                found.append(stored)
                room.take(weight(stored.message))
                leaving[way] += header.message_type not in SYSTEM_TYPES
            look.after = stored.place
    except PageNeeded as needed:
        queue.look = look
        qm.want_page(needed)
    return found


def postpone_missing(qm: QueueManager, queue: BrokerQueue, now_ms: int) -> list[Record]:
    """A held message is not on its topic: look for it again later. What comes meanwhile is held
    behind it, so that its conversation keeps its order.
    """
    if queue.look is None:
        return []
    again_ms = qm.elapsed_ms + MISSING_AGAIN_MS
    qm.due.retries.push((again_ms, queue.name), lambda one: one[1] in qm.queues)
    return [EventRaised(MISSING, queue.name, now_ms, {"waiting": str(queue.available_count)})]


def _is_dropped(d: ConversationPlan, header: BrokerHeader) -> bool:
    """Whether the endpoint here that has sent a message is over."""
    return (
        d.releasing == waiting_queue(header.service)
        and is_own(d, header)
        and d.side(header.conversation, True) is None
    )


def note_known(qm: QueueManager) -> None:
    """Deliver with the next tick what waits for services: other queue managers are known."""
    for name in qm.queues:
        if name.startswith(PREFIX + HELD):
            qm.due.retries.push((0, name), lambda one: one[1] in qm.queues)


def note_restart(qm: QueueManager, now_ms: int) -> None:
    """Release what was to be released when the queue manager died, with the next step. What earlier
    releases have left behind goes.
    """
    for queue in qm.queues.values():
        if isinstance(queue, BrokerQueue) and (
            is_unneeded(qm, queue) or (HELD in queue.name and is_open(qm, queue))
        ):
            qm.step.broker_due.append(HeldRelease(queue.name, now_ms))


def is_open(qm: QueueManager, queue: BrokerQueue) -> bool:
    """Whether messages that a queue holds can be delivered."""
    if queue.name.startswith(PREFIX + HELD):
        return queue.available_count > 0
    target = qm.queues.get(queue.name.removesuffix(HELD))
    return isinstance(target, BrokerQueue) and target.attributes.status
