"""What topic objects say of a place in the tree of topics, and so of a publication to it.

This module does not know what is published there, nor who subscribes.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.model.destination import TopicDefaults, TopicDestination
from adapter.core.model.manager import QueueManager
from adapter.core.rules.network import topic_strings

AS_PARENT = "ASPARENT"
PRIORITY_AS_PARENT = -2
INHERITED = ("publish", "subscribe", "durable", "def_persistence")


class EffectiveAttributes(Struct):
    """What holds at a topic string, by the topic objects at and above it."""

    def_priority: int = 0
    def_persistence: str = "YES"
    publish: str = "ENABLED"
    subscribe: str = "ENABLED"
    durable: str = "YES"


def effective(qm: QueueManager, topic: str) -> EffectiveAttributes:
    """Say what holds at a topic string: of each attribute what the nearest object says of it."""
    found = EffectiveAttributes()
    open_names = {*INHERITED, "def_priority"}
    for name in topic_strings.objects_above(qm, topic):
        attributes = qm.objects["topic", name]
        for one in sorted(open_names):
            value: Any = getattr(attributes, one)
            if value not in (AS_PARENT, PRIORITY_AS_PARENT):
                setattr(found, one, value)
                open_names.remove(one)
    return found


def destination(qm: QueueManager, topic: str) -> TopicDestination:
    """Return what publications to a topic are checked against, and filled in by."""
    found = effective(qm, topic)
    return TopicDestination(
        topic,
        TopicDefaults(
            found.def_priority,
            found.def_persistence == "YES",
            inhibit_put=found.publish != "ENABLED",
        ),
    )
