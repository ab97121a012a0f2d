"""Counts the commits in what passes a proxy: asked for, answered, and answered but not delivered.

It reads the frames of the client connection on their way, and is what proves that the queue manager
was killed while commits were unanswered. It must not change or keep what it reads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec import Struct

from adapter.connection.wire import codec, frames
from adapter.core.contract.commands import Commit
from adapter.core.contract.results import Done

COMMIT_BYTES_MAX = 64
"""A commit is a tag and an id of 24 bytes; what is longer need not be looked into."""


class _Connection(Struct):
    """One client's frames, both ways, and the commits whose answer it waits for."""

    sent: codec.FrameBuffer
    received: codec.FrameBuffer
    asked: dict[int, bytes]
    holding: bool = False


class CommitWatch:
    """A tap for a Proxy."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._connections: dict[int, _Connection] = {}
        self._hold: Callable[[int], None] | None = None
        self._hold_after = 0
        self._held: set[bytes] = set()
        self._answered = 0

    def __call__(self, connection: int, from_client: bool, data: bytes) -> None:
        """Read bytes on their way."""
        with self._lock:
            if not data:
                self._connections.pop(connection, None)
                return
            told = self._connections.get(connection)
            if told is None:
                told = _Connection(codec.FrameBuffer(), codec.FrameBuffer(), {})
                self._connections[connection] = told
            if not from_client:
                self._received(told, data)
            elif self._sent(told, data) and self._hold and self._answered >= self._hold_after:
                told.holding = True
                self._hold(connection)

    def hold_commits(self, hold: Callable[[int], None], after: int = 0) -> None:
        """Once so many commits are answered, a connection that asks for one gets no more replies.

        hold is called with its number, in the tap: before the queue manager has heard of it.
        """
        with self._lock:
            self._hold, self._hold_after = hold, after

    def deliver(self) -> None:
        """Hold no more; what was held is lost, and stays counted."""
        with self._lock:
            self._hold = None

    def await_held(self, count: int, timeout_s: float) -> int:
        """Wait until so many commits are done and their answers held; how many are, in time."""
        with self._lock:
            self._lock.wait_for(lambda: len(self._held) >= count, timeout_s)
            return len(self._held)

    def statistics(self) -> dict[str, int]:
        """Commits: answered to the client, answered but held, and not answered yet."""
        with self._lock:
            waiting = sum(len(told.asked) for told in self._connections.values())
            return {"answered": self._answered, "held": len(self._held), "unanswered": waiting}

    def _sent(self, told: _Connection, data: bytes) -> bool:
        """Note what is asked for; whether a commit is among it."""
        before = len(told.asked)
        for payload in told.sent.feed(data):
            frame = codec.decode_client_frame(payload)
            if isinstance(frame, frames.Requests):
                for operation in frame.operations:
                    if len(bytes(operation.command)) <= COMMIT_BYTES_MAX:
                        command = codec.decode_command(operation.command)
                        if isinstance(command, Commit):
                            told.asked[operation.request] = command.unit
                            self._was_asked(command.unit)
        return len(told.asked) > before

    def _received(self, told: _Connection, data: bytes) -> None:
        for payload in told.received.feed(data):
            if not told.asked:
                continue
            frame = codec.decode_server_frame(payload)
            if isinstance(frame, frames.AnyReplies):
                for answer in frame.answers:
                    unit = told.asked.pop(answer.request, None)
                    if unit is not None and isinstance(answer.result, Done):
                        self._was_done(unit, told.holding)

    def _was_asked(self, unit: bytes) -> None:
        """A commit is on its way to the queue manager; for watches that do more."""

    def _was_done(self, unit: bytes, holding: bool) -> None:
        """The answer of a commit is on its way; holding: it does not arrive."""
        if holding:
            self._held.add(unit)
        else:
            self._answered += 1
        self._lock.notify_all()
