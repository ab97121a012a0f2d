"""What transcripts say of exports: a topic of Kafka is opened by its name, for puts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapter.core.contract import commands as c
from tests.scenarios.language import Call

if TYPE_CHECKING:
    from tests.scenarios.people import Person
    from tests.scenarios.world import World

MODES = {"input": c.INPUT, "output": c.OUTPUT}


def open_topic(_: World, person: Person, call: Call) -> c.Command:
    """Open a topic of Kafka: TOPIC MODE ... [as=NAME] [queue=NAME]."""
    topic, *modes = call.words
    name = call.options.pop("as", topic)
    handle = person.handles.setdefault(name, len(person.handles) + 1)
    queue = call.options.pop("queue", "")
    return c.Open(handle, queue, sum(MODES[word] for word in modes), kafka_topic=topic)
