"""What transcripts say of feeds: records of a topic, as a reader gives them to the queue manager.

A place is PARTITION:OFFSET. NULL is a record without a value. A reader begins where it is told to,
and gives what it is told to give, also what was put before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapter.core import inputs
from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.feeds import FedBatch, FeedStart
from adapter.core.model.manager import QueueManager
from adapter.storage.format.feeds import TopicRecord, message_of
from tests.scenarios.language import Call

if TYPE_CHECKING:
    from tests.scenarios.people import Person
    from tests.scenarios.world import World

TOPIC_ID = "topic id"
NULL = "NULL"


def begin(world: World, call: Call) -> list[str]:
    """Begin to read partitions: NAME PLACE ..."""
    name, *places = call.words

    def make(qm: QueueManager) -> inputs.Input:
        offsets = dict(map(_place, places))
        version = qm.feeds.by_name[name].version
        return inputs.FeedBegins(FeedStart(name, version, TOPIC_ID, offsets))

    return [_positions(world._driver.give(make), name)]


def feed(world: World, call: Call) -> list[str]:
    """Give records of a partition: NAME PLACE VALUE ... [key=] [size=]."""
    name, place, *values = call.words
    partition, start = _place(place)
    key = call.options.pop("key", "").encode() or None
    if "size" in call.options:
        values.append("x" * int(call.options.pop("size")))

    def make(qm: QueueManager) -> inputs.Input:
        attributes = qm.objects[FEED, name]
        assert isinstance(attributes, FeedAttributes)
        records = [
            TopicRecord(partition, start + at, key, None if value == NULL else value.encode())
            for at, value in enumerate(values)
        ]
        found = [message_of(one, attributes) for one in records]
        messages = [one for one in found if one is not None]
        version, until = qm.feeds.by_name[name].version, start + len(values)
        return inputs.Fed(FedBatch(name, version, TOPIC_ID, partition, start, until, messages))

    qm = world._driver.give(make)
    waits = [f"waits: {why}" for why in qm.feeds.by_name[name].blocked.values()]
    ended = [line for line in world._everywhere() if line != "ok"]
    return [_positions(qm, name), *waits, *ended]


def _place(text: str) -> tuple[int, int]:
    partition, _, offset = text.partition(":")
    return int(partition), int(offset)


def _positions(qm: QueueManager, name: str) -> str:
    offsets = qm.feeds.by_name[name].offsets
    return " ".join(f"{n}:{offset}" for n, offset in sorted(offsets.items())) or "no position"


def seek(_: World, __: Person, call: Call) -> c.Command:
    """Let a feed read from elsewhere: NAME TO."""
    return c.SeekFeed(call.words[0], call.words[1])


MANAGE = {"feed": feed, "read_from": begin}
