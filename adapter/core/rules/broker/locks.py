"""Locks of conversation groups: taken by every verb on a conversation, held until the unit ends.

A verb that needs a group which another unit has locked waits for it. When that would make units
wait for each other in a circle, the one whose verb closes the circle is the victim: its unit is
backed out. A circle is closed by a verb that waits, or by one that has locked a group, if others of
its unit wait. Looking for a circle costs as much as units wait for each other: each wait of theirs
is looked at once. This module does not know what a verb does with a group.
"""

from __future__ import annotations

from collections.abc import Hashable

from adapter.core.contract.broker import BrokerReceive
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.broker_unit import BrokerWork
from adapter.core.model.conversations import ConversationGroup
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.model.waiters import Waiter
from adapter.core.rules.broker.commit import on_commit
from adapter.core.rules.broker.poison import rolled_back
from adapter.core.rules.broker.wakes import LockKey, lock_key
from adapter.core.rules.primitives import waiting

WAITS_MAX = 64
"""Verbs of a unit that wait, at most: each verb of the unit that is carried out looks at all of
them, and they are tried again. A program that waits for its verbs has one."""


class LockNeeded(Exception):  # noqa: N818 -- it is a request, not an error
    """Another unit has the group locked. Raised before anything is changed."""

    def __init__(self, queue: BrokerQueue, group: ConversationGroup) -> None:
        super().__init__(queue.name, group.ident)
        self.queue = queue
        self.group = group

    @property
    def key(self) -> LockKey:
        """What to wait for."""
        return lock_key(self.queue, self.group.ident)


def work_of(unit: UnitOfWork) -> BrokerWork:
    """Return what a unit does to conversations."""
    if unit.broker is None:
        unit.broker = BrokerWork(on_commit, rolled_back)
    return unit.broker


def check(queue: BrokerQueue, group: ConversationGroup | None, unit: UnitOfWork) -> None:
    """Raise LockNeeded if another unit has a group locked."""
    if group is not None and group.locked_by not in (b"", unit.ident):
        raise LockNeeded(queue, group)


def lock(queue: BrokerQueue, group: ConversationGroup, unit: UnitOfWork) -> None:
    """Lock a group that no other unit has locked until the unit ends."""
    if not group.locked_by:
        work = work_of(unit)
        queue.groups.lock(group, unit.ident, work.waits)
        work.locked.append((queue, group))


def begin_wait(
    qm: QueueManager,
    request: Request,
    unit: UnitOfWork,
    key: BrokerQueue | LockKey,
    wait_ms: int,
    names: tuple[Hashable, ...] = (),
) -> None:
    """Let a verb of a unit wait for a key; refuse if too many wait already. names: see Waiter."""
    waits = work_of(unit).waits
    waits[:] = [one for one in waits if not one.ended]
    if len(waits) >= WAITS_MAX:
        text = f"{WAITS_MAX} statements of this transaction wait already"
        raise Refusal(Reason.LIMIT_REACHED, detail=text)
    waits.append(waiting.begin_for(qm, request, key, wait_ms, names=names))


def locked_count(unit: UnitOfWork) -> int:
    """Say how many groups a unit has locked."""
    return len(unit.broker.locked) if unit.broker is not None else 0


def wake_own(qm: QueueManager, unit: UnitOfWork, served: Waiter | None = None) -> None:
    """Note that the verbs of a unit that wait may go on: another one has changed what it sees.

    served: the one that has, if it had to wait.
    """
    for waiter in unit.broker.waits if unit.broker is not None else ():
        if not waiter.ended and waiter is not served:
            qm.waiters.wake(waiter.key)


def check_circle(qm: QueueManager, unit: UnitOfWork, needed: LockNeeded) -> None:
    """Refuse to wait for a unit that waits, maybe through others, for this one."""
    _check_circle(qm, unit, needed.group, needed.queue.attributes.display_name, set())


def check_own_waits(qm: QueueManager, unit: UnitOfWork, served: Waiter | None = None) -> None:
    """Refuse what a verb of a unit has locked, if others of its verbs wait, maybe through other
    units, for this one. served: the verb, if it had to wait.
    """
    met: set[bytes] = set()
    for waiter in unit.broker.waits if unit.broker is not None else ():
        if waiter.ended or waiter is served:
            continue
        wanted = _group_of(qm, waiter)
        if wanted is not None and wanted.locked_by not in (b"", unit.ident):
            queue = _queue_of(qm, waiter)
            _check_circle(qm, unit, wanted, queue.attributes.display_name if queue else "", met)


def _check_circle(
    qm: QueueManager, unit: UnitOfWork, needed: ConversationGroup, name: str, met: set[bytes]
) -> None:
    """Refuse to wait for a group. met: the units that were looked at, and do not wait for this one;
    added to.
    """
    held = [needed]
    while held:
        group = held.pop()
        if group.locked_by == unit.ident:
            text = "its transaction and another one wait for each other's conversation groups"
            raise Refusal(Reason.DEADLOCK_VICTIM, name, text)
        if group.locked_by and group.locked_by not in met:
            met.add(group.locked_by)
            wanted = (_group_of(qm, waiter) for waiter in group.waits if not waiter.ended)
            held += (one for one in wanted if one is not None)


def _group_of(qm: QueueManager, waiter: Waiter) -> ConversationGroup | None:
    """Return the group that a verb waits for. A receive within WAITFOR waits for messages, and for
    the group that they are to be from.
    """
    command, queue = waiter.command, _queue_of(qm, waiter)
    if queue is None:
        return None
    if isinstance(waiter.key, tuple):
        return queue.groups.get(waiter.key[1])
    if not isinstance(command, BrokerReceive):
        return None
    endpoint = qm.conversations.endpoints.get(command.conversation)
    if endpoint is not None:
        return endpoint.group
    return queue.groups.get(command.group) if command.group else None


def _queue_of(qm: QueueManager, waiter: Waiter) -> BrokerQueue | None:
    """Return the queue on which a verb waits, for a group or for messages."""
    queue = qm.queues.get(waiter.key[0]) if isinstance(waiter.key, tuple) else waiter.key
    return queue if isinstance(queue, BrokerQueue) else None
