"""Activation: the event QUEUE_ACTIVATION is raised when a queue's messages need a reader.

They do when a message comes that is the only one to be received while no unit has received; or when
messages are there for some time, no program waits for them, and no receive has just found nothing.
Once the event was raised it is not raised again before a program has received from the queue, or
there is nothing more to be received: what comes after that, or comes back, has an event of its own.
A queue without activation and without a notification of the event costs nothing. This module does
not know what a reader is, nor how one is started.
"""

from __future__ import annotations

from adapter.core.contract.broker import QUEUE_ACTIVATION, BrokerGetGroup, BrokerReceive
from adapter.core.model.broker_events import ActivationCheck, BrokerEvent
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.broker_unit import BrokerWork
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import catalog

RECHECK_MS = 5_000
"""How long messages are there before readers do not keep up with them; so long, too, a receive that
found nothing says that they do."""


def note_arrival(qm: QueueManager, queue: BrokerQueue, now_ms: int) -> None:
    """Note that the step puts a message to a queue."""
    if is_watched(qm, queue):
        fresh = _note_nothing_left(queue)
        qm.step.broker_due.append(ActivationCheck(queue.name, now_ms, fresh=fresh))


def note_unit_end(qm: QueueManager, work: BrokerWork, now_ms: int) -> None:
    """Note that a unit ends, before it unlocks its groups: what these have may be received."""
    for queue in {one.name: one for one, _ in work.locked}.values():
        if is_watched(qm, queue):
            _note_nothing_left(queue)
            qm.step.broker_due.append(ActivationCheck(queue.name, now_ms))


def note_received(qm: QueueManager, queue: BrokerQueue) -> None:
    """Note that a program received messages or a group: the event may be raised again."""
    queue.activity.receives += 1
    _allow(qm, queue)


def note_empty(qm: QueueManager, queue: BrokerQueue, command: object) -> None:
    """Note that a program received, and nothing was there."""
    if is_of_any_group(command):
        queue.activity.empty_ms = qm.elapsed_ms
    _allow(qm, queue)


def _note_nothing_left(queue: BrokerQueue) -> bool:
    """Let the event be raised again if nothing can be received: messages may have gone without a
    program that received, or a unit has them locked. Returns whether it is so.
    """
    if queue.groups.next() is not None:
        return False
    queue.activity.is_raised = False
    return True


def _allow(qm: QueueManager, queue: BrokerQueue) -> None:
    if queue.activity.is_raised:
        queue.activity.is_raised = False
        _set_timer(qm, queue)


def note_restart(qm: QueueManager, now_ms: int) -> None:
    """Check every queue with the next step."""
    qm.step.broker_due.append(ActivationCheck("", now_ms, is_altered=True))


def note_due(qm: QueueManager, now_ms: int) -> None:
    """Check the queues whose time has come."""
    for _, name in qm.due.activations.due(qm.elapsed_ms):
        queue = qm.queues.get(name)
        if isinstance(queue, BrokerQueue) and queue.activity.has_timer:
            queue.activity.has_timer = False
            qm.step.broker_due.append(ActivationCheck(name, now_ms))


def check(qm: QueueManager, due: ActivationCheck) -> None:
    """Raise the event for a queue if it needs a reader, or for any queue."""
    queues = [qm.queues.get(due.queue)] if due.queue else list(qm.queues.values())
    for queue in queues:
        if isinstance(queue, BrokerQueue) and not queue.is_part:
            if due.is_altered:
                queue.activity.is_watched = None
                queue.activity.is_raised = queue.activity.is_raised and not due.queue
            _check(qm, queue, due)


def _check(qm: QueueManager, queue: BrokerQueue, due: ActivationCheck) -> None:
    state = queue.activity
    if state.is_raised or not is_unread(queue) or not is_watched(qm, queue):
        return
    fresh = due.is_altered or (due.fresh and not queue.receiving)
    if is_needed(qm, queue) and (fresh or _is_behind(qm, queue)):
        state.is_raised, state.raised_ms = True, qm.elapsed_ms
        name = queue.attributes.display_name
        details = {"event": QUEUE_ACTIVATION, "queue": name}
        qm.step.broker_due.append(BrokerEvent(QUEUE_ACTIVATION, name, due.time_ms, details))
    else:
        _set_timer(qm, queue)


def _is_behind(qm: QueueManager, queue: BrokerQueue) -> bool:
    """Whether readers do not keep up: neither was one started nor has one found nothing lately."""
    state = queue.activity
    return all(
        then_ms is None or then_ms + RECHECK_MS <= qm.elapsed_ms
        for then_ms in (state.raised_ms, state.empty_ms)
    )


def _set_timer(qm: QueueManager, queue: BrokerQueue) -> None:
    if not queue.activity.has_timer:
        queue.activity.has_timer = True
        qm.due.activations.push(
            (qm.elapsed_ms + RECHECK_MS, queue.name), lambda one: one[1] in qm.queues
        )


def is_watched(qm: QueueManager, queue: BrokerQueue) -> bool:
    """Whether a queue has activation, or an event notification for it."""
    state = queue.activity
    if state.is_watched is None:
        attributes = queue.attributes
        has_own = bool(attributes.activation_procedure) and attributes.activation_status
        state.is_watched = has_own or any(catalog.notifications(qm, QUEUE_ACTIVATION, queue.name))
    return state.is_watched


def is_unread(queue: BrokerQueue) -> bool:
    """Whether a receive of any group would find messages."""
    return queue.attributes.status and queue.groups.next() is not None


def is_needed(qm: QueueManager, queue: BrokerQueue) -> bool:
    """Whether messages could be received, and no waiting request will have them."""
    waiting = qm.waiters.waiting_for(queue)
    return is_unread(queue) and not any(is_of_any_group(one.command) for one in waiting)


def is_of_any_group(command: object) -> bool:
    """Whether a command is a RECEIVE without WHERE, or GET CONVERSATION GROUP."""
    if isinstance(command, BrokerReceive):
        return not command.conversation and not command.group
    return isinstance(command, BrokerGetGroup)
