"""A queue manager without a ledger, whose answers tests script: core, every entry durable at once.

What it does, it does on the event loop that it is given, and it has no port: see loopback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from msgspec import Struct

from adapter.connection.wire import codec, frames
from adapter.connection.wire.session import Incoming, ServerSession
from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Refused
from adapter.core.effects import Effects
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.clock import Clock, SystemClock

Command = c.Command | frames.ServerCommand
Before = Callable[[int, Command], Refused | None]


class Budget(Struct):
    """How many more bytes a connection takes and gives before it breaks."""

    received: int = 1 << 60
    sent: int = 1 << 60


class Client(asyncio.Protocol):
    """One connection to a client."""

    def __init__(self, server: ScriptedManager, number: int) -> None:
        self.number = number
        self.budget = Budget()
        self.is_welcomed = False
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

    def stall(self, *, ends: bool) -> None:
        """Take nothing from the client, or go on with it."""
        transport = self._transport
        if transport is not None and not self.is_closing:
            transport.resume_reading() if ends else transport.pause_reading()

    def cut(self) -> None:
        """End the connection behind what has been sent."""
        self._session.close()
        if self._transport is not None:
            self._transport.close()


class ScriptedManager:
    """The queue manager. Every method is called on its event loop.

    before: called with each command before core sees it; what it returns is the answer instead.
    holds: kinds of command whose answers are held back until let_go().
    executed: the commands core has seen, in order.
    """

    def __init__(
        self, name: str, loop: asyncio.AbstractEventLoop, clock: Clock | None = None
    ) -> None:
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
        self._loop = loop
        self._clock = clock or SystemClock()
        self._records: list[Record] = []
        self._numbers = 0
        self._hold: set[tuple[int, int]] = set()

    # -- what tests do to it

    def accept(self) -> Client:
        """Make the end of a new connection."""
        self._numbers += 1
        return Client(self, self._numbers)

    def cut_here(self) -> None:
        """Break every connection."""
        for client in list(self.clients.values()):
            client.cut()

    def die(self) -> None:
        """Break every connection, and begin again with what was logged."""
        self.cut_here()
        self.clients.clear()
        self.held.clear()
        self.qm = QueueManager(self.qm.name, b"loopback-qm2")
        for record in self._records:
            dispatch.replay(self.qm, record)
        self.give(inputs.Restarted())

    def let_go(self) -> None:
        """Send what was held back, and hold nothing more."""
        self.holds = ()
        self._hold.clear()
        held, self.held = self.held, []
        self._send(held)

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
        client.is_welcomed = True

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

    def give(self, given: inputs.Input) -> Effects:
        """Give core an input, as of now. What it causes is not taken up."""
        now = inputs.Now(self._clock.now_ms(), self._clock.elapsed_ms(), -1)
        return dispatch.step(self.qm, now, given)

    def _done(self, executed: Effects) -> list[Reply]:
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
