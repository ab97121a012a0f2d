"""What a mover copies, and to where: ports, and nothing else.

A Projection turns entries of the ledger into records of topics. One that writes to many topics,
which are created and deleted as the ledger says, is parkable: a topic that refuses is left out
while the others go on (movers.parking). One with a single topic is not: it holds its mover.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from confluent_kafka import KafkaError, Message, Producer

from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import Parked
from adapter.storage.movers.batch import CopyBatch

OnDelivery = Callable[[KafkaError | None, Message], None]


class Projection(Protocol):
    """What one mover copies. A record of the ledger is a list of what it moves."""

    name: str
    """The mover's name: of its progress, its transactional ids and its figures."""
    patience_s: float
    """Under load, how long the ledger may stay unread: its copies come late by as much."""

    @property
    def parkable(self) -> ParkableProjection | None:
        """Itself, if its topics can be parked; else None."""

    def open(self) -> None:
        """Create the topics that must exist before anything is read."""

    def topics(self) -> list[str]:
        """List the existing topics that may hold copies."""

    def read(self, payload: bytes) -> list[list[Movable]]:
        """Read an entry: a list for each of its records, empty if nothing of it is copied."""

    def partitions(self, record: list[Movable]) -> set[tuple[str, int]]:
        """Return the partitions to which the copies of a record go."""

    def identities(self, record: list[Movable]) -> list[tuple[tuple[str, int], object]]:
        """Return what tells each copy of a record from others on its partition, by partition.

        Records are to be given in order, those too that are not copied.
        """

    def identity(self, copied: Message) -> object | None:
        """Return the same of a record of a topic; None if it is no copy."""

    def send(
        self, record: list[Movable], producer: Producer, report: OnDelivery, batch: CopyBatch
    ) -> None:
        """Produce a record's copies, and count them in the batch."""

    def last_topic(self) -> str:
        """Return the topic of the copy whose produce call failed."""


class ParkableProjection(Projection, Protocol):
    """A projection to many topics, of which each can be parked."""

    incarnations: dict[str, int]
    """Of the queues whose name was used before; kept in the progress."""

    def is_sent(self, record: list[Movable]) -> bool:
        """Whether a record is copied; if not, take_in() is called with it."""

    def needs_topics(self, record: list[Movable]) -> bool:
        """Whether a record needs topics that settle() creates; called once for each record."""

    def take_in(self, record: list[Movable]) -> None:
        """Follow a record that is not copied: a queue was defined or deleted."""

    def settle(self) -> dict[str, str]:
        """Create the topics that are needed. May be slow; repeating it is harmless.

        Returns the topics that could not be created, each with the reason.
        """

    def keep_back(self, record: list[Movable], parked: dict[str, Parked]) -> list[Movable]:
        """Return the part of a record that goes to topics that are not parked; count the rest."""

    def send_to(
        self,
        topic: str,
        record: list[Movable],
        producer: Producer,
        report: OnDelivery,
        batch: CopyBatch,
    ) -> None:
        """Produce copies of one queue to this topic, whichever topic the queue has now."""

    def weight(self, record: list[Movable]) -> int:
        """Return the bytes of a record's bodies."""

    def repair(self, topic: str) -> bool:
        """Check that a parked topic can be written, and create it if it is missing.

        Returns whether it was never written. Raises TopicError if it cannot be written.
        """

    def is_defined(self, topic: str) -> bool:
        """Whether copies go to this topic now, by the records taken in so far."""

    def goes_to(self, record: list[Movable], topics: Collection[str]) -> str:
        """Return one of these topics to which a record is copied, or ""."""

    def is_unwritten(self, topic: str) -> bool:
        """Whether nothing was ever written to a topic that refused what was sent to it."""

    def is_new(self, topic: str) -> bool:
        """Whether nothing was ever written to a topic that settle() could not create.

        It may exist all the same, and hold copies. Asks Kafka; raises Doubtful.
        """
