"""Which kind of queue a record's attributes describe. This module does not know what kinds do."""

from __future__ import annotations

from typing import Any

from adapter.core.attributes import broker, msmq
from adapter.core.attributes.queue import QueueAttributes
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.queue import LocalQueue


def made_of(name: str, incarnation: int, attributes: dict[str, Any]) -> LocalQueue:
    """Make a queue of the kind that its attributes say."""
    kind = attributes.get("kind")
    if kind == msmq.KIND:
        return MsmqQueue(name, incarnation, msmq.MsmqAttributes(**attributes))
    if kind == broker.KIND:
        return BrokerQueue(name, incarnation, broker.BrokerAttributes(**attributes))
    return LocalQueue(name, incarnation, QueueAttributes(**attributes))
