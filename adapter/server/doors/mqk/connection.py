"""One client's connection: bytes in, requests to the owner, replies out, and bounds on all of it.

A client's requests are executed a slice at a time, and only while it takes its replies: so no
client holds up the others, and none makes the server keep more for it than the bounds here say. A
connection's faults end that connection only. This module knows neither the owner nor the others.
"""

from __future__ import annotations

import asyncio
import socket
import time
from abc import abstractmethod
from collections import deque
from typing import Final, cast

import structlog

from adapter.connection.wire import codec, frames
from adapter.connection.wire.heartbeats import (
    CLIENT_DEAD,
    CLIENT_HEARTBEAT,
    SERVER_HEARTBEAT,
    Finding,
    Heartbeat,
    looks_of,
)
from adapter.connection.wire.session import Incoming, ProtocolState, ServerSession
from adapter.connection.wire.standby_frames import StandbyFrame
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.host import addresses
from adapter.server.doors.mqk.progress import ClientProgress
from adapter.server.listen.connections import ClientConnections

WRITE_HIGH_BYTES: Final = 1024 * 1024
"""Unread replies at which no more of a client's requests are executed, nor replies encoded."""

log = structlog.get_logger("mqk.listener")


class FrameHandler:
    """What is done with the frames of a connection."""

    @abstractmethod
    def welcome(self, client: ClientConnection, hello: frames.Hello) -> None:
        """Answer a client's first frame."""

    @abstractmethod
    def of_standby(self, client: ClientConnection, frame: StandbyFrame) -> None:
        """Take a frame of a standby."""

    @abstractmethod
    def gone(self, client: ClientConnection) -> None:
        """A connection has ended."""

    @abstractmethod
    def seen(self, client: ClientConnection, numbers: list[int]) -> None:
        """A client has seen these outcomes."""

    @abstractmethod
    def operation(self, client: ClientConnection, operation: Incoming) -> None:
        """Have one operation executed, or answer it."""


class ClientConnection(asyncio.Protocol):
    """One client."""

    def __init__(
        self,
        connections: ClientConnections,
        handler: FrameHandler,
        number: int,
        principal: Principal | None = None,
    ) -> None:
        """principal: who the client is, if that is known before it says anything."""
        self.number = number
        self.principal = principal
        self.peer = addresses.HERE
        self.party: Party | None = None
        self._connections = connections
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._session = ServerSession(connections.queue_manager)
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[Incoming] = deque()
        self._outbox: deque[codec.Outgoing] = deque()
        self._farewell: Refused | None = None
        self._unanswered = 0
        self._scheduled = False
        self._has_sent = False
        self._is_in = False
        self._write_full = self._paused = self._held_back = False
        self._progress = ClientProgress(connections.bounds)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # uvloop's transports have the methods of asyncio.Transport, but not the class.
        self._transport = transport = cast("asyncio.Transport", transport)
        transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        self.peer = addresses.peer_of(transport)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        refused = self._connections.begin(self)
        if refused is not None:
            self.goodbye(refused)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's name
        """The client has gone: its units are backed out."""
        self._close_session()
        self._transport = None
        self._connections.gone(self)
        self._handler.gone(self)

    def data_received(self, data: bytes) -> None:
        """Read what has arrived and have it executed."""
        progress = self._progress
        progress.arrivals += 1
        if data == CLIENT_HEARTBEAT and self._is_in and not progress.unfinished_bytes:
            return
        received = self._session.receive(data)
        self._count_unfinished(bool(received.operations))
        if received.hello is not None:
            self._handler.welcome(self, received.hello)
        for frame in received.of_standby:
            self._handler.of_standby(self, frame)
        if received.seen:
            self._handler.seen(self, received.seen)
        self._farewell = self._farewell or received.goodbye
        self._waiting.extend(received.operations)
        if not self._scheduled:
            self._execute()

    def end_in(self, seconds: float) -> None:
        """End the connection then: what proves who the client is does not hold for longer."""
        self._progress.proof_until_s = time.monotonic() + seconds

    def let_in(self) -> None:
        """Execute what it asks, from now on."""
        self._is_in = True
        self.go_on()

    def reply(self, replies: list[Reply]) -> None:
        """Send the owner's replies, as soon as the client takes them."""
        self._unanswered -= len(replies)
        for reply in replies:
            self._outbox.append((reply.request, reply.result))
        parting = self._connections.parting
        if parting is not None and self._is_at_rest():
            self.goodbye(parting)  # with the last reply: the client does not begin anything else
            return
        self._send()
        self.go_on()

    def part(self, reason: Refused) -> bool:
        if not self._progress.was_answered() and self._is_at_rest():
            self.goodbye(reason)
            return False
        term = self._connections.term
        return term is not None and not term.waits(self.number)

    def _is_at_rest(self) -> bool:
        """Whether nothing that the client has asked is under way, nor a unit of it in flight."""
        if self._unanswered or self._waiting or self._write_full or self._session.unfinished_bytes:
            return False
        term = self._connections.term
        return term is None or term.is_between_units(self.number)

    def answer(self, *answers: codec.Outgoing) -> None:
        """Send replies, as soon as the client takes them."""
        self._unanswered -= len(answers)
        self._outbox.extend(answers)
        self._send()
        self.go_on()

    def write(self, frame: bytes | bytearray) -> None:
        """Send one frame now."""
        if self._transport is not None and not self._transport.is_closing():
            self._progress.written_bytes += len(frame)
            self._transport.write(frame)

    def cut(self) -> None:
        """Break the connection without a word, replies and all."""
        if self._transport is not None:
            self._transport.abort()

    def goodbye(self, reason: Refused) -> None:
        """Say why, and close once that and the replies before it are sent."""
        while self._outbox and not self._write_full:
            self._send_frame()
        self._close_session()
        if self._transport is not None:
            moved_to = self._connections.moved_to(self.peer.is_encrypted)
            self.write(codec.encode(frames.Goodbye(reason, moved_to)))
            self._transport.close()

    def look(self, now_s: float) -> None:
        """End the connection if the client has left something half done for too long."""
        if self._transport is None:
            return
        if self._held_back:
            self._progress.excuse(now_s)
        state = self._session.state
        has_greeted = state is ProtocolState.OPEN or (
            state is ProtocolState.STANDBY and self._is_in
        )
        unread_bytes = self._transport.get_write_buffer_size()
        late = self._progress.why_late(now_s, has_greeted=has_greeted)
        if late is not None:
            self.goodbye(late)
        elif not self._held_back and not self._progress.reads(now_s, unread_bytes):
            log.warning(
                "slow client disconnected: it does not read its replies",
                connection=self.number,
                unread_bytes=unread_bytes,
            )
            self.cut()

    def keep_alive(self, interval_ms: int) -> None:
        """Send heartbeats from now on, and expect some. interval_ms: as agreed; 0 for none."""
        looks = looks_of(interval_ms, self._connections.bounds.heartbeat_look_s)
        self._progress.heartbeat = Heartbeat(looks, CLIENT_DEAD) if looks else None

    def beat(self) -> None:
        """Speak if this end has been silent; end the connection if the client is dead."""
        progress, transport = self._progress, self._transport
        heartbeat = progress.heartbeat
        if heartbeat is None or transport is None or transport.is_closing():
            return
        found = heartbeat.look(progress.written_bytes, progress.arrivals)
        if self._paused:
            heartbeat.excuse()  # nothing is read of it now
        elif found is Finding.DEAD:
            log.warning("dead client disconnected: nothing comes from it", connection=self.number)
            self.cut()
        if found is Finding.SPEAK and not self._write_full:
            self.write(SERVER_HEARTBEAT)

    def hold_back(self, held: bool) -> None:
        """Read nothing more, as of a long frame while there is no room for it, or go on."""
        self._held_back = held
        self._throttle()

    def pause_writing(self) -> None:
        """The client reads slowly: execute no more of its requests."""
        self._write_full = True
        self._throttle()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._write_full = False
        self._send()
        self.go_on()

    def _execute(self) -> None:
        """Execute what waits, for one slice of time."""
        self._scheduled = False
        waiting = self._waiting
        until_s = time.monotonic() + self._connections.slice_s if len(waiting) > 1 else 0.0
        while waiting and self._may_execute():
            operation = waiting.popleft()
            if operation.request:
                self._unanswered += 1
            self._handler.operation(self, operation)
            if waiting and time.monotonic() > until_s:
                break
        if self._farewell is not None and not self._waiting:
            self.goodbye(self._farewell)
        self.go_on()

    def _may_execute(self) -> bool:
        return bool(
            self._is_in
            and not self._outbox
            and not self._write_full
            and self._unanswered < self._connections.unanswered_max
            and self._has_room()
        )

    def _has_room(self) -> bool:
        """One request of each client may always be on its way; more, while not too much waits."""
        if not self._unanswered or self._connections.has_room():
            return True
        self._connections.wait_for_room(self)
        return False

    def go_on(self) -> None:
        """Execute more of what waits when others have had their turn; read no more till then."""
        if self._waiting and not self._scheduled and self._may_execute():
            self._scheduled = True
            self._loop.call_soon(self._execute)
        self._throttle()

    def _send(self) -> None:
        """Encode replies, as long as the client takes them, and some in each turn of the loop.

        The loop keeps what it has written until its next turn, even if the client has read it all.
        """
        sent_bytes = 0
        while self._outbox and not self._write_full and not self._has_sent:
            sent_bytes += self._send_frame()
            if sent_bytes >= WRITE_HIGH_BYTES:
                self._has_sent = True
                self._loop.call_soon(self._send_on)

    def _send_frame(self) -> int:
        """Send the first replies; return how many bytes they have."""
        frame = codec.encode_replies(self._outbox)
        self.write(frame)
        return len(frame)

    def _send_on(self) -> None:
        """Send more, in another turn of the loop."""
        self._has_sent = False
        self._send()
        self.go_on()

    def _throttle(self) -> None:
        pause = self._write_full or self._held_back or bool(self._waiting)
        pause |= not self._is_in and self._session.has_more_than_a_hello
        if pause == self._paused or self._transport is None or self._transport.is_closing():
            return
        self._paused = pause
        if pause:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _close_session(self) -> None:
        self._session.close()
        self._waiting.clear()
        self._outbox.clear()
        self._farewell = None
        self._count_unfinished(False)

    def _count_unfinished(self, finished_one: bool) -> None:
        """Keep count of unfinished bytes, and since when the frame that they belong to waits."""
        now_bytes = self._session.unfinished_bytes
        if not now_bytes and not self._progress.unfinished_bytes:
            return
        is_new = self._progress.note_unfinished(now_bytes, finished_one)
        self._connections.budget.has_come(self, now_bytes, new=is_new)
