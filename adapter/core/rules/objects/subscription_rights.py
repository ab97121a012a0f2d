"""Rights on subscriptions: what who makes, alters, resumes or deletes one needs.

A subscription puts to its queue, so who says which queue needs put there. It belongs to who made
it: others alter it with chg on its topic, and delete it with dlt. Who resumes one gets what is on
its queue: that takes get there, but of a managed queue of its own. A subscription that has no owner
is of an earlier time: its managed queue is for who may resume it, and programs may alter and delete
it as its owner.

Its copies reach their queue by the authorities of its owner: core.rules.pubsub.publish.
"""

from __future__ import annotations

from typing import Final

from adapter.core.attributes.objects import SubscriptionAttributes
from adapter.core.contract import authorities as a
from adapter.core.contract import commands as c
from adapter.core.model.handles import SubscriptionHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.topics import THE_QUEUE_MANAGER, SubscriptionState
from adapter.core.rules.network import put_rights, routes, topic_rights, topic_strings
from adapter.core.rules.primitives.access import Asker

EITHER: Final = a.SUBSCRIBE | a.RESUME


def define(qm: QueueManager, asker: Asker, command: c.DefineObject) -> None:
    """DEFINE SUB; with replace, of one that exists, ALTER SUB.

    Without replace nothing of one that exists is changed: who may make it is told that it is there.
    """
    if command.replace and command.name in qm.topics.named:
        alter(qm, asker, command)
        return
    given, default = command.attributes, SubscriptionAttributes().topic_object
    topic_object = str(given.get("topic_object", default))
    whole = topic_strings.full_string(qm, topic_object, str(given.get("topic_string", "")))
    topic_rights.require(qm, asker, whole, a.SUBSCRIBE)
    _require_destination(qm, asker, command, None)


def alter(qm: QueueManager, asker: Asker, command: c.DefineObject | c.AlterObject) -> None:
    """ALTER SUB."""
    known = qm.topics.named.get(command.name)
    if known is not None:
        is_own = _is_owner(asker, known)
        topic_rights.require(qm, asker, known.topic, a.SUBSCRIBE if is_own else a.CHANGE)
    _require_destination(qm, asker, command, known)


def delete(qm: QueueManager, asker: Asker, command: c.DeleteObject) -> None:
    """DELETE SUB."""
    known = qm.topics.named.get(command.name)
    if known is not None:
        is_own = _is_owner(asker, known)
        topic_rights.require(qm, asker, known.topic, a.SUBSCRIBE if is_own else a.DELETE)


def _require_destination(
    qm: QueueManager,
    asker: Asker,
    command: c.DefineObject | c.AlterObject,
    known: SubscriptionState | None,
) -> None:
    given = command.attributes
    if not given.keys() & {"destination", "destination_queue_manager"}:
        return
    queue = given.get("destination", known.destination if known is not None else "")
    before = known.destination_queue_manager if known is not None else ""
    manager = given.get("destination_queue_manager", before)
    if queue:
        put_rights.require(qm, asker, str(queue), str(manager))


def subscribe(qm: QueueManager, asker: Asker, command: c.Subscribe) -> None:
    """MQSUB. asker: the alternate user, if there is one."""
    known = qm.topics.named.get(command.name) if command.name else None
    if known is None:
        _create(qm, asker, command)
        return
    resumes = not command.options & c.ALTER
    bits = a.RESUME if resumes else a.SUBSCRIBE
    if not resumes and not _is_open_to(asker, known):
        bits |= a.CHANGE
    topic_rights.require(qm, asker, known.topic, bits)
    if not resumes and command.destination:
        put_rights.require(qm, asker, command.destination)
    _require_opened(qm, asker, command, known)


def _create(qm: QueueManager, asker: Asker, command: c.Subscribe) -> None:
    if not command.options & c.CREATE:
        return  # there is none: that is what the client is told
    topic = topic_strings.full_string(qm, command.topic_object, command.topic_string)
    topic_rights.require(qm, asker, topic, a.SUBSCRIBE)
    if command.options & c.MANAGED or not command.destination:
        return
    put_rights.require(qm, asker, command.destination)
    if command.queue_handle:
        asker.require(a.QUEUE, command.destination, a.GET)


def check_opened(
    qm: QueueManager, asker: Asker, command: c.Subscribe, known: SubscriptionState
) -> None:
    """Refuse who may no longer have the subscription open that a command has opened."""
    if topic_rights.missing_of(qm, asker, known.topic, EITHER) == EITHER:
        raise asker.refusal(a.TOPIC, known.topic, EITHER)
    _require_opened(qm, asker, command, known, is_open=True)


def _require_opened(
    qm: QueueManager,
    asker: Asker,
    command: c.Subscribe,
    known: SubscriptionState,
    *,
    is_open: bool = False,
) -> None:
    """Ask for the right to get from the queue that is opened with a subscription.

    is_open: the subscription is as the command has made it.
    """
    if not command.queue_handle or (known.is_managed and _is_open_to(asker, known)):
        return
    altered = "" if is_open or not command.options & c.ALTER else command.destination
    manager = "" if altered else known.destination_queue_manager
    name = routes.checked_name(qm, altered or known.destination, manager)
    asker.require(a.QUEUE, name, a.GET)


def close(qm: QueueManager, asker: Asker, command: c.CloseSubscription) -> None:
    """MQCLOSE; MQCO_REMOVE_SUB deletes a durable one."""
    handle = qm.connections[asker.connection].handles.get(command.handle)
    if not command.remove or not isinstance(handle, SubscriptionHandle):
        return
    known = handle.subscription
    if known.is_durable and not _is_open_to(asker, known):
        topic_rights.require(qm, asker, known.topic, a.DELETE)


def _is_owner(asker: Asker, known: SubscriptionState) -> bool:
    """Whether a subscription belongs to who asks."""
    owner = known.owner
    if owner in ("", THE_QUEUE_MANAGER):
        return not known.is_durable
    return not known.is_durable or asker.principal.user == owner


def _is_open_to(asker: Asker, known: SubscriptionState) -> bool:
    """Whether it does, or has no owner and a queue that is managed."""
    return _is_owner(asker, known) or (not known.owner and known.is_managed)
