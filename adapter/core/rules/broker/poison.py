"""Poison messages: a queue whose units roll back five times in a row is turned off.

A count is of a queue: of the units that received from it and rolled back since one of them was
committed, or since the queue was turned on. A unit counts as soon as it has received, so that one
whose queue manager or connection died counts as rolled back. This module does not look at messages.
"""

from __future__ import annotations

from adapter.core.attributes.broker import ROLLBACKS_MAX
from adapter.core.contract.broker import QUEUE_DISABLED
from adapter.core.contract.records import EventRaised, QueueAltered, ReceiveNoted, Record
from adapter.core.model.broker_events import BrokerEvent, LostUnit
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.broker_unit import BrokerWork
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker.activation import note_unit_end
from adapter.core.rules.broker.wakes import wake_group, wake_receives


def end_committed(
    qm: QueueManager, work: BrokerWork, unit: bytes, received: set[str], now_ms: int
) -> list[Record]:
    """End a unit that commits. received: the queues that it takes messages from."""
    records: list[Record] = []
    for queue in _known(qm, work):
        records.append(ReceiveNoted(queue.name, unit, has_ended=True))
        if queue.attributes.rollback_count and queue.name in received:
            records.append(QueueAltered(queue.name, {"rollback_count": 0}))
    note_unit_end(qm, work, now_ms)
    _end(qm, work)
    return records


def rolled_back(qm: QueueManager, work: BrokerWork, unit: bytes, now_ms: int) -> list[Record]:
    """End a unit that is rolled back: it counts for every queue that it has received from."""
    work.take_back()
    records: list[Record] = []
    for queue in _known(qm, work):
        records += count(qm, queue, unit, now_ms)
    note_unit_end(qm, work, now_ms)
    _end(qm, work)
    return records


def _end(qm: QueueManager, work: BrokerWork) -> None:
    """Unlock the groups of a unit that ends; waiting verbs may go on."""
    for state in work.list_begun():
        qm.conversations.count_begun(state, -1)
    for queue, group in work.locked:
        queue.groups.unlock(group)
        wake_group(qm, queue, group.ident)
    work.locked = []


def _known(qm: QueueManager, work: BrokerWork) -> list[BrokerQueue]:
    return [queue for queue in work.received.values() if qm.queues.get(queue.name) is queue]


def count(qm: QueueManager, queue: BrokerQueue, unit: bytes, now_ms: int) -> list[Record]:
    """Count a unit that received from a queue and was rolled back."""
    counted = queue.attributes.rollback_count + 1
    changes: dict[str, object] = {"rollback_count": counted}
    records: list[Record] = [ReceiveNoted(queue.name, unit, has_ended=True)]
    disables = counted >= ROLLBACKS_MAX and queue.attributes.poison_message_handling
    if disables and queue.attributes.status:
        changes["status"] = False
        name = queue.attributes.display_name
        details = {"event": QUEUE_DISABLED, "queue": name, "rollback_count": str(counted)}
        records.append(EventRaised(QUEUE_DISABLED, name, now_ms, details))
        qm.step.broker_due.append(BrokerEvent(QUEUE_DISABLED, name, now_ms, details))
        wake_receives(qm, queue)
    return [*records, QueueAltered(queue.name, changes)]


def note_restart(qm: QueueManager, now_ms: int) -> None:
    """Count the units that had received when the queue manager died, with the next step."""
    for queue in qm.queues.values():
        if isinstance(queue, BrokerQueue):
            for unit in sorted(queue.receiving):
                qm.step.broker_due.append(LostUnit(queue.name, unit, now_ms))
