"""Where a message is put to, as far as it is checked and filled in: a queue, or a topic."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX


class PutDefaults(Protocol):
    """What a put leaves to the name under which it was opened; see the attributes of queues."""

    @property
    def inhibit_put(self) -> bool:
        """Whether nothing is put by this name."""

    @property
    def def_priority(self) -> int:
        """The priority of a message that has none."""

    @property
    def def_persistence(self) -> bool:
        """Whether a message that does not say so is persistent."""

    @property
    def expiry_cap(self) -> int:
        """The longest expiry of a message, in tenths of a second; -1, 0: any."""


class DestinationAttributes(PutDefaults, Protocol):
    """The attributes of a destination that a message is checked against."""

    @property
    def max_message_length(self) -> int:
        """Bytes of a body."""


class Destination(Protocol):
    """A queue or a topic."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def attributes(self) -> DestinationAttributes:
        """What a message is checked against."""

    @property
    def is_temporary(self) -> bool:
        """Whether it takes no persistent messages."""


class TopicDefaults(Struct, frozen=True):
    """What a publication is checked against, as the topic objects above the topic say."""

    def_priority: int
    def_persistence: bool
    max_message_length: int = MESSAGE_LENGTH_MAX
    expiry_cap: int = -1
    inhibit_put: bool = False


class TopicDestination(Struct, frozen=True):
    """A topic as a destination."""

    name: str
    attributes: TopicDefaults
    is_temporary: bool = False
