"""Absence: who has a consumer open, since when no program has, and who has been away for too long.

This module does not know what becomes of what such a consumer holds.
"""

from __future__ import annotations

from adapter.core.model.claims import DurableConsumer
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import ConsumerHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue


def note_open(connection: ConnectionState, handle: ConsumerHandle) -> None:
    """Note which connection has a consumer open."""
    handle.queue.consuming[handle.consumer] = connection.number


def note_close(qm: QueueManager, handle: ConsumerHandle, broke_off: bool) -> None:
    """Note that the consumer is no longer open.

    broke_off: its program did not close it; the connection ended.
    """
    queue = handle.queue
    if queue.consuming.pop(handle.consumer, 0) and handle.consumer in queue.consumers:
        consumer = queue.consumers[handle.consumer]
        if broke_off and not handle.may_break_off:
            for number in consumer.batches.keys() & handle.batches:
                consumer.batches[number].broke_off = True
        _note_absence(qm, queue, consumer)


def note_restart(qm: QueueManager) -> None:
    """Give every consumer its full time again: no program has any open."""
    for queue in qm.queues.values():
        for consumer in queue.consumers.values():
            _note_absence(qm, queue, consumer)


def _note_absence(qm: QueueManager, queue: LocalQueue, consumer: DurableConsumer) -> None:
    """Note since when no program has a consumer open; it is looked at when its time is over."""
    consumer.away_since_ms = qm.elapsed_ms
    end = (qm.elapsed_ms + consumer.timeout_ms, queue.name, queue.incarnation, consumer.name)
    qm.due.claims.push(end, lambda one: _who(qm, *one))


def _who(
    qm: QueueManager, ends_ms: int, name: str, incarnation: int, consumer_name: str
) -> tuple[LocalQueue, DurableConsumer] | None:
    """Return the consumer whose absence was noted; None if that one has ended."""
    queue = qm.that_queue(name, incarnation)
    consumer = queue.consumers.get(consumer_name) if queue else None
    if queue is None or consumer is None or consumer_name in queue.consuming:
        return None
    return (queue, consumer) if ends_ms == consumer.away_since_ms + consumer.timeout_ms else None


def over(qm: QueueManager) -> list[tuple[LocalQueue, DurableConsumer]]:
    """Return who has been away for too long, each once: who comes and goes is noted each time."""
    found: dict[tuple[str, str], tuple[LocalQueue, DurableConsumer]] = {}
    for end in qm.due.claims.due(qm.elapsed_ms):
        who = _who(qm, *end)
        if who is not None:
            queue, consumer = who
            found[queue.name, consumer.name] = who
    return list(found.values())
