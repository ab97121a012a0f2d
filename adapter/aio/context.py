"""What the objects of one connection share: its channel, and what its program asked for.

It knows neither queues nor messages.
"""

from __future__ import annotations

from msgspec import Struct, field

from adapter.aio.channel import TaskChannel
from adapter.aio.handles import TaskTopicHandles
from adapter.client.kept import LastUsed
from adapter.client.producing import TOPICS_MAX
from adapter.client.schemas import Schemas


def _topics() -> LastUsed[TaskTopicHandles]:
    return LastUsed(TOPICS_MAX)


class TaskContext(Struct, frozen=True, eq=False):
    """One per connection. application: named in the messages that are put. schemas: decode the
    Avro values that are got. topics: the handles of those that were produced to last.
    """

    channel: TaskChannel
    application: str
    schemas: Schemas
    topics: LastUsed[TaskTopicHandles] = field(default_factory=_topics)
