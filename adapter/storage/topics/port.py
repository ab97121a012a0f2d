"""What others see of queue topics: pages of messages read back, and consumed messages deleted.

Ports, and the data that pass through them. This module knows no Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from adapter.core.contract.message import MessageData
from adapter.core.contract.pages import Paged
from adapter.storage.format import descriptor

LaneKey = tuple[str, int, int]
"""Queue, incarnation, lane: one partition of one topic."""
ALL = 2**62
"""Behind every message of a lane: of a queue that was deleted."""


class PagesUnavailableError(Exception):
    """A page could not be read now; the text names the topic and the reason."""


class MessageMissingError(PagesUnavailableError):
    """Kafka answers, and the first message of the page is not on the topic."""


class Page(Struct):
    """All messages of a lane from the one asked for to seq through."""

    through: int
    messages: list[Paged]


def paged(message: MessageData, at: descriptor.UnitPosition) -> Paged:
    """Make the form in which core takes a message that was read from its topic."""
    return Paged(
        seq=at.seq,
        message=message,
        unit=at.unit,
        unit_index=at.unit_index,
        unit_size=at.unit_size,
        queue_unit_index=at.queue_unit_index,
        queue_unit_size=at.queue_unit_size,
    )


class PageReader(Protocol):
    """Reads messages back from their topics. Blocking; from any thread, one read after another."""

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        """Read some messages of a lane from seq on, at least that one, about count at most.

        Raises PagesUnavailableError; MessageMissingError if Kafka answers without the message.
        """

    def rest(self) -> None:
        """Keep and fetch nothing until the next read: nothing has been read for a while."""

    def close(self) -> None:
        """Close the connections, soon; idempotent. Nothing is read any more."""


class Trimmed(Struct):
    """The outcome of trimming lanes.

    offsets: how many records were deleted, markers of transactions included. undone: the lanes that
    need another attempt, each with the reason; the reason is "" if time ran out. topics: how many
    were deleted as a whole.
    """

    offsets: int = 0
    undone: dict[LaneKey, str] = {}
    topics: int = 0


class Trimmer(Protocol):
    """Deletes consumed messages from the queues' topics."""

    def trim(self, lanes: Mapping[LaneKey, int]) -> Trimmed:
        """Delete whole messages of each lane: those before the seq of the lane. Blocking, bounded.

        Before ALL: the topic is deleted, because its queue was. Messages or topics that do not
        exist any more are no failure.
        """
