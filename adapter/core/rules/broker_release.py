"""Held messages: delivered in their order when their queue is turned on, or their service exists,
here or at another queue manager.

A step delivers some of them; the rest is due at once. This module does not know why one was held.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.contract.message import Stored
from adapter.core.contract.records import Record
from adapter.core.model.broker_events import HeldRelease
from adapter.core.model.broker_queue import HELD, BrokerQueue
from adapter.core.model.lane import PageNeeded
from adapter.core.model.manager import QueueManager
from adapter.core.rules import broker_catalog as catalog
from adapter.core.rules.broker_delivery import BrokerDelivery, send
from adapter.core.rules.unit import Gets, commit_records

RELEASED_PER_STEP = 500


def note_due(qm: QueueManager, now_ms: int) -> None:
    """Note the queues whose messages are to be delivered further, for the step to see to."""
    for name in dict.fromkeys(one[1] for one in qm.due.releases.due(now_ms)):
        qm.step.broker_due.append(HeldRelease(name, now_ms))


def release(qm: QueueManager, queue: BrokerQueue, now_ms: int) -> list[Record]:
    """Deliver the first messages of a queue, as far as they are in memory and are held no longer.

    Where one is not, its page is asked for, and this is called again when it has come.
    """
    if HELD not in queue.name or not is_open(qm, queue):
        return []
    d = BrokerDelivery(qm, now_ms)
    found: list[Stored] = []
    try:
        for stored in queue.in_order():
            if len(found) >= RELEASED_PER_STEP:
                qm.due.releases.push((now_ms, queue.name), lambda one: one[1] in qm.queues)
                break
            found.append(stored)
    except PageNeeded as needed:
        qm.want_page(needed)
    d.releasing = queue.name
    for stored in found:
        send(d, structs.replace(stored.message, broker=stored.message.broker))
    gets: Gets = [(queue, stored) for stored in found]
    if not gets:
        return []
    ident = qm.numbers.new_message_id()
    puts = commit_records(ident, d.puts, gets, "commit", None)
    qm.step.made.update(d.all_made())
    return [*d.records_before(), *puts, *d.records_after()]


def note_restart(qm: QueueManager, now_ms: int) -> None:
    """Release what was to be released when the queue manager died, with the next step."""
    for queue in qm.queues.values():
        if isinstance(queue, BrokerQueue) and HELD in queue.name and is_open(qm, queue):
            qm.step.broker_due.append(HeldRelease(queue.name, now_ms))


def is_open(qm: QueueManager, queue: BrokerQueue) -> bool:
    """Whether messages that a queue holds can be delivered."""
    owner, _, service = queue.name.rpartition(HELD)
    if not service:
        target = qm.queues.get(owner)
        return isinstance(target, BrokerQueue) and target.attributes.status
    return (
        catalog.lookup(qm, "service", service) is not None
        or catalog.queue_manager_of(qm, service) != ""
    )
