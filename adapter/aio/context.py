"""What the objects of one connection share: its channel, and what its program asked for.

It knows neither queues nor messages.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.aio.channel import TaskChannel
from adapter.client.schemas import Schemas


class TaskContext(Struct, frozen=True, eq=False):
    """One per connection. application: named in the messages that are put. schemas: decode the
    Avro values that are got.
    """

    channel: TaskChannel
    application: str
    schemas: Schemas
