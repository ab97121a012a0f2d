"""The tree of topics: the topic objects and subscriptions in it, opening a topic.

This module does not know what a publication becomes, nor what a subscription is.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes.objects import (
    SUBSCRIPTION,
    SubscriptionAttributes,
    TopicAttributes,
)
from adapter.core.attributes.system import BASE_TOPIC
from adapter.core.contract.commands import CONTEXT_MODES, OUTPUT, OpenTopic, Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ObjectDefined
from adapter.core.contract.results import Done, Opened
from adapter.core.model.handles import TopicHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.selector import parse
from adapter.core.model.topics import SubscriptionState
from adapter.core.rules.network import opening, topic_strings
from adapter.core.rules.primitives.decision import Decision, connection_of

TOPIC = "topic"


def decide_open_topic(qm: QueueManager, request: Request, command: OpenTopic) -> Decision:
    """MQOPEN of a topic for output. Whether publications are taken is seen at each put."""
    connection = connection_of(qm, request)
    opening.check_numbers(qm, connection, command.topic_string, command.handle)
    if command.modes & ~CONTEXT_MODES:
        raise Refusal(Reason.OPTIONS_ERROR, command.topic_string, f"modes {command.modes}")
    topic = topic_strings.full_string(qm, command.topic_object, command.topic_string)
    modes = OUTPUT | command.modes
    connection.handles[command.handle] = TopicHandle(command.handle, topic, modes)
    opened = Opened(topic, is_topic=True) if command.topic_object else Done()
    return Decision([], opened, qm.entry_n)


def check_place(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    """Refuse a topic object at a place that another one has."""
    place = attributes.get("topic_string")
    if not place:
        return
    topic_strings.check(place)
    other = qm.topics.objects.get(place, name)
    if other != name:
        raise Refusal(Reason.OBJECT_EXISTS, name, f"topic object {other} is at {place!a}")


def _place(qm: QueueManager, name: str) -> str | None:
    """Return the place of a topic object in the tree; None: it is a pattern for others only."""
    attributes = qm.objects[TOPIC, name]
    assert isinstance(attributes, TopicAttributes)
    return attributes.topic_string if attributes.topic_string or name == BASE_TOPIC else None


def note_defined(qm: QueueManager, record: ObjectDefined) -> None:
    """Let a new topic object, or a durable subscription, be found."""
    if record.kind == TOPIC:
        place = _place(qm, record.name)
        if place is not None:
            qm.topics.objects[place] = record.name
    elif record.kind == SUBSCRIPTION:
        made = qm.step.subscribed.pop(record.name, None)
        qm.topics.add(_subscription(qm, record.name) if made is None else made)


def note_gone(qm: QueueManager, kind: str, name: str) -> None:
    """Let one that is about to go, or to be altered, be found no more."""
    if kind == TOPIC:
        place = _place(qm, name)
        if place is not None:
            qm.topics.objects.pop(place, None)
    elif kind == SUBSCRIPTION:
        qm.topics.remove(qm.topics.named[name])


def note_altered(qm: QueueManager, kind: str, name: str) -> None:
    """Let one that has been altered be found; what is open by it stays so."""
    if kind == TOPIC:
        place = _place(qm, name)
        if place is not None:
            qm.topics.objects[place] = name
    elif kind == SUBSCRIPTION:
        altered, known = _subscription(qm, name), qm.topics.named[name]
        for field in ALTERABLE:
            setattr(known, field, getattr(altered, field))


ALTERABLE = (
    "destination",
    "destination_queue_manager",
    "correlation_id",
    "user_data",
    "on_request",
    "priority",
)
"""What ALTER SUB gives another value."""


def _subscription(qm: QueueManager, name: str) -> SubscriptionState:
    attributes = qm.objects[SUBSCRIPTION, name]
    assert isinstance(attributes, SubscriptionAttributes)
    return SubscriptionState(
        ident=bytes.fromhex(attributes.ident),
        name=name,
        topic=attributes.topic_string,
        destination=attributes.destination,
        is_managed=attributes.destination_class == "MANAGED",
        is_durable=True,
        correlation_id=bytes.fromhex(attributes.correlation_id),
        user_data=attributes.user_data,
        on_request=attributes.on_request,
        level=attributes.sub_level,
        selection=attributes.selector,
        fits=parse(attributes.selector) if attributes.selector else None,
        priority=attributes.pub_priority,
        destination_queue_manager=attributes.destination_queue_manager,
        owner=attributes.owner,
    )
