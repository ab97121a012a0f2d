"""What a mover needs to know of what it copies: a port, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from confluent_kafka import KafkaError, Message, Producer

from adapter.format.movable import Movable
from adapter.format.progress import Parked

if TYPE_CHECKING:
    from adapter.movers.mover import Load

Report = Callable[[KafkaError | None, Message], None]


class Cargo(Protocol):
    """What one mover copies."""

    name: str
    partition: int
    """Of the progress topic."""
    incarnations: dict[str, int]
    """Kept in the progress; stays empty if the cargo has no use for it."""
    parks: bool
    """Whether a topic that refuses is parked; else it holds everything."""

    def open(self) -> None:
        """Create the topics that must be there before anything is read."""
        ...

    def topics(self) -> list[str]:
        """List the topics that are there and hold copies, if there are any."""
        ...

    def read(self, payload: bytes) -> list[list[Movable]]:
        """Read an entry, a list for each of its records; empty for one that is not its business."""
        ...

    def is_sent(self, record: list[Movable]) -> bool:
        """Whether a record is to be produced, or else to be taken in."""
        ...

    def asks_to_settle(self, record: list[Movable]) -> bool:
        """Whether something is to be settled before a record is produced; asked once for each."""
        ...

    def take_in(self, record: list[Movable]) -> None:
        """Take in a record that is not produced."""
        ...

    def settle(self) -> dict[str, str]:
        """Do what taken-in records ask for. May be slow, may be done twice.

        Returns the topics for which it could not be done, with the reasons.
        """
        ...

    def keep_back(self, record: list[Movable], parked: dict[str, Parked]) -> list[Movable]:
        """Return what of a record goes to topics that are not parked, and count the rest there."""
        ...

    def repair(self, topic: str) -> bool:
        """See that a parked topic can be written, creating it if it is missing.

        Returns whether it was never written. Raises TopicError if it cannot be written.
        """
        ...

    def is_defined(self, topic: str) -> bool:
        """Whether what has been taken in says that copies go to this topic now."""
        ...

    def is_unwritten(self, topic: str) -> bool:
        """Whether a topic is as it was made: nothing was ever written to it."""
        ...

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:
        """Say where the copies of a record go."""
        ...

    def weight(self, record: list[Movable]) -> int:
        """Count the bytes of a record's bodies."""
        ...

    def send(
        self,
        record: list[Movable],
        producer: Producer,
        report: Report,
        load: Load,
        topics: dict[str, str] | None = None,
    ) -> None:
        """Produce a record's copies, and add them to the load. topics: where else to, by queue."""
        ...

    def last_topic(self) -> str:
        """Say which topic the copy was for whose produce failed."""
        ...
