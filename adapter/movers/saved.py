"""What movers have left on Kafka: whether it fits a ledger, and removing it.

For a ledger that is restored: its movers go on from their progress, if that stands in this ledger.
It must not run while movers do.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.format import names
from adapter.format import progress as progress_format
from adapter.format.progress import NOWHERE, Progress
from adapter.ledger.port import Position
from adapter.movers.events import Events
from adapter.movers.progress import Committed
from adapter.movers.settings import MoverSettings
from adapter.movers.stream import Stream
from adapter.topics import Topics


class Saved(Struct):
    """What the movers of a queue manager have left.

    positions: up to where each has copied; orphans: topics with copies whose mover has no progress.
    topics: all that is there, the progress included.
    """

    positions: dict[str, Position]
    orphans: list[str]
    topics: list[str]


def saved(settings: MoverSettings) -> Saved:
    """Look at what is there. Raises Doubtful if Kafka does not answer."""
    manager = settings.queue_manager
    with Committed(settings) as committed:
        there = committed.topics()
        queues = [one for one in there if one.startswith(names.queue_topic(manager, ""))]
        others = [names.events_topic(manager), settings.progress_topic]
        topics = queues + [one for one in others if one in there]
        found = Saved({}, [], topics)
        copies = {Stream.name: queues, Events.name: [one for one in others[:1] if one in there]}
        partitions = {Stream.name: Stream.partition, Events.name: Events.partition}
        for mover, partition in partitions.items():
            at = _progress(committed, settings, mover, partition)
            if at is None:
                found.orphans += [one for one in copies[mover] if committed.is_any(one)]
            elif at.offset != NOWHERE:
                found.positions[mover] = Position(at.offset, at.owner, at.n)
    return found


def _progress(
    committed: Committed, settings: MoverSettings, mover: str, partition: int
) -> Progress | None:
    if settings.progress_topic not in committed.topics():
        return None
    last = committed.last(settings.progress_topic, partition, mover)
    return None if last is None else progress_format.decode(last.value() or b"")


def remove(settings: MoverSettings, found: Saved) -> None:
    """Delete all that is there: the movers then copy the whole ledger again."""
    topics = Topics(settings.bootstrap_servers, settings.topics, settings.kafka_options)
    topics.delete(found.topics)
