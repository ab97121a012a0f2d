"""Whole topic strings: of a topic object, and of what a program adds to it.

This module does not know what is published there.
"""

from __future__ import annotations

from adapter.core.attributes.objects import TopicAttributes
from adapter.core.attributes.table import TOPIC_STRING_LENGTH_MAX
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.topic_strings import ANY, SEPARATOR, levels
from adapter.core.model.manager import QueueManager

LEVELS_MAX = 256
"""Each is a node of the tree; and a topic of a thousand levels is a mistake."""
ANY_MAX = 8
"""Levels '#' of one topic string: for each of them, a publication is looked at from each of its
levels on."""


def full_string(qm: QueueManager, topic_object: str, topic_string: str) -> str:
    """Return a whole topic string: an object's, a '/' and what is given, or one of them alone."""
    above = ""
    if topic_object:
        attributes = qm.objects.get(("topic", topic_object))
        if attributes is None:
            raise Refusal(Reason.OBJECT_NOT_FOUND, topic_object, "topic")
        assert isinstance(attributes, TopicAttributes)
        above = attributes.topic_string
    topic = SEPARATOR.join(part for part in (above, topic_string) if part)
    check(topic)
    return topic


def objects_above(qm: QueueManager, topic: str) -> list[str]:
    """Return the names of the topic objects at and above a topic string, the nearest first."""
    objects = qm.topics.objects
    found = []
    while True:
        if topic in objects:
            found.append(objects[topic])
        if not topic:
            return found
        topic = topic.rpartition(SEPARATOR)[0]


def check(topic: str) -> None:
    """Refuse what is not a topic string (MQRC_TOPIC_STRING_ERROR)."""
    if not topic:
        raise Refusal(Reason.TOPIC_STRING_ERROR, "", "a topic string has at least one character")
    if len(topic) > TOPIC_STRING_LENGTH_MAX or "\0" in topic:
        text = f"it has at most {TOPIC_STRING_LENGTH_MAX} characters, and no zeros"
        raise Refusal(Reason.TOPIC_STRING_ERROR, topic, text)
    found = levels(topic)
    if len(found) > LEVELS_MAX:
        raise Refusal(Reason.TOPIC_STRING_ERROR, topic, f"it has more than {LEVELS_MAX} levels")
    if found.count(ANY) > ANY_MAX:
        text = f"it has more than {ANY_MAX} levels {ANY}"
        raise Refusal(Reason.TOPIC_STRING_ERROR, topic, text)
