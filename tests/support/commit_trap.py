"""Stops what passes a proxy at the next commit, on its way there or on its way back.

It knows which commits were asked for and which were answered, and is what proves that a queue
manager was killed while commits were unanswered.
"""

from __future__ import annotations

import threading
from typing import Literal

from msgspec import Struct

from adapter.core.commands import Commit
from adapter.core.results import Done
from adapter.demo.proxy import Mode, Proxy
from adapter.wire import frames

WAIT_S = 30.0
COMMIT_BYTES_MAX = 64
"""A commit is a tag and an id of 24 bytes; what is longer need not be looked into."""

Where = Literal["request", "reply"]


class Unanswered(Struct, frozen=True):
    """Units whose commit was asked for, and whose client has no answer.

    done: those of them that the queue manager has answered: they are committed.
    """

    units: frozenset[bytes]
    done: frozenset[bytes]


class _Connection(Struct):
    sent: frames.FrameBuffer
    received: frames.FrameBuffer
    asked: dict[int, bytes]


class CommitTrap:
    """A tap for a Proxy, which is to be given to watch()."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._proxy: Proxy | None = None
        self._connections: dict[int, _Connection] = {}
        self._armed: Where | None = None
        self._caught: set[bytes] = set()
        self._held: set[bytes] = set()
        self._answered = 0

    def tap(self, connection: int, from_client: bool, data: bytes) -> None:
        """Read bytes before they go on; on the proxy's thread."""
        with self._changed:
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

    def watch(self, proxy: Proxy) -> None:
        """This is the proxy whose tap it is."""
        self._proxy = proxy

    def catch(self, where: Where) -> set[bytes]:
        """Hold everything in one direction from the next commit on; return that commit's unit.

        The very bytes that carry the commit, or its answer, are held already.
        """
        with self._changed:
            self._armed = where
            self._caught = set()
            self._held = set()
            assert self._changed.wait_for(lambda: self._caught, WAIT_S), f"no {where} of a commit"
            return set(self._caught)

    def await_commits(self, count: int) -> None:
        """Wait until so many more commits have been answered."""
        with self._changed:
            wanted = self._answered + count
            done = self._changed.wait_for(lambda: self._answered >= wanted, WAIT_S)
            assert done, f"{self._answered} commits of {wanted} were answered in {WAIT_S} s"

    def freeze(self) -> Unanswered:
        """Let nothing more pass, and say which commits are unanswered now."""
        assert self._proxy is not None
        self._proxy.hold_requests()
        self._proxy.hold_replies()
        with self._changed:
            waiting = {unit for told in self._connections.values() for unit in told.asked.values()}
            return Unanswered(frozenset(waiting | self._held), frozenset(self._held))

    def _sent(self, told: _Connection, data: bytes) -> None:
        for payload in told.sent.feed(data):
            frame = frames.decode_client_frame(payload)
            if not isinstance(frame, frames.Requests):
                continue
            for operation in frame.operations:
                if len(bytes(operation.command)) > COMMIT_BYTES_MAX:
                    continue
                command = frames.decode_command(operation.command)
                if isinstance(command, Commit):
                    told.asked[operation.request] = command.unit
                    self._spring("request", command.unit)

    def _received(self, told: _Connection, data: bytes) -> None:
        for payload in told.received.feed(data):
            frame = frames.decode_server_frame(payload) if told.asked else None
            if not isinstance(frame, frames.AnyReplies):
                continue
            for answer in frame.answers:
                unit = told.asked.pop(answer.request, None)
                if unit is not None and isinstance(answer.result, Done):
                    self._spring("reply", unit)
                    self._count(unit)

    def _count(self, unit: bytes) -> None:
        assert self._proxy is not None
        if self._proxy.replies.mode is Mode.HOLD:
            self._held.add(unit)
        else:
            self._answered += 1
            self._changed.notify_all()

    def _spring(self, where: Where, unit: bytes) -> None:
        assert self._proxy is not None
        if self._armed != where:
            return
        self._armed = None
        flow = self._proxy.requests if where == "request" else self._proxy.replies
        flow.mode = Mode.HOLD
        self._caught.add(unit)
        self._changed.notify_all()
