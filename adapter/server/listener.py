"""The listener: client connections on a loopback address.

Bytes are read into requests for the owner, replies are written back. One connection's faults end
that connection only: what it may make the server hold is bounded in both directions.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import cast

import structlog

from adapter.core.commands import Request
from adapter.core.model.manager import Reply
from adapter.core.reasons import Reason
from adapter.core.results import Done, Refused
from adapter.owner.clock import Clock
from adapter.owner.owner import Owner
from adapter.wire import frames
from adapter.wire.session import Incoming, ServerSession

CONNECTIONS_MAX = 10_000
"""Below the usual limit of open files, with room for the broker's and the movers'."""
UNANSWERED_MAX = 10_000
"""Requests of one connection that may be on their way before its bytes are left in the kernel."""
WRITE_BYTES_MAX = 64 * 1024 * 1024
"""Replies that one client may leave unread before it is cut off: four of the largest frames."""
WRITE_HIGH_BYTES = 1024 * 1024
"""Unread replies at which no more of its requests are read."""

log = structlog.get_logger("mqk.listener")


class NotLoopbackError(ValueError):
    """The address is reachable from other machines, and there is no access control yet."""


def check_loopback(host: str) -> None:
    """Refuse to listen where other machines could connect."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotLoopbackError(f"{host!r} is no address of this machine: {error}") from error
    if not all(ipaddress.ip_address(info[4][0]).is_loopback for info in found):
        raise NotLoopbackError(
            f"{host!r} is reachable from other machines; until there is access control the queue "
            "manager listens on loopback only, such as 127.0.0.1"
        )


class ClientConnection(asyncio.Protocol):
    """One client."""

    def __init__(self, listener: Listener, number: int) -> None:
        self._listener = listener
        self.number = number
        self._session = ServerSession(listener.queue_manager)
        self._transport: asyncio.Transport | None = None
        self._unanswered = 0
        self._write_full = False
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # uvloop's transports have the methods of asyncio.Transport, but not the class.
        self._transport = transport = cast("asyncio.Transport", transport)
        transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        refused = self._listener.admit(self)
        if refused is not None:
            self.goodbye(refused)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's name
        """The client has gone: its units are backed out."""
        self._session.close()
        self._transport = None
        self._listener.gone(self)

    def data_received(self, data: bytes) -> None:
        """Read what has arrived and have it executed."""
        received = self._session.receive(data)
        if received.hello is not None:
            self._listener.welcome(self, received.hello)
        if received.seen:
            self._listener.seen(self, received.seen)
        for operation in received.operations:
            self._unanswered += 1
            self._listener.operation(self, operation)
        if received.goodbye is not None:
            self.goodbye(received.goodbye)
        elif self._unanswered > UNANSWERED_MAX:
            self._throttle()

    def write(self, frame: bytes) -> None:
        """Send one frame; a client that does not read is cut off."""
        if self._transport is None:
            return
        self._transport.write(frame)
        if self._transport.get_write_buffer_size() > WRITE_BYTES_MAX:
            log.warning("client cut off: it does not read its replies", connection=self.number)
            self._transport.abort()

    def answer(self, answers: list[frames.Answer]) -> None:
        """Send replies."""
        self._unanswered -= len(answers)
        for frame in encoded(answers):
            self.write(frame)
        self._throttle()

    def answer_figures(self, request: int, figures: dict[str, object]) -> None:
        """Send the server's figures."""
        self._unanswered -= 1
        answer = frames.AnyAnswer(request, frames.Figures(figures))
        self.write(frames.encode(frames.AnyReplies([answer])))

    def cut(self) -> None:
        """Break the connection without a word, replies and all: for tests of clients."""
        if self._transport is not None:
            self._transport.abort()

    def goodbye(self, reason: Refused) -> None:
        """Say why, and close once that is sent."""
        self._session.close()
        if self._transport is not None:
            self.write(frames.encode(frames.Goodbye(reason)))
            self._transport.close()

    def pause_writing(self) -> None:
        """The client reads slowly: read no more of its requests."""
        self._write_full = True
        self._throttle()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._write_full = False
        self._throttle()

    def _throttle(self) -> None:
        pause = self._write_full or self._unanswered > UNANSWERED_MAX
        if pause == self._paused or self._transport is None or self._transport.is_closing():
            return
        self._paused = pause
        if pause:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()


def encoded(answers: list[frames.Answer]) -> list[bytes]:
    """Encode answers in as few frames as their size allows."""
    try:
        return [frames.encode(frames.Replies(answers))]
    except frames.ProtocolError:
        half = len(answers) // 2
        if not half:
            raise
        return encoded(answers[:half]) + encoded(answers[half:])


class Listener:
    """All client connections of one queue manager: the owner's front."""

    def __init__(self, queue_manager: str, clock: Clock, on_stop: Callable[[], None]) -> None:
        self.queue_manager = queue_manager
        self._clock = clock
        self._on_stop = on_stop
        self._owner: Owner | None = None
        self._clients: dict[int, ClientConnection] = {}
        self._numbers = 0
        self._server: asyncio.Server | None = None
        self._extra_figures: Callable[[], dict[str, object]] = dict
        self.drop_next = False

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open the port; returns the address in use. Call serve() when the owner is running."""
        check_loopback(host)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, host, port, backlog=1024)
        address = self._server.sockets[0].getsockname()
        return address[0], address[1]

    def serve(self, owner: Owner, figures: Callable[[], dict[str, object]] = dict) -> None:
        """Let connections through to the owner."""
        self._owner = owner
        self._extra_figures = figures

    async def shut(self, reason: Refused) -> None:
        """Close the port and say goodbye to everybody."""
        if self._server is not None:
            self._server.close()
        self.close_all(reason)
        await asyncio.sleep(0)

    def abandon(self) -> None:
        """Break every connection without a word."""
        if self._server is not None:
            self._server.close()
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.cut()

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self._clients)

    def _accept(self) -> ClientConnection:
        self._numbers += 1
        return ClientConnection(self, self._numbers)

    # What a connection tells.

    def admit(self, client: ClientConnection) -> Refused | None:
        """Say whether one more connection is welcome."""
        if self._owner is None or not self._owner.running:
            return Refused(
                Reason.QUEUE_MANAGER_NOT_AVAILABLE,
                self.queue_manager,
                "it is starting or stopping; try again",
            )
        if len(self._clients) >= CONNECTIONS_MAX:
            return Refused(
                Reason.LIMIT_REACHED, self.queue_manager, f"{CONNECTIONS_MAX} clients are connected"
            )
        self._clients[client.number] = client
        self._owner.loop.connect(client.number)
        return None

    def gone(self, client: ClientConnection) -> None:
        """A connection has ended."""
        known = self._clients.pop(client.number, None)
        if known is not None and self._owner is not None and self._owner.running:
            self._owner.loop.disconnect(client.number)

    def welcome(self, client: ClientConnection, hello: frames.Hello) -> None:
        """Answer a client's first frame."""
        client.write(
            frames.encode(
                frames.Welcome(
                    version=frames.PROTOCOL_VERSION,
                    queue_manager=self.queue_manager,
                    connection=client.number,
                )
            )
        )
        log.debug("client connected", connection=client.number, application=hello.application)

    def seen(self, client: ClientConnection, numbers: list[int]) -> None:
        """A client has seen these outcomes."""
        if self._owner is not None and self._owner.running:
            self._owner.loop.acknowledge(client.number, numbers)

    def operation(self, client: ClientConnection, operation: Incoming) -> None:
        """Have one operation executed, or answer it here."""
        command = operation.command
        if isinstance(command, Refused):
            client.answer([frames.Answer(operation.request, command)])
        elif isinstance(command, frames.Stop):
            client.answer([frames.Answer(operation.request, Done())])
            self._on_stop()
        elif isinstance(command, frames.AskServer):
            client.answer_figures(operation.request, self.figures())
        elif self._owner is not None and self._owner.running:
            self._owner.request(
                Request(
                    client.number,
                    operation.request,
                    operation.number,
                    self._clock.now_ms(),
                    command,
                )
            )

    def figures(self) -> dict[str, object]:
        """Return what `mqk qmgr status` shows."""
        figures: dict[str, object] = {
            "queue_manager": self.queue_manager,
            "connections": len(self._clients),
        }
        if self._owner is not None:
            figures |= self._owner.statistics()
        return figures | self._extra_figures()

    # What the owner tells.

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Write replies to their connection, if it is still there."""
        client = self._clients.get(connection)
        if client is None:
            return
        if self.drop_next:
            self.drop_next = False
            client.cut()
            return
        client.answer([frames.Answer(reply.request, reply.result) for reply in replies])

    def close(self, connection: int, reason: Refused | None) -> None:
        """End one connection; the owner knows already."""
        client = self._clients.pop(connection, None)
        if client is not None:
            client.goodbye(reason or Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE))

    def close_all(self, reason: Refused) -> None:
        """End every connection; the owner knows already."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.goodbye(reason)
