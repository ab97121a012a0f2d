"""Locks of conversation groups: taken by every verb on a conversation, held until the unit ends.

A verb that needs a group which another unit has locked waits for it. When that would make units
wait for each other in a circle, the one whose verb closes the circle is the victim: its unit is
backed out. This module does not know what a verb does with a group.
"""

from __future__ import annotations

from adapter.core.contract.broker import BrokerReceive
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.broker_unit import BrokerWork
from adapter.core.model.conversations import ConversationGroup
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.model.waiters import Waiter

LockKey = tuple[str, bytes]
"""What waits for a lock waits for: the queue's name, and the group."""


class LockNeeded(Exception):  # noqa: N818 -- it is a request, not an error
    """Another unit has the group locked. Raised before anything is changed."""

    def __init__(self, queue: BrokerQueue, group: ConversationGroup) -> None:
        super().__init__(queue.name, group.ident)
        self.queue = queue
        self.group = group

    @property
    def key(self) -> LockKey:
        """What to wait for."""
        return self.queue.name, self.group.ident


def work_of(unit: UnitOfWork) -> BrokerWork:
    """Return what a unit does to conversations."""
    if unit.broker is None:
        unit.broker = BrokerWork()
    return unit.broker


def check(queue: BrokerQueue, group: ConversationGroup | None, unit: UnitOfWork) -> None:
    """Raise LockNeeded if another unit has a group locked."""
    if group is not None and group.locked_by not in (b"", unit.ident):
        raise LockNeeded(queue, group)


def lock(queue: BrokerQueue, group: ConversationGroup, unit: UnitOfWork) -> None:
    """Lock a group that no other unit has locked until the unit ends."""
    if not group.locked_by:
        group.locked_by = unit.ident
        work_of(unit).locked.append((queue, group))


def release(qm: QueueManager, work: BrokerWork) -> None:
    """Unlock the groups of a unit that ends; waiting verbs may go on."""
    for queue, group in work.locked:
        group.locked_by = b""
        queue.groups.offer_group(group)
        queue.groups.forget(group)
        qm.waiters.wake((queue.name, group.ident))
        qm.wake(queue)
    work.locked = []


def check_circle(qm: QueueManager, request: Request, needed: LockNeeded) -> None:
    """Refuse to wait for a unit that waits, maybe through others, for this request's unit."""
    own = _unit_of(request)
    holder = needed.group.locked_by
    met: set[bytes] = set()
    while holder not in met:
        if holder == own:
            text = "its transaction and another one wait for each other's conversation groups"
            raise Refusal(Reason.DEADLOCK_VICTIM, needed.queue.attributes.display_name, text)
        met.add(holder)
        key = _lock_waited_for(qm, holder)
        if key is None:
            return
        queue = qm.queues.get(key[0])
        group = queue.groups.get(key[1]) if isinstance(queue, BrokerQueue) else None
        if group is None or not group.locked_by:
            return
        holder = group.locked_by


def _unit_of(request: Request) -> bytes:
    unit: bytes = getattr(request.command, "unit", b"")
    return unit


def _lock_waited_for(qm: QueueManager, unit: bytes) -> LockKey | None:
    """Say for which lock a unit waits, if it does."""
    for connection in qm.connections.values():
        if unit in connection.units:
            for waiter in connection.waiters.values():
                if _unit_of(waiter.request) == unit:
                    return _lock_of(qm, waiter)
    return None


def _lock_of(qm: QueueManager, waiter: Waiter) -> LockKey | None:
    """Say for which lock a verb waits. A receive within WAITFOR waits for messages and for the
    group that it is to be from.
    """
    if isinstance(waiter.key, tuple):
        return waiter.key
    command = waiter.command
    if not isinstance(waiter.key, BrokerQueue) or not isinstance(command, BrokerReceive):
        return None
    endpoint = qm.conversations.endpoints.get(command.conversation)
    group = endpoint.group.ident if endpoint is not None else command.group
    return (waiter.key.name, group) if group else None


def own_groups(queue: BrokerQueue, unit: UnitOfWork) -> list[ConversationGroup]:
    """Return the groups of a queue that a unit has locked."""
    locked = unit.broker.locked if unit.broker is not None else []
    return [group for of, group in locked if of is queue]
