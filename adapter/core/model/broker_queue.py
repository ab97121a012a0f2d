"""A queue of Service Broker: a local queue of one lane; messages are received by conversation.

Its name is `broker$\\` and its name in lower case. Beside it there may be two more, which belong to
it: `;retained` has copies of messages that were sent or received, `;held` what came while the queue
was OFF. What waits for a service is on `broker$\\;held` and the service's name. This module does
not know what a verb of Service Broker means.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.attributes.broker import BrokerAttributes
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.stored import Stored
from adapter.core.model.conversations import ConversationGroups, Endpoint, row_of
from adapter.core.model.queue import LocalQueue

PREFIX: Final = "broker$\\"
HELD: Final = ";held"
RETAINED: Final = ";retained"
LANE: Final = 0


class ReaderActivity(Struct):
    """What is known of a queue's readers. Soft state; times are of QueueManager.elapsed_ms.

    is_watched: whether anybody asks for its activation; None: not looked up yet. is_raised: the
    event was raised, and since then no program has received, and there was something to be
    received. has_timer: it is checked again by a tick.
    """

    is_watched: bool | None = None
    is_raised: bool = False
    has_timer: bool = False
    raised_ms: int | None = None
    empty_ms: int | None = None
    """When a receive of any group last returned nothing."""
    receives: int = 0
    """Receives that returned messages."""


class HeldLook(Struct):
    """How far what a queue holds was looked through. Soft state.

    after: behind which place the next step goes on. waiting: sides of conversations of which a
    message has to wait, and so all behind it.
    """

    after: Place | None = None
    waiting: set[tuple[bytes, bool]] = set()


def key_of(name: str) -> str:
    """Return the name that the queue manager has for a queue that programs call so."""
    return PREFIX + name.removeprefix("dbo.").lower()


def place_of(seq: int) -> Place:
    """Return the place of a row."""
    return -LANE, seq, 0


class BrokerQueue(LocalQueue):
    """One queue of Service Broker."""

    attributes: BrokerAttributes

    def __init__(self, name: str, incarnation: int, attributes: BrokerAttributes) -> None:
        super().__init__(name, incarnation, attributes)
        self.groups = ConversationGroups(self.is_there)
        self.conversations: dict[bytes, Endpoint] = {}
        """The endpoints whose messages are on it, by handle."""
        self.locked_rows: dict[bytes, set[int]] = {}
        """What units have received, by handle: they are in no heap."""
        self.receiving: set[bytes] = set()
        """Units that have received from it and have not ended: hard."""
        self.activity = ReaderActivity()
        self.look: HeldLook | None = None
        """How far a release has come that takes several steps; None: none is going on."""

    @property
    def is_part(self) -> bool:
        """Whether it belongs to another queue."""
        return ";" in self.name

    def lane_of(self, message: MessageData) -> int:
        """Say which lane a message is put to: there is one."""
        del message
        return LANE

    def is_there(self, seq: int) -> bool:
        """Whether a message is available, in memory or not."""
        stored = self.stored.get(place_of(seq))
        return seq in self.lanes[LANE].paged if stored is None else not stored.locked

    def add(self, stored: Stored) -> None:
        LocalQueue.add(self, stored)
        self._note_row(stored)

    def lock(self, stored: Stored) -> None:
        LocalQueue.lock(self, stored)
        header = stored.message.broker
        if header is not None:
            row = row_of(stored.place[1], header)
            self.locked_rows.setdefault(header.handle, set()).add(row)

    def lock_all(self, found: list[Stored]) -> None:
        for stored in found:
            self.lock(stored)

    def unlock(self, stored: Stored) -> None:
        LocalQueue.unlock(self, stored)
        self._forget_lock(stored)
        self._note_row(stored)

    def take(self, place: Place, priority: int) -> Stored | None:
        stored = LocalQueue.take(self, place, priority)
        if stored is not None and stored.locked:
            self._forget_lock(stored)
        return stored

    def _forget_lock(self, stored: Stored) -> None:
        header = stored.message.broker
        if header is not None:
            rows = self.locked_rows[header.handle]
            rows.discard(row_of(stored.place[1], header))
            if not rows:
                del self.locked_rows[header.handle]

    def _note_row(self, stored: Stored) -> None:
        header = stored.message.broker
        endpoint = self.conversations.get(header.handle) if header is not None else None
        if header is None or endpoint is None:
            return
        if self.name.startswith(PREFIX + HELD):
            endpoint.add_waiting(stored.place[1], self.is_there)
        elif self.is_part:
            endpoint.retained.append(stored.place[1])
        else:
            self.groups.add_row(endpoint, row_of(stored.place[1], header))
