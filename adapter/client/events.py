"""Events: what a queue manager reports of itself and its queues, for programs that watch it.

They are on a topic of the queue manager's Kafka, and are read there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from adapter.connection.channel.arguments import EPOCH
from adapter.connection.channel.books import ChannelBooks
from adapter.errors import KafkaNotAvailable


class Event(Struct, frozen=True):
    """Something that happened. kind, details: see "Events" in docs/operations/monitoring.md.

    name: of the object that it happened to. time_ms: when, in ms since 1970.
    """

    kind: str
    name: str
    time_ms: int
    details: dict[str, str]

    @property
    def time(self) -> datetime:
        """When it happened, in UTC."""
        return EPOCH + timedelta(milliseconds=self.time_ms)


def read_events(
    channel: ChannelBooks,
    wait_ms: int,
    options: Mapping[str, str],
    is_ended: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """Give the events of the queue manager; see Connection.events().

    is_ended: asked while nothing comes; the iteration ends when it is so.
    """
    if not channel.kafka:
        raise KafkaNotAvailable(
            f"queue manager {channel.queue_manager} is in memory: it has no topic of events"
        )
    from adapter.storage.topics.events import EventReader  # noqa: PLC0415 -- loads a Kafka client

    with EventReader(channel.queue_manager, channel.kafka, options) as reader:
        for event in reader.read(wait_ms, is_ended):
            yield Event(event.kind, event.name, event.time_ms, event.details)
