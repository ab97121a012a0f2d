"""Managed queues: made for a subscription, and gone with it.

A temporary one goes when both the subscription and the handle by which its program gets from it are
closed, in whatever order. This module does not know what is put there.
"""

from __future__ import annotations

import msgspec

from adapter.core.attributes.queue import ModelAttributes
from adapter.core.attributes.system import DURABLE_MODEL, NON_DURABLE_MODEL
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import QueueDeleted, Record
from adapter.core.contract.replies import Reply
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.topics import SubscriptionState
from adapter.core.rules.network import resolve
from adapter.core.rules.primitives import waiting


def make(qm: QueueManager, is_durable: bool) -> resolve.Found:
    """Make the queue of a managed subscription; it lives as long as that."""
    model = qm.objects.get(("model", DURABLE_MODEL if is_durable else NON_DURABLE_MODEL))
    attributes = msgspec.structs.asdict(model) if isinstance(model, ModelAttributes) else {}
    attributes["definition_type"] = "PERMDYN" if is_durable else "TEMPDYN"
    name = "SYSTEM.MANAGED.DURABLE.*" if is_durable else "SYSTEM.MANAGED.NDURABLE.*"
    found = resolve.make(qm, ModelAttributes(**attributes), name)
    found.queue.begin_term(qm.numbers.first_n)
    return found


def removal(qm: QueueManager, queue: LocalQueue, replies: list[Reply]) -> QueueDeleted:
    """Say that a dynamic queue goes, open or not: waits end, units let go of it."""
    replies += waiting.refuse_all(qm, queue, Reason.QUEUE_DELETED)
    for connection in qm.connections.values():
        for unit in connection.units.values():
            unit.forget(queue)
    return QueueDeleted(queue.name, logged=not queue.is_temporary)


def end_subscription(
    qm: QueueManager,
    connection: ConnectionState,
    subscription: SubscriptionState,
    replies: list[Reply],
) -> list[Record]:
    """End what a subscription's handle held: all of it, unless the subscription is durable."""
    subscription.connection = 0
    if subscription.is_durable:
        return []
    qm.topics.remove(subscription)
    queue = qm.queues.get(subscription.destination)
    if queue is None or not subscription.is_managed:
        return []
    if not queue.opens.handles:
        return [removal(qm, queue, replies)]
    for handle in connection.handles.values():
        if isinstance(handle, QueueHandle) and handle.queue is queue:
            handle.is_maker = True  # of one handle only: one close deletes the queue
            break
    return []
