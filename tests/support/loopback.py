"""A queue manager without a ledger: core behind a loopback port, every entry durable at once.

For tests of clients: what a client is answered, when, and how its connection breaks is scripted
here. `python -m tests.support.loopback` runs one in a process of its own and prints its address.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import uvloop
from msgspec import Struct

import adapter
from adapter.channel.addresses import parse_addresses
from adapter.channel.channel import Channel
from adapter.channel.handshake import Handshake
from adapter.channel.link.tcp import TcpDialer
from adapter.channel.timeouts import Timeouts
from adapter.client.context import Context
from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Refused
from adapter.core.model.manager import QueueManager
from adapter.owner.clock import SystemClock
from adapter.wire import codec, frames
from adapter.wire.session import Incoming, ServerSession

CALL_TIMEOUT_S = 10.0
Outcome = TypeVar("Outcome")
Command = c.Command | frames.ServerCommand
Before = Callable[[int, Command], Refused | None]


class Budget(Struct):
    """How many more bytes a connection takes and gives before it breaks."""

    received: int = 1 << 60
    sent: int = 1 << 60


class Client(asyncio.Protocol):
    """One connection to a client."""

    def __init__(self, server: Loopback, number: int) -> None:
        self.number = number
        self.budget = Budget()
        self._server = server
        self._session = ServerSession(server.qm.name)
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.clients[self.number] = self

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._session.close()
        self._server.gone(self.number)

    def data_received(self, data: bytes) -> None:
        received = self._session.receive(data[: self.budget.received])
        self.budget.received -= len(data)
        is_used_up = self.budget.received <= 0  # a hook may give it another one meanwhile
        if received.hello is not None:
            self._server.welcome(self, received.hello)
        self._server.operations(self.number, received.seen, received.operations)
        if received.goodbye is not None:
            self.say_goodbye(received.goodbye)
        if is_used_up:
            self.cut()

    def send(self, frame: bytes) -> None:
        if self._transport is None or self.is_closing:
            return
        self._transport.write(frame[: max(self.budget.sent, 0)])
        self.budget.sent -= len(frame)
        if self.budget.sent <= 0:
            self.cut()

    @property
    def is_closing(self) -> bool:
        """Whether the connection has ended, or is about to."""
        return self._transport is None or self._transport.is_closing()

    def say_goodbye(self, reason: Refused) -> None:
        self.send(codec.encode(frames.Goodbye(reason)))
        self.cut()

    def cut(self) -> None:
        """End the connection behind what has been sent."""
        self._session.close()
        if self._transport is not None:
            self._transport.close()


class Loopback:
    """The server, on an event loop in a thread of its own.

    before: called with each command before core sees it; what it returns is the answer instead.
    holds: kinds of command whose answers are held back until release().
    executed: the commands core has seen, in order. Everything else goes through call().
    """

    def __init__(self, name: str = "QM1") -> None:
        self.qm = QueueManager(name, b"loopback-qm1")
        self.clients: dict[int, Client] = {}
        self.executed: list[Command] = []
        self.frames_received = 0
        self.before: Before = lambda _number, _command: None
        self.holds: tuple[type, ...] = ()
        self.held: list[Reply] = []
        self.refuses: Refused | None = None
        self.welcomes = True
        self.version = frames.PROTOCOL_VERSION
        self._clock = SystemClock()
        self._records: list[Record] = []
        self._numbers = 0
        self._hold: set[tuple[int, int]] = set()
        self._server: asyncio.AbstractServer | None = None
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = self._run(self._listen(0))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # -- what tests do to it

    def call(self, work: Callable[[], Outcome]) -> Outcome:
        """Do something on the server's thread."""
        return cast("Outcome", self._run(_async(work)))

    def bodies(self, queue: str) -> list[bytes]:
        """Return what is available on a queue."""
        return self.call(lambda: [s.message.body for s in self.qm.queues[queue].in_order()])

    def count(self, kind: type) -> int:
        """Return how many commands of a kind core has seen."""
        return sum(isinstance(command, kind) for command in self.executed)

    def cut_here(self) -> None:
        """Break every connection, from a hook that runs on the server's thread."""
        for client in list(self.clients.values()):
            client.cut()

    def cut_all(self) -> None:
        """Break every connection."""
        self.call(self.cut_here)

    def cut_after(self, received: int = 1 << 60, sent: int = 1 << 60) -> None:
        """Break the present connections after so many more bytes in one direction."""

        def arm() -> None:
            for client in self.clients.values():
                client.budget = Budget(received, sent)
                if not received or not sent:
                    client.cut()

        self.call(arm)

    def crash(self) -> None:
        """Break every connection and close the port; only what was logged is left."""

        def die() -> None:
            assert self._server is not None
            self._server.close()
            for client in list(self.clients.values()):
                client.cut()
            self.clients.clear()
            self.held.clear()
            self.qm = QueueManager(self.qm.name, b"loopback-qm2")
            for record in self._records:
                dispatch.replay(self.qm, record)
            self.give(inputs.Restarted())

        self.call(die)

    def start(self) -> None:
        """Open the port again."""
        self._run(self._listen(self.port))

    def release(self) -> None:
        """Send what was held back, and hold nothing more."""

        def go() -> None:
            self.holds = ()
            self._hold.clear()
            held, self.held = self.held, []
            self._send(held)

        self.call(go)

    def close(self) -> None:
        """End it, with every connection."""

        async def end() -> None:
            assert self._server is not None
            self._server.close()
            for client in list(self.clients.values()):
                client.cut()

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_TIMEOUT_S)
        self._loop.close()

    # -- what clients do to it

    def welcome(self, client: Client, hello: frames.Hello) -> None:
        if self.refuses is not None:
            client.say_goodbye(self.refuses)
            return
        if not self.welcomes:
            return
        self.give(inputs.Connected(client.number))
        party = Party(hello.application, Principal(hello.user))
        self.give(inputs.Introduced(client.number, party))
        welcome = frames.Welcome(
            version=self.version, queue_manager=self.qm.name, connection=client.number
        )
        client.send(codec.encode(welcome))

    def operations(self, number: int, seen: list[int], operations: list[Incoming]) -> None:
        self.frames_received += bool(operations)
        replies = self._done(self.give(inputs.OutcomesSeen(number, seen)))
        for operation in operations:
            replies += self._operation(number, operation)
        self._send(replies)

    def _operation(self, number: int, incoming: Incoming) -> list[Reply]:
        command = incoming.command
        if isinstance(command, self.holds):
            self._hold.add((number, incoming.request))
        if isinstance(command, Refused):
            return [Reply(number, incoming.request, command)]
        refused = self.before(number, command)
        if refused is not None and not incoming.request:
            return []  # nobody waits for the answer
        if refused is not None:
            return [Reply(number, incoming.request, refused)]
        if isinstance(command, frames.AskServer):
            self._send_figures(number, incoming.request)
            return []
        if isinstance(command, frames.Stop):
            return [Reply(number, incoming.request, Done())]
        self.executed.append(command)
        request = c.Request(number, incoming.request, incoming.number, command)
        return self._done(self.give(request))

    def _send_figures(self, number: int, request: int) -> None:
        if not isinstance(frames.AskServer(), self.holds):
            answer = frames.AnyAnswer(request, frames.Figures({"name": self.qm.name}))
            self.clients[number].send(codec.encode(frames.AnyReplies([answer])))

    def gone(self, number: int) -> None:
        self.clients.pop(number, None)
        self._send(self._done(self.give(inputs.Disconnected(number))))

    def give(self, given: inputs.Input) -> dispatch.Effects:
        """Give core an input, as of now. What it causes is not taken up."""
        now = inputs.Now(self._clock.now_ms(), self._clock.elapsed_ms(), -1)
        return dispatch.step(self.qm, now, given)

    def _done(self, executed: dispatch.Effects) -> list[Reply]:
        self._records += [record for record in executed.records if record.logged]
        for number, told in executed.closed.items():
            client = self.clients.pop(number, None)
            if client is not None:
                client.say_goodbye(told)
        due_in_ms = self.qm.due.in_ms(self._clock.now_ms(), self._clock.elapsed_ms())
        if due_in_ms is not None:
            self._loop.call_later(max(due_in_ms, 1) / 1000, self._tick)
        return executed.replies

    def _tick(self) -> None:
        self._send(self._done(self.give(inputs.Tick())))  # and again if it was early

    def _send(self, replies: list[Reply]) -> None:
        by_client: dict[int, list[frames.Answer]] = {}
        for reply in replies:
            if (reply.connection, reply.request) in self._hold:
                self.held.append(reply)
            else:
                answer = frames.Answer(reply.request, reply.result)
                by_client.setdefault(reply.connection, []).append(answer)
        for number, answers in by_client.items():
            client = self.clients.get(number)
            if client is not None:
                client.send(codec.encode(frames.Replies(answers)))

    async def _listen(self, port: int) -> int:
        def accept() -> Client:
            self._numbers += 1
            return Client(self, self._numbers)

        server = await self._loop.create_server(accept, "127.0.0.1", port)
        self._server = server
        return int(cast("asyncio.Server", server).sockets[0].getsockname()[1])

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_TIMEOUT_S)


class OnCommand:
    """Notes when the first command of a kind arrives, and may act on it, on the server's thread."""

    def __init__(self, server: Loopback, kind: type, act: Callable[[], None] | None = None) -> None:
        self.arrived = threading.Event()
        self._kind = kind
        self._act = act
        server.before = self

    def __call__(self, _number: int, command: Command) -> Refused | None:
        if isinstance(command, self._kind) and not self.arrived.is_set():
            self.arrived.set()
            if self._act is not None:
                self._act()
        return None


async def _async(work: Callable[[], Outcome]) -> Outcome:
    return work()


@contextmanager
def loopback(name: str = "QM1") -> Iterator[Loopback]:
    """Run one for a with statement."""
    server = Loopback(name)
    try:
        yield server
    finally:
        server.close()


def main() -> None:
    """Serve until standard input ends."""
    with loopback() as server:
        print(server.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()


def connection_to(server: Loopback, timeouts: Timeouts) -> adapter.Connection:
    """Connect with timeouts of one's own."""
    dialers = [TcpDialer(one) for one in parse_addresses(server.address)]
    channel = Channel(Handshake(dialers, "", ""), timeouts)
    return adapter.Connection(Context(channel, "", adapter.Schemas(None)))
