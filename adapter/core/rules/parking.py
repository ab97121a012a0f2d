"""Queues whose topics cannot be written: who is told, and when no more is taken for them.

What is put is safe in the ledger, which must keep it until it is copied; so there is a bound. This
module does not know what a topic is, nor how it is found out that it cannot be written.
"""

from __future__ import annotations

from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised, Record
from adapter.core.model.manager import ParkedQueue, QueueManager
from adapter.core.model.queue import LocalQueue

PARKED = "queue_parked"
RESUMED = "queue_resumed"


def set_parked(qm: QueueManager, found: dict[str, ParkedQueue], now_ms: int) -> list[Record]:
    """Take in what is parked now; an event for each queue that was not, or is no more."""
    before, qm.parked = qm.parked, found
    records: list[Record] = []
    for name, parked in found.items():
        if name not in before and _is_of(parked, qm.queues.get(name)):
            records.append(EventRaised(PARKED, name, now_ms, {"why": parked.why}))
    over = [name for name in before if name not in found and name in qm.queues]
    return records + [EventRaised(RESUMED, name, now_ms, {}) for name in over]


def check_put(qm: QueueManager, queue: LocalQueue, messages: list[MessageData]) -> None:
    """Refuse to take more for a topic that cannot be written; only persistent messages need it."""
    parked = qm.parked.get(queue.name)
    if parked is None or not _is_of(parked, queue):
        return
    limit = qm.limits.parked_bytes
    if parked.waiting_bytes >= limit and any(_is_persistent(queue, one) for one in messages):
        raise Refusal(
            Reason.QUEUE_PARKED, queue.name, f"{parked.waiting_bytes} bytes wait, of {limit}"
        )


def _is_of(parked: ParkedQueue, queue: LocalQueue | None) -> bool:
    return queue is not None and parked.incarnation == queue.incarnation


def _is_persistent(queue: LocalQueue, message: MessageData) -> bool:
    if message.persistence < 0:
        return queue.attributes.def_persistence
    return bool(message.persistence)
