"""What a transcript runs on: a bare core, or a queue manager behind its TCP port.

A driver moves commands and answers; it knows neither the language nor what a command means. After
each step it says which answers had become due: those that are not among them wait.
"""

from __future__ import annotations

import socket
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from adapter.connection.wire import codec, frames
from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.results import Refused, Result
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.term import OwnerTerm
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

WAIT_S = 30.0
FENCE = 2**40  # request number of the question that is answered after all that came before


class Answered(Struct):
    """An answer to a client's request; request 0: its connection was closed, for this reason."""

    client: str
    request: int
    result: Result


class Driver(Protocol):
    """What a transcript runs on."""

    @property
    @abstractmethod
    def queue_manager(self) -> str:
        """The name that it has here; in a transcript it is QM1."""

    @abstractmethod
    def connect(self, client: str) -> None:
        """Connect a client that is not connected."""

    @abstractmethod
    def send(self, client: str, request: int, number: int, command: c.Command) -> None:
        """Send one request; request 0: a one-way operation."""

    @abstractmethod
    def seen(self, client: str, number: int) -> None:
        """Say, with the client's next request, that it has seen an outcome."""

    @abstractmethod
    def settle(self, client: str) -> list[Answered]:
        """Return the answers that are due after this client's request, by client."""

    @abstractmethod
    def disconnect(self, client: str) -> None:
        """Lose a client's connection; returns when the queue manager knows."""

    @abstractmethod
    def advance(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    def give(self, make: Callable[[QueueManager], inputs.Input]) -> QueueManager:
        """Give core an input that no client sends, made of its state; return its state then."""

    @abstractmethod
    def restart(self, clean: bool) -> None:
        """Stop, or crash, and start again; every connection is lost."""


LIMITS = set(Limits.__struct_fields__)
ALL = 2**31
"""Entries that were not copied yet when the queue manager stopped."""


class OnCore:
    """A bare core: everything is durable at once.

    When it stops for the first time all is on its topics, at the second time nothing, and so on.
    """

    def __init__(self, **settings: Any) -> None:
        limits = {name: settings.pop(name) for name in LIMITS & settings.keys()}
        self._core = Core(Limits(**limits))
        self._settings = settings
        self._core.configure(**settings)
        self._lagging = 0
        self._clients: dict[str, Client] = {}
        self._seen: dict[str, list[int]] = {}
        self._given: set[tuple[int, int]] = set()

    @property
    def queue_manager(self) -> str:
        return self._core.qm.name

    def connect(self, client: str) -> None:
        self._clients[client] = self._core.connect()

    def send(self, client: str, request: int, number: int, command: c.Command) -> None:
        connection = self._clients[client]
        connection.seen(*self._seen.pop(client, []))
        self._core.execute(c.Request(connection.number, request, number, command))

    def seen(self, client: str, number: int) -> None:
        self._seen.setdefault(client, []).append(number)

    def settle(self, client: str) -> list[Answered]:
        due = []
        for name in by_turn(client, self._clients):
            number = self._clients[name].number
            for key, result in sorted(self._core.answers.items(), key=lambda item: item[0]):
                if key[0] == number and key not in self._given:
                    self._given.add(key)
                    due.append(Answered(name, key[1], result))
            if number in self._core.closed:
                del self._clients[name]
                due.append(Answered(name, 0, self._core.closed[number]))
        return due

    def disconnect(self, client: str) -> None:
        self._seen.pop(client, None)
        self._clients.pop(client).lose()

    def advance(self, seconds: float) -> None:
        self._core.advance(seconds)

    def give(self, make: Callable[[QueueManager], inputs.Input]) -> QueueManager:
        self._core.take(self._core.give(make(self._core.qm)))
        return self._core.qm

    def restart(self, clean: bool) -> None:
        for client in list(self._clients.values()) if clean else []:
            client.lose()
        self._clients.clear()
        self._seen.clear()
        if clean:
            self._core.crash_with_snapshot(self._lagging)  # a stop leaves one
            self._lagging = ALL - self._lagging
        else:
            self._core.crash()
        self._core.configure(**self._settings)

    def check(self) -> None:
        """Replay what was logged: it must make the same core."""
        check_snapshots(self._core.qm, self._core.replayed())


def by_turn(client: str, clients: dict[str, Client] | dict[str, Line]) -> list[str]:
    """The client that asked first, then the others by name."""
    return sorted(clients, key=lambda name: (name != client, name))


class Line:
    """One TCP connection, read without the SDK."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._socket = socket.create_connection((host, int(port)), WAIT_S)
        self._buffer = codec.FrameBuffer()
        self._frames: list[frames.ServerFrame] = []
        self.numbers: list[int] = []
        self._owed: set[int] = set()
        """Requests that do not wait: their answers come, if pages must be read too."""
        self._socket.sendall(codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION)))
        assert isinstance(self._frame(), frames.Welcome)

    def send(self, request: int, number: int, command: c.Command) -> None:
        """Send one request, and which outcomes were seen before."""
        waits = getattr(command, "wait_ms", 0) or getattr(command, "lock_ms", 0)
        if request and not waits:
            self._owed.add(request)
        seen, self.numbers = self.numbers, []
        operation = frames.Operation(request, number, codec.raw(command))
        self._socket.sendall(codec.encode(frames.Requests([operation], seen)))

    def until_fence(self) -> list[tuple[int, Result]]:
        """Return the answers that are due: all that are owed, and what came with them."""
        due: list[tuple[int, Result]] = []
        self.send(FENCE, 0, c.Inquire("?fence?"))
        self._read_owed(due)
        if not due or due[-1][0]:  # the other end is there
            self.send(FENCE, 0, c.Inquire("?fence?"))
            self._read_owed(due)
        return due

    def _read_owed(self, due: list[tuple[int, Result]]) -> None:
        while self._owed:
            frame = self._frame()
            if frame is None or isinstance(frame, frames.Goodbye):
                due.append((0, frame.reason if frame else Refused(0)))
                self._owed.clear()
                return
            assert isinstance(frame, frames.AnyReplies), frame
            for answer in frame.answers:
                assert not isinstance(answer.result, frames.Figures)
                self._owed.discard(answer.request)
                if answer.request != FENCE:
                    due.append((answer.request, answer.result))

    def hang_up(self) -> None:
        """Close, and wait until the other end has noticed."""
        self._socket.shutdown(socket.SHUT_WR)
        while self._frame() is not None:
            pass
        self._socket.close()

    def close(self) -> None:
        """Close."""
        self._socket.close()

    def _frame(self) -> frames.ServerFrame | None:
        while not self._frames:
            data = self._socket.recv(65_536)
            if not data:
                return None
            self._frames += map(codec.decode_server_frame, self._buffer.feed(data))
        return self._frames.pop(0)


class OnServer:
    """A queue manager with a manual clock, through its TCP port."""

    def __init__(self, manager: TestQueueManager) -> None:
        self._manager = manager
        self._lines: dict[str, Line] = {}

    @property
    def queue_manager(self) -> str:
        return self._manager.name

    def connect(self, client: str) -> None:
        self._lines[client] = Line(self._manager.address)

    def send(self, client: str, request: int, number: int, command: c.Command) -> None:
        self._lines[client].send(request, number, command)

    def seen(self, client: str, number: int) -> None:
        self._lines[client].numbers.append(number)

    def settle(self, client: str) -> list[Answered]:
        due: list[Answered] = []
        for name in by_turn(client, self._lines):
            answers = self._lines[name].until_fence()
            for request, result in sorted(answers, key=lambda pair: pair[0]):
                if not request:
                    self._lines.pop(name).close()
                due.append(Answered(name, request, result))
        return due

    def disconnect(self, client: str) -> None:
        self._lines.pop(client).hang_up()

    def advance(self, seconds: float) -> None:
        self._manager.clock.advance(seconds)

    def give(self, make: Callable[[QueueManager], inputs.Input]) -> QueueManager:
        term = self._manager._running().owner.term
        assert term is not None, "it serves"
        self._manager._run(self._give(term, make))
        until(lambda: term.loop.idle)  # what is not durable would come again after a crash
        return term.qm

    async def _give(self, term: OwnerTerm, make: Callable[[QueueManager], inputs.Input]) -> None:
        term.loop.take(make(term.qm))

    def restart(self, clean: bool) -> None:
        if clean:
            self._manager.restart()
        else:
            self._manager.crash()
            self._manager.start()
        self.close()

    def close(self) -> None:
        """Close what is open."""
        for line in self._lines.values():
            line.close()
        self._lines.clear()
