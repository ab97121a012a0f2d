"""Pointers: objects that lead to others, and what who sets one needs on the object it leads to.

An alias, a backout queue or a subscription hands on what its target can do, to those who have
rights on the pointing object alone. So a pointer is set only by who could do that with the target
itself. IBM MQ does not ask for that. What is asked:

- of the target of an alias put, get and browse; of a topic pub and sub;
- of BOQNAME, INITQ and the queue that a feed puts to put; of the queue of an export get;
- of the transmission queue that a definition of a remote queue leads to put;
- of the place of a topic object pub and sub, as the topic objects above it grant them;
- of the queue of a service and of an event notification put; of the queue that a notification is
  about dsp or inq, where none is named, dsp of the queue manager; of the service of a route and of
  a priority chg, where none is named, of the queue manager.

It is asked when the attribute is given, and by the name of the target: it need not be there yet.
What was defined before goes on. This module does not know which right the pointing object needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adapter.core.attributes import broker as kinds
from adapter.core.attributes.objects import AliasAttributes, RemoteAttributes
from adapter.core.contract import authorities as a
from adapter.core.model.broker_queue import key_of
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import to_exports
from adapter.core.rules.network import put_rights, routes, topic_rights
from adapter.core.rules.primitives import naming
from adapter.core.rules.primitives.access import Asker

Given = dict[str, Any]
Rule = Callable[[QueueManager, Asker, str, Given], None]
"""Asks for what the attributes of an object with a name need that a command gives."""


def check(qm: QueueManager, asker: Asker, kind: str, name: str, given: Given) -> None:
    """Refuse who sets a pointer to what it has no right to.

    kind: of the pointing object; of one of Service Broker with its prefix. given: attributes.
    """
    rule = RULES.get(kind)
    if rule is not None:
        rule(qm, asker, name, given)


def _text(given: Given, name: str) -> str:
    """Return what a command gives an attribute; "" if it gives none, or no text."""
    value = given.get(name, "")
    return value if isinstance(value, str) else ""


def _queue(qm: QueueManager, asker: Asker, _: str, given: Given) -> None:
    for attribute in ("backout_requeue_queue", "initiation_queue"):
        target = _text(given, attribute)
        if target:
            put_rights.require(qm, asker, target)


def _alias(qm: QueueManager, asker: Asker, name: str, given: Given) -> None:
    if not given.keys() & {"target", "target_type"}:
        return
    known = qm.objects.get(("alias", name))
    before = known if isinstance(known, AliasAttributes) else AliasAttributes()
    target = _text(given, "target") or before.target
    if not target:
        return
    if given.get("target_type", before.target_type) == "TOPIC":
        topic_rights.require_object(qm, asker, target, a.PUBLISH | a.SUBSCRIBE)
        return
    put_rights.require(qm, asker, target, bits=a.PUT | a.GET | a.BROWSE)


def _remote(qm: QueueManager, asker: Asker, name: str, given: Given) -> None:
    """What is put by it leaves by a transmission queue, unless it means this queue manager."""
    parts = ("transmission_queue", "remote_queue_manager", "remote_name")
    if not given.keys() & set(parts):
        return
    known = qm.objects.get((routes.REMOTE, name))
    before = known if isinstance(known, RemoteAttributes) else RemoteAttributes()
    named, other, _ = (str(given.get(one, getattr(before, one))) for one in parts)
    default = qm.attributes.default_transmission_queue
    if not named and (naming.kind_of(qm, other) is not None or not default):
        named = other
    if other not in ("", qm.name):
        asker.require(a.QUEUE, named or default, a.PUT)


def _topic(qm: QueueManager, asker: Asker, name: str, given: Given) -> None:
    place = _text(given, "topic_string")
    if place:
        topic_rights.require(qm, asker, place, a.PUBLISH | a.SUBSCRIBE, but=name)


def _feed(qm: QueueManager, asker: Asker, _: str, given: Given) -> None:
    queue, topic = _text(given, "queue"), _text(given, "topic_string")
    if topic:
        topic_rights.require(qm, asker, topic, a.PUBLISH)
    if queue:
        put_rights.require(qm, asker, queue)


def _export(_: QueueManager, asker: Asker, __: str, given: Given) -> None:
    queue = _text(given, "queue")
    if queue:
        asker.require(a.QUEUE, queue, a.GET)


def _broker_queue(_: QueueManager, asker: Asker, __: str, given: Given) -> None:
    queue = _text(given, "queue")
    if queue:
        asker.require(a.QUEUE, key_of(queue), a.PUT)


def _notification(qm: QueueManager, asker: Asker, name: str, given: Given) -> None:
    """Who is told of the events of a queue may look at it; of those of all, at the queue manager,
    as for a subscription.
    """
    _broker_queue(qm, asker, name, given)
    known = qm.objects.get((kinds.PREFIX + kinds.NOTIFICATION, name))
    about = given.get("object", getattr(known, "object", ""))
    if not isinstance(about, str) or not about:
        asker.require(a.QUEUE_MANAGER, qm.name, a.DISPLAY)
    elif not asker.may_any(a.QUEUE, key_of(about), a.DISPLAY | a.INQUIRE):
        raise asker.refusal(a.QUEUE, key_of(about), a.DISPLAY | a.INQUIRE)


def _route(qm: QueueManager, asker: Asker, name: str, given: Given) -> None:
    known = qm.objects.get((kinds.PREFIX + kinds.ROUTE, name))
    service = given.get("service", getattr(known, "service", ""))
    _of_service(qm, asker, service)
    export = to_exports.export_of(_text(given, "address"))
    if export:
        asker.require("export", export, a.CHANGE)


def _priority(qm: QueueManager, asker: Asker, name: str, given: Given) -> None:
    known = qm.objects.get((kinds.PREFIX + kinds.PRIORITY, name))
    _of_service(qm, asker, given.get("local_service", getattr(known, "local_service", "")))


def _of_service(qm: QueueManager, asker: Asker, service: object) -> None:
    """Where what is for a service goes is for who may alter it; where all goes, for who may alter
    the queue manager.
    """
    if isinstance(service, str) and service:
        asker.require(a.SERVICE, service, a.CHANGE)
    else:
        asker.require(a.QUEUE_MANAGER, qm.name, a.CHANGE)


RULES: Final[dict[str, Rule]] = {
    "queue": _queue,
    "model": _queue,
    "alias": _alias,
    "remote": _remote,
    "topic": _topic,
    "feed": _feed,
    "export": _export,
    kinds.PREFIX + kinds.SERVICE: _broker_queue,
    kinds.PREFIX + kinds.NOTIFICATION: _notification,
    kinds.PREFIX + kinds.ROUTE: _route,
    kinds.PREFIX + kinds.PRIORITY: _priority,
}
"""By the kind of the pointing object. Of subscriptions: core.rules.objects.subscription_rights."""
