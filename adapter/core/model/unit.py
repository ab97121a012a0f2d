"""A unit of work in flight: soft state, gone with the owner.

It holds uncommitted puts in the order they were made, and locks the messages it got. A unit ends
exactly once: by commit or by backout; then it is no longer known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adapter.core.contract.message import Message, Place, Stored
from adapter.core.model.moment import Moment
from adapter.core.model.queue import LocalQueue

if TYPE_CHECKING:
    from adapter.core.model.trigger_event import Trigger


class Unit:
    """What one client has put and got since the unit's first verb.

    weight: bounds the bytes of its puts in an entry. held_bytes: of bodies, put and got.
    holds_returned: among what it got is a message that came back before. counted: places of what
    it got whose delivery was counted in advance, by queue. since: when it was begun. restore:
    what is to be done if it is backed out, by handle and kind; where handles were in groups.
    triggers: trigger messages that its puts caused, and that nobody gets before it ends.
    """

    __slots__ = (
        "connection",
        "counted",
        "gets",
        "held_bytes",
        "holds_returned",
        "ident",
        "puts",
        "restore",
        "since",
        "triggers",
        "weight",
    )

    def __init__(self, ident: bytes, connection: int, since: Moment) -> None:
        self.ident = ident
        self.connection = connection
        self.since = since
        self.puts: list[tuple[LocalQueue, Message]] = []
        self.gets: list[tuple[LocalQueue, Stored]] = []
        self.triggers: list[Trigger] = []
        self.weight = 0
        self.held_bytes = 0
        self.holds_returned = False
        self.counted: set[tuple[str, Place]] = set()
        self.restore: dict[tuple[object, str], Callable[[], None]] = {}

    def __len__(self) -> int:
        return len(self.puts) + len(self.gets)

    def hold_put(self, queue: LocalQueue, message: Message, weight: int) -> None:
        """Keep a put until the unit ends."""
        self.puts.append((queue, message))
        self.weight += weight
        self.held_bytes += len(message.body)
        queue.hold_put(message)

    def forget(self, queue: LocalQueue) -> int:
        """Let go of what is of a queue that is gone; how many bytes of bodies that was."""
        gone = [message for of, message in self.puts if of is queue]
        gone += [stored.message for of, stored in self.gets if of is queue]
        size = sum(len(message.body) for message in gone)
        self.puts = [(of, message) for of, message in self.puts if of is not queue]
        self.gets = [(of, stored) for of, stored in self.gets if of is not queue]
        self.held_bytes -= size
        return size

    def hold_trigger(self, trigger: Trigger) -> None:
        """Keep a trigger message until the unit ends."""
        self.triggers.append(trigger)
        self.held_bytes += len(trigger.message.body)

    def lock(self, queue: LocalQueue, stored: Stored) -> None:
        """Lock a message until the unit ends."""
        self.gets.append((queue, stored))
        self.held_bytes += len(stored.message.body)
        self.holds_returned = self.holds_returned or stored.backout_count > 0
        queue.lock(stored)
        if queue.marks is not None:
            queue.marks.forget(stored.place)
