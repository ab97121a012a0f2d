"""What the objects of one connection share: its channel, and what its program asked for.

It knows neither queues nor messages.
"""

from __future__ import annotations

from msgspec import Struct, field

from adapter.client.handles import TopicHandles
from adapter.client.kept import LastUsed
from adapter.client.producing import TOPICS_MAX
from adapter.client.schemas import Schemas
from adapter.connection.channel.channel import Channel


def _topics() -> LastUsed[TopicHandles]:
    return LastUsed(TOPICS_MAX)


class Context(Struct, frozen=True, eq=False):
    """One per connection. application: named in the messages that are put. schemas: of the Avro
    values that are put and decoded. topics: the handles of those that were produced to last.
    """

    channel: Channel
    application: str
    schemas: Schemas
    topics: LastUsed[TopicHandles] = field(default_factory=_topics)
