"""Which kind of queue a record's attributes describe, and which programs it is for.

This module does not know what kinds do.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.core.attributes import broker, msmq
from adapter.core.attributes.queue import QueueAttributes
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.queue import LocalQueue

NOT_OF_MQ: Final = {
    MsmqQueue: "it is a queue of MSMQ; use adapter.msmq",
    BrokerQueue: "it is a queue of Service Broker; use adapter.servicebroker",
}


def why_not_of_mq(queue: LocalQueue) -> str:
    """Say why programs of MQ and the SDK may only browse a queue; empty: they use it as they like.

    A get would take a message that a transaction of MSMQ, or the conversation that it is of, still
    counts with; a put would add one that they cannot receive.
    """
    return NOT_OF_MQ.get(type(queue), "")


def made_of(name: str, incarnation: int, attributes: dict[str, Any]) -> LocalQueue:
    """Make a queue of the kind that its attributes say."""
    kind = attributes.get("kind")
    if kind == msmq.KIND:
        return MsmqQueue(name, incarnation, msmq.MsmqAttributes(**attributes))
    if kind == broker.KIND:
        return BrokerQueue(name, incarnation, broker.BrokerAttributes(**attributes))
    return LocalQueue(name, incarnation, QueueAttributes(**attributes))
