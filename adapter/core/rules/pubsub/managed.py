"""Managed queues: made for a subscription, and gone with it.

A temporary one goes when both the subscription and the last handle of the queue are closed, in
whatever order, and whichever connections opened them. This module does not know what is put there.
"""

from __future__ import annotations

import msgspec

from adapter.core.attributes.queue import ModelAttributes
from adapter.core.attributes.system import DURABLE_MODEL, NON_DURABLE_MODEL
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.topics import SubscriptionState
from adapter.core.rules.messages import delays
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


def queue_of(qm: QueueManager, subscription: SubscriptionState) -> LocalQueue | None:
    """Return the queue that goes with a subscription; None if it has none, or it was deleted.

    What has been defined under its name since is a queue of an administrator's.
    """
    queue = qm.queues.get(subscription.destination) if subscription.is_managed else None
    if queue is None or queue.attributes.definition_type == "PREDEFINED":
        return None
    return queue


def removal(qm: QueueManager, queue: LocalQueue, replies: list[Reply]) -> list[Record]:
    """Say that a dynamic queue goes, open or not: waits end, units let go of it."""
    replies += waiting.refuse_all(qm, queue, Reason.QUEUE_DELETED)
    for connection in qm.connections.values():
        for unit in connection.units.values():
            unit.forget(queue)
    return delays.deletion(qm, queue)


def end_subscription(
    qm: QueueManager, subscription: SubscriptionState, replies: list[Reply]
) -> list[Record]:
    """End what a subscription's handle held: all of it, unless the subscription is durable."""
    subscription.connection = 0
    if subscription.is_durable:
        return []
    qm.topics.remove(subscription)
    queue = queue_of(qm, subscription)
    if queue is None:
        return []
    if not queue.opens.handles:
        return removal(qm, queue, replies)
    queue.goes_unopened = True
    return []
