"""Messages that were delivered and are not acknowledged: each is held in a unit of its own.

This module knows neither channels nor what becomes of a message that is rejected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from amqp.exceptions import RecoverableConnectionError
from kombu.exceptions import ChannelError
from msgspec import Struct

import adapter
from adapter.errors import BackedOut
from adapter.frameworks.units import give_back

HELD_MAX = 5_000
"""Messages of a channel without prefetch count that are not acknowledged."""
HELD_OF_PROCESS_MAX = 9_000
"""The same of all channels of a process on one connection, which may have 10,000 units: each
consumer has one more, for its next message."""
PREFETCH_MAX = 65_535
"""AMQP has 16 bits for it."""


class HeldMessage(Struct):
    """A message that waits for its acknowledgement."""

    queue: str
    message: adapter.Message
    unit: adapter.Unit


class HeldOfProcess:
    """How many messages the channels of a process hold on one connection. For any thread."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()
        self._room: list[Callable[[], None]] = []

    def left(self) -> int:
        """Return how many further messages the process may have."""
        return max(HELD_OF_PROCESS_MAX - self._count, 0)

    def note(self, change: int) -> None:
        """Count messages that are held from now on, or, below zero, are not held any more."""
        with self._lock:
            was_full = not self.left()
            self._count += change
            told = list(self._room) if was_full and self.left() else []
        for call in told:
            call()

    def on_room(self, call: Callable[[], None]) -> None:
        """Have this called whenever there is room again, until off_room()."""
        with self._lock:
            self._room.append(call)

    def off_room(self, call: Callable[[], None]) -> None:
        """End that."""
        with self._lock:
            if call in self._room:
                self._room.remove(call)


class UnitQoS:
    """The messages of a channel that are not acknowledged, by delivery tag. For any thread."""

    def __init__(
        self,
        of_process: HeldOfProcess,
        discard: Callable[[HeldMessage], None],
        note_room: Callable[[], None],
    ) -> None:
        """discard: ends a message that is rejected. note_room: called whenever there is more."""
        self._of_process = of_process
        self._discard = discard
        self._note_room = note_room
        self._prefetch_count = 0
        self._is_closed = False
        self._lock = threading.Lock()
        self._held: dict[int, HeldMessage] = {}

    @property
    def prefetch_count(self) -> int:
        """How many messages the channel may have; 0: HELD_MAX."""
        return self._prefetch_count

    @prefetch_count.setter
    def prefetch_count(self, count: int) -> None:
        if not 0 <= count <= PREFETCH_MAX:
            raise ChannelError(
                f"PRECONDITION_FAILED - invalid prefetch count {count!r}: use 0 to {PREFETCH_MAX}",
                (60, 10),
                "Channel.basic_qos",
                "406",
            )
        self._prefetch_count = count
        self._note_room()

    def can_consume(self) -> bool:
        """Whether the channel may have a further message."""
        return self.can_consume_max_estimate() > 0

    def can_consume_max_estimate(self) -> int:
        """Return how many further messages the channel may have."""
        of_channel = (self._prefetch_count or HELD_MAX) - len(self._held)
        return max(min(of_channel, self._of_process.left()), 0)

    def hold(self, tag: int, held: HeldMessage) -> None:
        """Note a message that is about to be delivered.

        Raises RecoverableConnectionError if the channel was closed meanwhile: it is back on its
        queue then.
        """
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._held[tag] = held
                self._of_process.note(1)
        if is_closed:
            give_back(held.unit, counted=False)
            raise RecoverableConnectionError("channel is closed: its message is back on the queue")

    def get(self, delivery_tag: int) -> adapter.Message:
        """Return a message that is held."""
        return self._held[delivery_tag].message

    def ack(self, delivery_tag: int, multiple: bool = False) -> None:
        """Commit the unit of a message, or of all up to this one; tag 0: of all there are.

        Raises BackedOut if the message has gone back to its queue because the connection was lost
        or the channel closed: it is delivered again.
        """
        with self._ending(delivery_tag, multiple) as released:
            for held in released:
                held.unit.commit()

    def reject(self, delivery_tag: int, requeue: bool = False) -> None:
        """Put a message back in its place, or end it: see MqkChannel.basic_reject()."""
        with self._ending(delivery_tag, False) as released:
            for held in released:
                if requeue:
                    give_back(held.unit, counted=True)
                else:
                    self._discard(held)

    def recover(self) -> None:
        """Put all messages back in their places, as reject(requeue=True) does with one: they are
        delivered again, as redelivered.
        """
        self._restore(counted=True)

    def restore_unacked(self) -> list[Any]:
        """Put all messages back in their places; returns what could not be: nothing.

        Their backout counts stay: a worker that stops has finished what it worked on, and only
        fetched the others.
        """
        self._restore(counted=False)
        return []

    def restore_unacked_once(self, stderr: object = None) -> None:
        """Put all messages back in their places: the channel is closed."""
        with self._lock:
            self._is_closed = True
        self.restore_unacked()

    def _restore(self, *, counted: bool) -> None:
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for one in held:
            give_back(one.unit, counted=counted)
        self._of_process.note(-len(held))
        self._note_room()

    @contextmanager
    def _ending(self, tag: int, multiple: bool) -> Iterator[list[HeldMessage]]:
        """Take messages out, for their units to be ended; those still open after that are held."""
        released = self._release(tag, multiple)
        try:
            yield list(released.values())
        finally:
            open_still = {one: held for one, held in released.items() if held.unit.is_open}
            with self._lock:
                is_closed = self._is_closed
                if not is_closed:
                    self._held |= open_still
            if is_closed:
                for held in open_still.values():
                    give_back(held.unit, counted=False)
                open_still = {}
            self._of_process.note(len(open_still) - len(released))
            self._note_room()

    def _release(self, tag: int, multiple: bool) -> dict[int, HeldMessage]:
        if tag < 0:
            return {}  # it needs no acknowledgement: SimpleBuffer of kombu gives one all the same
        with self._lock:
            if tag == 0 and multiple:
                released, self._held = self._held, {}
                return released
            if tag not in self._held:
                raise BackedOut(
                    f"delivery {tag} is not held by this channel: it was acknowledged, or its "
                    "message is back on the queue because the channel was closed"
                )
            tags = [one for one in self._held if one <= tag] if multiple else [tag]
            return {one: self._held.pop(one) for one in tags}
