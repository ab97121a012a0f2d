"""From a queue of another queue manager to the transmission queue that messages for it leave by.

A name is of another queue manager by a local definition of a remote queue, or because a queue
manager is named with it (MQOD.ObjectQMgrName, MQMD.ReplyToQMgr, ...). The transmission queue is
what the definition says; else the one named as the queue manager; else the queue manager's default;
else one is made, if the queue manager is known. This module does not know who takes messages from
there.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes.objects import RemoteAttributes
from adapter.core.attributes.queue import QueueAttributes
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.object_names import NAME
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDefined, Record
from adapter.core.contract.transmission import Transmission
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import Made, RemoteRoute
from adapter.core.rules.primitives import naming

REMOTE = "remote"


def route(qm: QueueManager, name: str, queue_manager: str, made: Made) -> RemoteRoute | None:
    """Return how messages for a queue leave; None: it is a queue of this queue manager.

    queue_manager: the queue's, an alias of one, or a transmission queue; empty: as the name says.
    made: new transmission queues of this step, added to. Refuses what no transmission queue is for.
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
        raise Refusal(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    if alias.remote_queue_manager == qm.name:
        return route(qm, name, "", made)
    to = Transmission(name, alias.remote_queue_manager)
    return _to(qm, to, alias.transmission_queue, made)


def _by_definition(qm: QueueManager, name: str, definition: object, made: Made) -> RemoteRoute:
    assert isinstance(definition, RemoteAttributes)
    other = definition.remote_queue_manager
    if not definition.remote_name:
        text = "it is an alias of a queue manager: it has no RNAME"
        raise Refusal(Reason.REMOTE_QUEUE_NAME_ERROR, name, text)
    if other in ("", qm.name):
        text = "its RQMNAME is not another queue manager"
        raise Refusal(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    to = Transmission(definition.remote_name, other)
    found = _to(qm, to, definition.transmission_queue, made, name)
    return RemoteRoute(found.queue, found.transmission, definition)


def _to(qm: QueueManager, to: Transmission, named: str, made: Made, name: str = "") -> RemoteRoute:
    """Find the transmission queue for a queue. named: the one to use, if any is named."""
    if not _is_name(to.queue):
        text = f"no queue of queue manager {_short(to.queue_manager)!r} has this name"
        raise Refusal(Reason.REMOTE_QUEUE_NAME_ERROR, to.queue, text)
    name = name or to.queue
    other = to.queue_manager
    if named:
        queue = _transmission_queue(qm, name, named, NAMED, made)
    elif naming.kind_of(qm, other) is not None or other in made:
        queue = _transmission_queue(qm, name, other, NAMED, made)
    elif qm.attributes.default_transmission_queue:
        queue = _transmission_queue(
            qm, name, qm.attributes.default_transmission_queue, DEFAULT, made
        )
    elif other in qm.known_queue_managers and _is_name(other):
        queue = make_for(qm, name, other, f"for queue manager {other}", made)
    else:
        text = f"it is queue {to.queue} of queue manager {_short(other)!r}, to which nothing leads"
        raise Refusal(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    return RemoteRoute(queue, to)


def is_known(qm: QueueManager, queue_manager: str) -> bool:
    """Whether messages can leave for a queue manager: it is in the directory, or an object or the
    default transmission queue is there for it.
    """
    return (
        queue_manager in qm.known_queue_managers
        or naming.kind_of(qm, queue_manager) is not None
        or bool(qm.attributes.default_transmission_queue)
    )


def leaving_queue(qm: QueueManager, queue_manager: str, made: Made) -> LocalQueue:
    """Return the transmission queue for what has no queue's name: it may leave for a queue manager
    that nobody knows yet.
    """
    if naming.kind_of(qm, queue_manager) is not None or queue_manager in made:
        return _transmission_queue(qm, queue_manager, queue_manager, NAMED, made)
    named = qm.attributes.default_transmission_queue
    if named and queue_manager not in qm.known_queue_managers:
        return _transmission_queue(qm, queue_manager, named, DEFAULT, made)
    what = f"for queue manager {queue_manager}"
    return make_for(qm, queue_manager, queue_manager, what, made)


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
    qm: QueueManager, name: str, named: str, reasons: tuple[Reason, Reason, Reason], made: Made
) -> LocalQueue:
    """Return a transmission queue by its name, or refuse. name: of the queue that it is for."""
    unknown, wrong_type, wrong_usage = reasons
    queue = qm.queues.get(named) or made.get(named)
    if queue is not None:
        if not queue.is_transmission or queue.is_temporary:
            raise Refusal(wrong_usage, name, f"queue {named} has not USAGE(XMITQ), or is temporary")
        return queue
    kind = naming.kind_of(qm, named)
    if kind is None:
        raise Refusal(unknown, name, f"transmission queue {named} does not exist")
    raise Refusal(wrong_type, name, f"{named} is of kind {kind}, and not a local queue")


def make_for(qm: QueueManager, name: str, wanted: str, what: str, made: Made) -> LocalQueue:
    """Make a transmission queue for a queue of this name: FIFO, so that units stay together."""
    known = qm.queues.get(wanted) or made.get(wanted)
    if known is not None:
        return known
    if len(qm.queues) + len(made) >= qm.limits.queues:
        text = f"no transmission queue can be made: {qm.limits.queues} queues at most"
        raise Refusal(Reason.UNKNOWN_REMOTE_QUEUE_MANAGER, name, text)
    attributes = QueueAttributes(**_attributes(what))
    queue = LocalQueue(wanted, naming.incarnation_of(qm, wanted), attributes)
    queue.begin_term(qm.numbers.first_n)
    made[wanted] = queue
    return queue


def _attributes(what: str) -> dict[str, Any]:
    return {"description": what, "usage": "XMITQ", "msg_delivery_sequence": "FIFO"}


def definitions(made: Made) -> list[Record]:
    """Define transmission queues that are new."""
    return [
        QueueDefined(queue.name, queue.incarnation, _attributes(queue.attributes.description))
        for queue in made.values()
    ]


def check_destination(to: Transmission | None) -> None:
    """Refuse a destination that a transmission-queue header names, if it is no queue's name."""
    if to is None or not _is_name(to.queue) or not _is_name(to.queue_manager):
        raise Refusal(Reason.REMOTE_QUEUE_NAME_ERROR, to.queue if to is not None else "")


def _is_name(name: str) -> bool:
    return len(name) <= NAME_LENGTH_MAX and NAME.fullmatch(name) is not None


def _short(name: str) -> str:
    return name if len(name) <= NAME_LENGTH_MAX else f"{name[:NAME_LENGTH_MAX]}..."
