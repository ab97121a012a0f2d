"""Queues whose topics cannot be written: who is told, and when no more is taken for them.

What is put is safe in the ledger, which must keep it until it is copied; so there is a bound. There
is another one of what waits for copies to topics that can be written, because that stays in memory.
This module does not know what a topic is, nor how it is found out that it cannot be written.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.message import MessageData
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised, Record
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue

PARKED: Final = "queue_parked"
RESUMED: Final = "queue_resumed"
BEHIND: Final = "copies_behind"
CAUGHT_UP: Final = "copies_caught_up"


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
    """Refuse to take more than may wait for its copy; only persistent messages need one."""
    for message in messages:
        text = why_not(qm, queue, message)
        if text:
            raise Refusal(Reason.QUEUE_PARKED, queue.name, text)


def why_not(qm: QueueManager, queue: LocalQueue, message: MessageData) -> str:
    """Say why a queue does not take a message that must wait for its copy; "" if it does."""
    return _why_full(qm, queue) if _is_persistent(queue, message) else ""


def check_send(qm: QueueManager, service: str, queue: LocalQueue | None) -> None:
    """The same for a message to a service of Service Broker; all of these are persistent.

    queue: of the service, if that is here.
    """
    text = _why_full(qm, queue)
    if text:
        raise Refusal(Reason.QUEUE_PARKED, service, text)


def _why_full(qm: QueueManager, queue: LocalQueue | None) -> str:
    parked = qm.parked.get(queue.name) if queue is not None else None
    limit = qm.limits.parked_bytes
    if parked is not None and _is_of(parked, queue) and parked.waiting_bytes >= limit:
        return f"{parked.waiting_bytes} bytes wait, of {limit}"
    if qm.uncopied.is_full:
        limit = qm.limits.uncopied_bytes
        return f"{qm.uncopied.total} bytes of all queues wait for the movers, of {limit}"
    return ""


def set_copied(qm: QueueManager, moved_n: int, now_ms: int) -> list[Record]:
    """Take in how far the movers are; an event when too much waits for them, and when it ends."""
    uncopied = qm.uncopied
    uncopied.copied(moved_n)
    if uncopied.is_full == uncopied.is_told:
        return []
    uncopied.is_told = uncopied.is_full
    kind = BEHIND if uncopied.is_full else CAUGHT_UP
    return [EventRaised(kind, qm.name, now_ms, {"bytes": str(uncopied.total)})]


def _is_of(parked: ParkedQueue, queue: LocalQueue | None) -> bool:
    return queue is not None and parked.incarnation == queue.incarnation


def _is_persistent(queue: LocalQueue, message: MessageData) -> bool:
    if message.persistence < 0:
        return queue.attributes.def_persistence
    return bool(message.persistence)
