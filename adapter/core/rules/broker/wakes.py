"""Waits of Service Broker's verbs, and what ends them.

A verb waits for a conversation group that another unit has locked, in the line of that group; or, a
receive within WAITFOR and GET CONVERSATION GROUP, for messages, in the line of the queue. It is
tried again as soon as anything has changed that its answer may depend on:

| what happens | who is tried again |
|---|---|
| a message comes, or comes back | the queue's line |
| a unit ends that has locked groups | the lines of these groups, and of their queues |
| an endpoint changes or ceases to be | the lines of its group and of its queue |
| a queue is turned OFF | receives that wait for a group of it, and the queue's line |
| a service, contract or message type is altered or dropped | verbs that name it |
| another verb of the same unit has been carried out | the verbs of the unit |

What is tried again and has no answer waits on; if it needs another group by then, in the line of
that one. This module does not know what a verb means.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.model.broker_queue import BrokerQueue, key_of
from adapter.core.model.conversations import Endpoint
from adapter.core.model.manager import QueueManager

LockKey = tuple[str, bytes]
"""What waits for a lock waits for: the queue's name, and the group."""

EVENTS: Final[LockKey] = ("events of Service Broker", b"")
"""What those wait for who wait for events."""


def lock_key(queue: BrokerQueue, group: bytes) -> LockKey:
    """Return the key of a conversation group."""
    return queue.name, group


def wake_group(qm: QueueManager, queue: BrokerQueue, group: bytes) -> None:
    """Note that a group of a queue was unlocked, or that its conversations have changed."""
    qm.waiters.wake(lock_key(queue, group))
    qm.wake(queue)


def wake_endpoint(qm: QueueManager, queue: BrokerQueue, endpoint: Endpoint) -> None:
    """Note that an endpoint has changed, or ceases to be. A unit may have moved it."""
    wake_group(qm, queue, endpoint.group.ident)
    qm.waiters.wake(lock_key(queue, endpoint.state.group))


def named_by(command: object) -> tuple[Hashable, ...]:
    """Name the objects that a verb is refused without, before it is asked for its group."""
    if isinstance(command, b.BrokerBegin):
        return (kinds.SERVICE, command.from_service), (kinds.CONTRACT, command.contract)
    if isinstance(command, b.BrokerSend):
        return ((kinds.MESSAGE_TYPE, command.message_type),)
    if isinstance(command, b.BrokerReceive):
        return ((kinds.QUEUE, key_of(command.queue)),)
    return ()


def wake_users(qm: QueueManager, kind: str, name: str) -> None:
    """Note that an object was altered or dropped: verbs that name it may be refused now."""
    qm.waiters.wake_naming((kind, name))


def wake_receives(qm: QueueManager, queue: BrokerQueue) -> None:
    """Note that a queue is turned OFF: receives that wait are refused."""
    qm.wake(queue)
    qm.waiters.wake_naming((kinds.QUEUE, queue.name))
