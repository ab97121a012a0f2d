"""Pages: messages that are not in memory, asked for and read from their topic."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import MessageData
from adapter.core.contract.stored import Stored


class PageNeeded(Exception):  # noqa: N818 -- it is a request, not an error
    """What was asked for is not in memory: load the page that begins at this place, ask again.

    count: how many messages are worth loading. field: an id whose index is to be built first.
    at_hand: nothing is to be loaded: there is more of it in memory than one step should look at.
    """

    def __init__(
        self,
        queue: str,
        lane: int,
        seq: int,
        count: int = 0,
        field: str = "",
        at_hand: bool = False,
    ) -> None:
        super().__init__(queue, lane, seq, count, field, at_hand)
        self.queue = queue
        self.lane = lane
        self.seq = seq
        self.count = count
        self.field = field
        self.at_hand = at_hand


class Paged(Struct):
    """A message as its topic holds it."""

    seq: int
    message: MessageData
    unit: bytes
    unit_index: int
    unit_size: int
    queue_unit_index: int
    queue_unit_size: int

    def stored(self, lane: int) -> Stored:
        """Give it its place in a lane."""
        return Stored(
            message=self.message,
            place=(-lane, self.seq, 0),
            unit=self.unit,
            unit_index=self.unit_index,
            unit_size=self.unit_size,
            queue_unit_index=self.queue_unit_index,
            queue_unit_size=self.queue_unit_size,
        )
