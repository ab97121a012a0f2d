"""Counts the commits in what passes a proxy: asked for, answered, and answered but not delivered.

It reads the frames of the client connection on their way, and is what proves that the queue manager
was killed while commits were unanswered. It must not change or keep what it reads.
"""

from __future__ import annotations

import threading

from msgspec import Struct

from adapter.core.commands import Commit
from adapter.core.results import Done
from adapter.wire import frames

COMMIT_BYTES_MAX = 64
"""A commit is a tag and an id of 24 bytes; what is longer need not be looked into."""


class _Connection(Struct):
    """One client's frames, both ways, and the commits whose answer it waits for."""

    sent: frames.FrameBuffer
    received: frames.FrameBuffer
    asked: dict[int, bytes]


class CommitWatch:
    """A tap for a Proxy. hold() is called together with the proxy's hold_replies()."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._connections: dict[int, _Connection] = {}
        self._holding = False
        self._held: set[bytes] = set()
        self.answered = 0

    def __call__(self, connection: int, from_client: bool, data: bytes) -> None:
        """Read bytes on their way."""
        with self._lock:
            if not data:
                self._connections.pop(connection, None)
                return
            told = self._connections.get(connection)
            if told is None:
                told = _Connection(frames.FrameBuffer(), frames.FrameBuffer(), {})
                self._connections[connection] = told
            if from_client:
                self._sent(told, data)
            else:
                self._received(told, data)

    def hold(self) -> None:
        """From now on answers are held: none is delivered."""
        with self._lock:
            self._holding = True
            self._held.clear()

    def deliver(self) -> None:
        """From now on answers are delivered again; what was held is lost, and stays counted."""
        with self._lock:
            self._holding = False

    def await_held(self, timeout_s: float) -> int:
        """Wait until the queue manager has answered a commit whose answer is held.

        Returns how many were; 0 if none was in time.
        """
        with self._lock:
            self._lock.wait_for(lambda: bool(self._held), timeout_s)
            return len(self._held)

    def statistics(self) -> dict[str, int]:
        """Commits: answered to the client, answered but held, and not answered yet."""
        with self._lock:
            waiting = sum(len(told.asked) for told in self._connections.values())
            return {"answered": self.answered, "held": len(self._held), "unanswered": waiting}

    def _sent(self, told: _Connection, data: bytes) -> None:
        for payload in told.sent.feed(data):
            frame = frames.decode_client_frame(payload)
            if isinstance(frame, frames.Requests):
                for operation in frame.operations:
                    if len(bytes(operation.command)) <= COMMIT_BYTES_MAX:
                        command = frames.decode_command(operation.command)
                        if isinstance(command, Commit):
                            told.asked[operation.request] = command.unit

    def _received(self, told: _Connection, data: bytes) -> None:
        for payload in told.received.feed(data):
            if not told.asked:
                continue
            frame = frames.decode_server_frame(payload)
            if isinstance(frame, frames.AnyReplies):
                for answer in frame.answers:
                    self._answer(told, answer)

    def _answer(self, told: _Connection, answer: frames.AnyAnswer) -> None:
        unit = told.asked.pop(answer.request, None)
        if unit is None or not isinstance(answer.result, Done):
            return
        if self._holding:
            self._held.add(unit)
            self._lock.notify_all()
        else:
            self.answered += 1
