"""Where a name leads: to a local queue, or to the transmission queue that messages leave by.

A name is of another queue manager by a local definition of a remote queue, or because a queue
manager is named with it (MQOD.ObjectQMgrName, MQMD.ReplyToQMgr, ...). The transmission queue is
what the definition says; else the one named as the queue manager; else the queue manager's default;
else one is made, if the queue manager is known. A missing route is an answer, and no refusal: for a
message that the queue manager puts itself, it is a reason for a dead letter. This module does not
know who takes messages from there.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes.objects import AliasAttributes, RemoteAttributes
from adapter.core.attributes.queue import QueueAttributes
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.object_names import NAME
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.transmission import Transmission
from adapter.core.model.made_queues import MadeQueues
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import NoRoute, RemoteRoute, Target
from adapter.core.rules.network import topic_attributes, topic_strings
from adapter.core.rules.primitives import naming

REMOTE = "remote"


def find(qm: QueueManager, name: str, queue_manager: str, made: MadeQueues) -> Target:
    """Find the queue that a name leads to, of this queue manager or another one.

    made: takes new transmission queues.
    """
    found = route(qm, name, queue_manager, made)
    alias: AliasAttributes | None = None
    named = qm.objects.get(("alias", name)) if found is None else None
    if isinstance(named, AliasAttributes) and named.target_type == "QUEUE":
        alias = named
        found = route(qm, alias.target, "", made)
    if found is None:
        return find_local(qm, name)
    if isinstance(found, NoRoute):
        return Target(reason=found.reason)
    return _target(found.queue, alias, found.definition, found.transmission)


def find_local(qm: QueueManager, name: str) -> Target:
    """Find the local queue of a name: its own, or the target of an alias."""
    alias = qm.objects.get(("alias", name))
    if not isinstance(alias, AliasAttributes):
        queue = naming.mq_queue(qm, name)
        return Target(reason=Reason.QUEUE_NOT_FOUND) if queue is None else _target(queue)
    if alias.target_type != "QUEUE":
        return _of_topic(qm, alias)
    queue = naming.mq_queue(qm, alias.target)
    return Target(reason=Reason.UNKNOWN_ALIAS_BASE) if queue is None else _target(queue, alias)


def _target(
    queue: LocalQueue,
    alias: AliasAttributes | None = None,
    definition: RemoteAttributes | None = None,
    transmission: Transmission | None = None,
) -> Target:
    """Return a queue as the first name on the way to it says; each of them may refuse puts."""
    defaults = alias or definition
    if any(one is not None and one.inhibit_put for one in (alias, definition)):
        return Target(reason=Reason.PUT_INHIBITED, destination=queue, defaults=defaults)
    return Target(queue, transmission, destination=queue, defaults=defaults)


def _of_topic(qm: QueueManager, alias: AliasAttributes) -> Target:
    """Return what the alias of a topic leads to: no queue, but what is published there."""
    try:
        topic = topic_strings.full_string(qm, alias.target, "")
    except Refusal as refusal:
        is_missing = refusal.reason is Reason.OBJECT_NOT_FOUND
        return Target(reason=Reason.UNKNOWN_ALIAS_BASE if is_missing else refusal.reason)
    destination = topic_attributes.destination(qm, topic)
    return Target(reason=Reason.ALIAS_BASE_TYPE_ERROR, destination=destination, defaults=alias)


def route(
    qm: QueueManager, name: str, queue_manager: str, made: MadeQueues
) -> RemoteRoute | NoRoute | None:
    """Return how messages for a queue leave; None: it is a queue of this queue manager.

    queue_manager: the queue's, an alias of one, or a transmission queue; empty: as the name says.
    made: takes new transmission queues.
    """
    if queue_manager in ("", qm.name):
        definition = qm.objects.get((REMOTE, name))
        return _by_definition(qm, name, definition, made) if definition is not None else None
    alias = qm.objects.get((REMOTE, queue_manager))
    if alias is None:
        return _to(qm, Transmission(name, queue_manager), "", made)
    assert isinstance(alias, RemoteAttributes)
    if alias.remote_name or not alias.remote_queue_manager:
        text = f"{queue_manager!r} is a remote queue, and not an alias of a queue manager"
        return NoRoute(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    if alias.remote_queue_manager == qm.name:
        return route(qm, name, "", made)
    to = Transmission(name, alias.remote_queue_manager)
    return _to(qm, to, alias.transmission_queue, made)


def checked_name(qm: QueueManager, name: str, queue_manager: str) -> str:
    """Return the name of the object on which the right to open a queue is asked.

    Of a queue of another queue manager it is the one that was named with it. Where that name leads
    back here, the queue's own name counts.
    """
    return name if is_here(qm, queue_manager) else queue_manager


def is_here(qm: QueueManager, queue_manager: str) -> bool:
    """Whether the name of a queue manager, or an alias of one, means this one."""
    alias = qm.objects.get((REMOTE, queue_manager))
    if isinstance(alias, RemoteAttributes) and queue_manager != qm.name:
        return not alias.remote_name and alias.remote_queue_manager == qm.name
    return queue_manager in ("", qm.name)


def _by_definition(
    qm: QueueManager, name: str, definition: object, made: MadeQueues
) -> RemoteRoute | NoRoute:
    assert isinstance(definition, RemoteAttributes)
    other = definition.remote_queue_manager
    if not definition.remote_name:
        text = "it is an alias of a queue manager: it has no RNAME"
        return NoRoute(Reason.REMOTE_QUEUE_NAME_ERROR, name, text)
    if other in ("", qm.name):
        text = "its RQMNAME is not another queue manager"
        return NoRoute(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    to = Transmission(definition.remote_name, other)
    found = _to(qm, to, definition.transmission_queue, made, name)
    if isinstance(found, NoRoute):
        return found
    return RemoteRoute(found.queue, found.transmission, definition)


def _to(
    qm: QueueManager, to: Transmission, named: str, made: MadeQueues, name: str = ""
) -> RemoteRoute | NoRoute:
    """Find the transmission queue for a queue. named: the one to use, if any is named."""
    if not is_name(to.queue):
        text = f"no queue of queue manager {_short(to.queue_manager)!r} has this name"
        return NoRoute(Reason.REMOTE_QUEUE_NAME_ERROR, to.queue, text)
    name = name or to.queue
    other = to.queue_manager
    default = qm.attributes.default_transmission_queue
    if not named and (naming.kind_of(qm, other) is not None or other in made.queues):
        named = other
    if named or default:
        reasons = NAMED if named else DEFAULT
        queue = _transmission_queue(qm, name, named or default, reasons, made)
    elif other in qm.known_queue_managers and is_name(other):
        queue = _make(qm, name, other, made)
    else:
        text = f"it is queue {to.queue} of queue manager {_short(other)!r}, to which nothing leads"
        return NoRoute(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    return queue if isinstance(queue, NoRoute) else RemoteRoute(queue, to)


def queue_to_known(qm: QueueManager, queue_manager: str, made: MadeQueues) -> LocalQueue | None:
    """Return the transmission queue for a queue manager to which messages can leave: it is in the
    directory, or an object or the default transmission queue is there for it. None: they cannot.
    """
    if not (
        queue_manager in qm.known_queue_managers
        or naming.kind_of(qm, queue_manager) is not None
        or qm.attributes.default_transmission_queue
    ):
        return None
    found = leave_by(qm, queue_manager, made)
    return found if isinstance(found, LocalQueue) else None


def leave_by(qm: QueueManager, queue_manager: str, made: MadeQueues) -> LocalQueue | NoRoute:
    """Return the transmission queue for what has no queue's name: it may leave for a queue manager
    that is in no directory yet.
    """
    default = qm.attributes.default_transmission_queue
    if naming.kind_of(qm, queue_manager) is not None or queue_manager in made.queues:
        return _transmission_queue(qm, queue_manager, queue_manager, NAMED, made)
    if default and queue_manager not in qm.known_queue_managers:
        return _transmission_queue(qm, queue_manager, default, DEFAULT, made)
    return _make(qm, queue_manager, queue_manager, made)


NAMED = (
    Reason.UNKNOWN_TRANSMISSION_QUEUE,
    Reason.TRANSMISSION_QUEUE_TYPE_ERROR,
    Reason.TRANSMISSION_QUEUE_USAGE_ERROR,
)
DEFAULT = (
    Reason.UNKNOWN_DEFAULT_TRANSMISSION_QUEUE,
    Reason.DEFAULT_TRANSMISSION_QUEUE_TYPE_ERROR,
    Reason.DEFAULT_TRANSMISSION_QUEUE_USAGE_ERROR,
)


def _transmission_queue(
    qm: QueueManager,
    name: str,
    named: str,
    reasons: tuple[Reason, Reason, Reason],
    made: MadeQueues,
) -> LocalQueue | NoRoute:
    """Return a transmission queue by its name. name: of the queue that it is for."""
    unknown, wrong_type, wrong_usage = reasons
    queue = qm.queues.get(named) or made.queues.get(named)
    if queue is not None:
        if queue.is_transmission and not queue.is_temporary:
            return queue
        text = f"queue {named} has not USAGE(XMITQ), or is temporary"
        return NoRoute(wrong_usage, name, text)
    kind = naming.kind_of(qm, named)
    if kind is None:
        return NoRoute(unknown, name, f"transmission queue {named} does not exist")
    return NoRoute(wrong_type, name, f"{named} is of kind {kind}, and not a local queue")


def _make(
    qm: QueueManager, name: str, queue_manager: str, made: MadeQueues
) -> LocalQueue | NoRoute:
    """Make the transmission queue for a queue manager: FIFO, so that units stay together."""
    known = qm.queues.get(queue_manager) or made.queues.get(queue_manager)
    if known is not None:
        return known
    kept = naming.why_kept(qm, queue_manager)
    if kept:
        text = f"no transmission queue {queue_manager} can be made: {kept}"
        return NoRoute(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    if not made.has_room(qm):
        text = f"no transmission queue can be made: {qm.limits.queues} queues at most"
        return NoRoute(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    attributes: dict[str, Any] = {
        "description": f"for queue manager {queue_manager}",
        "usage": "XMITQ",
        "msg_delivery_sequence": "FIFO",
    }
    incarnation = naming.incarnation_of(qm, queue_manager)
    queue = LocalQueue(queue_manager, incarnation, QueueAttributes(**attributes))
    queue.begin_term(qm.numbers.first_n)
    made.add(qm, queue, attributes)
    return queue


def check_destination(to: Transmission | None) -> None:
    """Refuse a destination that a transmission-queue header names, if it is no queue's name."""
    if to is None or not is_name(to.queue) or not is_name(to.queue_manager):
        raise Refusal(Reason.REMOTE_QUEUE_NAME_ERROR, to.queue if to is not None else "")


def is_name(name: str) -> bool:
    """Whether a queue, or a queue manager, can have this name."""
    return len(name) <= NAME_LENGTH_MAX and NAME.fullmatch(name) is not None


def _short(name: str) -> str:
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[:NAME_LENGTH_MAX]}..."
