"""Objects other than local queues: defining, altering, deleting and inquiring about them.

What they cause when a program meets them: core.rules.network.resolve, core.rules.drive.trigger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from adapter.core.attributes import broker
from adapter.core.attributes.export import EXPORT, ExportAttributes
from adapter.core.attributes.feed import FEED
from adapter.core.attributes.objects import (
    AUTO_RECEIVER,
    KAFKA_RECEIVER,
    KINDS,
    QUEUE_MANAGER,
    SUBSCRIPTION,
    TYPES,
    WITH_QUEUE_NAMES,
    ChannelAttributes,
)
from adapter.core.attributes.table import Dated, without_dates
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import SERVICE, TYPE_OF_KIND
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ObjectAltered, ObjectDefined, ObjectDeleted
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import ObjectDescription, Objects, Refused
from adapter.core.model.manager import QueueManager
from adapter.core.rules.msmq import computers
from adapter.core.rules.objects import exports, feeds, statistics
from adapter.core.rules.primitives import defaults, marks, naming, waiting
from adapter.core.rules.primitives.decision import Decision, done
from adapter.core.rules.pubsub import subscriptions, topics

CATALOG = {broker.PREFIX + kind: attributes for kind, attributes in broker.TYPES.items()}
"""The objects of Service Broker, by the kind that records say."""
LOCAL_QUEUE = "queue"
CHANNEL = "channel"
QUEUES_BUT_LOCAL = ("alias", "remote", "model")
DEFINED = tuple(kind for kind in KINDS if kind not in (LOCAL_QUEUE, QUEUE_MANAGER))
"""The kinds of which there may be many here."""


def decide_define_object(qm: QueueManager, request: c.Request, command: c.DefineObject) -> Decision:
    """DEFINE QALIAS, QREMOTE, QMODEL, PROCESS, ...; with replace an existing one is altered."""
    kind, name = command.kind, command.name
    _check_kind(kind, name, DEFINED)
    if kind == SUBSCRIPTION:
        return subscriptions.decide_define(qm, request, command)
    if (kind, name) in qm.objects and command.replace:
        altering = c.AlterObject(kind, name, command.attributes)
        return decide_alter_object(qm, request, altering)
    taken = naming.kind_of(qm, name) if kind in WITH_QUEUE_NAMES else None
    if taken or (kind, name) in qm.objects:
        raise Refusal(Reason.OBJECT_EXISTS, name, f"as {taken or kind}")
    naming.check_name(name)
    naming.check_object_room(qm, name)
    naming.check_attributes(KINDS[kind], kind, name, command.attributes)
    attributes = defaults.with_defaults(qm, kind, command.attributes)
    check = CHECKS_OF_NEW.get(kind)
    if check is not None:
        check(qm, name, attributes)
    attributes = attributes | {"created_ms": request.now_ms, "altered_ms": request.now_ms}
    return done(qm, request, [ObjectDefined(kind, name, attributes)])


def decide_alter_object(qm: QueueManager, request: c.Request, command: c.AlterObject) -> Decision:
    """ALTER QALIAS, ..., and ALTER QMGR: programs that have it open see it at once."""
    kind, name = command.kind, command.name
    _check_kind(kind, name, (*DEFINED, QUEUE_MANAGER))
    _check_there(qm, kind, name)
    naming.check_attributes(KINDS[kind], kind, name, command.attributes)
    check = CHECKS_OF_CHANGED.get(kind)
    if check is not None:
        check(qm, name, command.attributes)
    if kind == QUEUE_MANAGER:
        statistics.note_change(qm, command.attributes, request.now_ms)
    attributes = command.attributes
    if kind == QUEUE_MANAGER:
        attributes = computers.with_former(qm, attributes)
    if kind == SUBSCRIPTION:
        attributes = subscriptions.without_topic(attributes)
    if isinstance(_attributes(qm, kind, name), Dated):
        attributes = attributes | {"altered_ms": request.now_ms}
    replies = _refuse_waiting(qm, name) if kind == "alias" and attributes.get("inhibit_get") else []
    return done(qm, request, [ObjectAltered(kind, name, attributes)], 0, replies)


def _refuse_waiting(qm: QueueManager, alias: str) -> list[Reply]:
    """Refuse the gets that wait by an alias which is inhibited now."""
    attributes = qm.objects["alias", alias]
    return [
        waiting.answer(qm, waiter, Refused(Reason.GET_INHIBITED, waiter.handle.queue.name))
        for connection in qm.connections.values()
        for waiter in list(connection.waiters.values())
        if waiter.handle is not None and getattr(waiter.handle, "alias", None) is attributes
    ]


def decide_delete_object(qm: QueueManager, request: c.Request, command: c.DeleteObject) -> Decision:
    """DELETE QALIAS, ...: what is open by it stays open."""
    _check_kind(command.kind, command.name, DEFINED)
    _check_there(qm, command.kind, command.name)
    if command.kind == SUBSCRIPTION:
        return subscriptions.decide_delete(qm, request, command)
    return done(qm, request, [ObjectDeleted(command.kind, command.name)])


def decide_inquire_objects(
    qm: QueueManager, request: c.Request, command: c.InquireObjects
) -> Decision:
    """INQUIRE_PROCESS, INQUIRE_Q_MGR, ...: the objects of a kind that fit the pattern."""
    kind = command.kind
    _check_kind(kind, command.pattern, (*DEFINED, QUEUE_MANAGER))
    names = [qm.name] if kind == QUEUE_MANAGER else [name for of, name in qm.objects if of == kind]
    found = [
        _describe(kind, name, _attributes(qm, kind, name))
        for name in naming.fitting(names, command.pattern, command.system)
    ]
    return Decision([], Objects(found), qm.entry_n)


def _check_channel(qm: QueueManager, name: str, given: dict[str, Any]) -> None:
    """A receiver that says for whom it puts, and not whose messages, would protect nothing."""
    known = qm.objects.get((CHANNEL, name))
    before = known if isinstance(known, ChannelAttributes) else ChannelAttributes()
    channel = msgspec.structs.replace(before, **given)
    says = channel.mca_user or channel.put_authority != "DEF"
    named = channel.queue_manager or name in (AUTO_RECEIVER, KAFKA_RECEIVER)
    if channel.channel_type == "RCVR" and says and not named:
        text = "a receiver with MCAUSER or PUTAUT(CTX) needs QMNAME, whose messages it receives"
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, text)


def _check_queue_manager(qm: QueueManager, _name: str, given: dict[str, Any]) -> None:
    """A dead letter that is put to an alias of a topic is published: it may be lost."""
    dead = given.get("dead_letter_queue")
    if any((kind, dead) in qm.objects for kind in QUEUES_BUT_LOCAL):
        text = f"the dead-letter queue is a local queue, and {dead} is not: name a local one"
        raise Refusal(Reason.ATTRIBUTE_ERROR, qm.name, text)
    queue = qm.queues.get(dead or "")
    if queue is not None and queue.is_temporary:
        text = f"the dead-letter queue stays, and {dead} is temporary: name another queue"
        raise Refusal(Reason.ATTRIBUTE_ERROR, qm.name, text)


def _check_new_queue(qm: QueueManager, name: str, _given: dict[str, Any]) -> None:
    text = naming.why_kept(qm, name)
    if text:
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, text)


def _describe(kind: str, name: str, attributes: msgspec.Struct) -> ObjectDescription:
    given = without_dates(attributes)
    if not isinstance(attributes, Dated):
        return ObjectDescription(kind, name, given)
    return ObjectDescription(kind, name, given, attributes.created_ms, attributes.altered_ms)


def _check_kind(kind: str, name: str, kinds: tuple[str, ...]) -> None:
    if kind not in kinds:
        text = f"{kind!r} is not a kind of object; the kinds are {', '.join(kinds)}"
        raise Refusal(Reason.OBJECT_TYPE_ERROR, name, text)


def _check_there(qm: QueueManager, kind: str, name: str) -> None:
    there = name == qm.name if kind == QUEUE_MANAGER else (kind, name) in qm.objects
    if not there and kind == SUBSCRIPTION:
        raise Refusal(Reason.SUBSCRIPTION_NOT_FOUND, name)
    if not there:
        raise Refusal(Reason.OBJECT_NOT_FOUND, name, kind)


def _attributes(qm: QueueManager, kind: str, name: str) -> msgspec.Struct:
    return qm.attributes if kind == QUEUE_MANAGER else qm.objects[kind, name]


def apply_object_defined(qm: QueueManager, record: ObjectDefined) -> None:
    """Make the object."""
    made = CATALOG.get(record.kind) or TYPES[record.kind]
    attributes = qm.objects[record.kind, record.name] = made(**record.attributes)
    qm.references.add(record.name, attributes)
    topics.note_defined(qm, record)
    if record.kind == FEED:
        qm.feeds.define(record.name)
    elif isinstance(attributes, ExportAttributes):
        qm.exports[record.name] = attributes


def apply_object_altered(qm: QueueManager, record: ObjectAltered) -> None:
    """Change the attributes."""
    attributes = _attributes(qm, record.kind, record.name)
    if record.kind == topics.TOPIC:
        topics.note_gone(qm, record.kind, record.name)
    elif record.kind == FEED:
        feeds.note_alteration(qm, record)
    qm.references.remove(record.name, attributes)
    for name, value in record.attributes.items():
        setattr(attributes, name, value)
    if "mark_interval_ms" in record.attributes:
        marks.note_interval(qm)
    qm.references.add(record.name, attributes)
    topics.note_altered(qm, record.kind, record.name)


def apply_object_deleted(qm: QueueManager, record: ObjectDeleted) -> None:
    """Forget the object."""
    if record.kind == FEED:
        qm.feeds.delete(record.name)
    elif record.kind == EXPORT:
        del qm.exports[record.name]
    topics.note_gone(qm, record.kind, record.name)
    qm.references.remove(record.name, qm.objects.pop((record.kind, record.name)))
    if record.kind != SUBSCRIPTION:
        kind = record.kind.removeprefix(broker.PREFIX)
        object_type = SERVICE if kind != record.kind else TYPE_OF_KIND.get(kind, kind)
        qm.authorities.forget(object_type, record.name)


Check = Callable[[QueueManager, str, dict[str, Any]], None]
CHECKS_OF_NEW: Final[dict[str, Check]] = {
    **dict.fromkeys(QUEUES_BUT_LOCAL, _check_new_queue),
    topics.TOPIC: topics.check_place,
    FEED: feeds.check_new,
    EXPORT: exports.check_new,
    CHANNEL: _check_channel,
}
"""What the attributes of a new object must not be together, by kind."""
CHECKS_OF_CHANGED: Final[dict[str, Check]] = {
    topics.TOPIC: topics.check_place,
    CHANNEL: _check_channel,
    SUBSCRIPTION: subscriptions.check_alteration,
    FEED: feeds.check_alteration,
    EXPORT: exports.check_alteration,
    QUEUE_MANAGER: _check_queue_manager,
}
"""The same of one that is altered."""
