"""Links of an event loop: a transport that writes without waiting, and frames that arrive by calls.

What is sent in one turn of the loop goes out together. This module does not know what frames mean.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar, cast

from adapter.connection.channel.addresses import Address, parse_addresses
from adapter.connection.channel.connecting import ConnectOptions, names_by
from adapter.connection.channel.conversation import Conversation, Introduction, frames_of, why_none
from adapter.connection.channel.link.lookup import CONNECT_S_MIN, LookUp
from adapter.connection.channel.link.port import (
    TIMINGS,
    HostNotReached,
    LinkLost,
    TlsRefused,
    WhileFull,
)
from adapter.connection.channel.link.tcp import keep_alive
from adapter.connection.channel.link.tls import check_can_have_tls
from adapter.connection.channel.places import ManagerPlaces, may_lead
from adapter.connection.wire.codec import FrameBuffer, Payload
from adapter.connection.wire.frames import ProtocolError
from adapter.errors import InvalidValue
from adapter.host import addresses
from adapter.host.certificates import said_of
from adapter.host.tls_alerts import AlertingContext, alerts_on

BUFFER_BYTES = 256 * 1024
"""With more than this unsent, verbs wait before they send."""

ResultT = TypeVar("ResultT")


class TaskLink(asyncio.Protocol):
    """A Link of one event loop. arrived: called when there is something to receive."""

    def __init__(self, peer: str, *, leaves_process: bool = True) -> None:
        self.peer = peer
        self.leaves_process = leaves_process
        self.bytes_received = 0
        self.arrived: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._buffer = FrameBuffer()
        self._frames: list[Payload] | None = None
        self._problem: LinkLost | None = None
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._is_paused = False
        self._for_room: deque[asyncio.Future[None]] = deque()

    # -- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._transport = made = cast("asyncio.Transport", transport)
        made.set_write_buffer_limits(high=BUFFER_BYTES)
        sock = made.get_extra_info("socket")
        if sock is not None:
            keep_alive(sock, TIMINGS)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self.bytes_received += len(data)
        try:
            self._frames = [*(self._frames or ()), *self._buffer.feed(data)]
        except ProtocolError as error:
            self._fail(str(error))
        self.arrived()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._fail(said_of(exc) if exc else "the queue manager closed the connection")
        self.resume_writing()
        self.arrived()

    def pause_writing(self) -> None:
        """See asyncio.Protocol."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        self._is_paused = False
        self._wake_for_room()

    # -- what the channel calls, as a Link

    def look_up_every(self, seconds: float) -> None:
        """See Link: no receive blocks."""

    def receive(self) -> list[Payload] | None:
        """Return the frames that have arrived; None if nothing has. Raises LinkLost."""
        frames, self._frames = self._frames, None
        if frames is None and self._problem is not None:
            raise self._problem
        return frames

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:  # noqa: ARG002
        """Send one frame at the end of this turn of the loop. Raises LinkLost."""
        if self._problem is not None or self._transport is None:
            raise self._problem or LinkLost(f"{self.peer}: it is not connected")
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(bytes(frame))
        self._unsent_bytes += len(frame)

    def has_arrived(self) -> bool:
        """See Link."""
        return self._frames is not None or self._problem is not None

    def has_room(self) -> bool:
        """See Link."""
        return not self._is_paused

    def shutdown(self) -> None:
        """End it; what was sent before goes out if the other end takes it at once."""
        self._flush()
        self._fail("the connection is closed")
        transport = self._transport
        if transport is None:
            return
        if transport.get_write_buffer_size():
            transport.abort()
        else:
            transport.close()

    def close(self) -> None:
        """See Link."""
        self.shutdown()

    def disown(self) -> None:
        """See Link. The event loop is the parent's: the descriptor leads nowhere from now on."""
        self._fail("it is its parent's")
        if self._transport is None:
            return
        with suppress(OSError, AttributeError, ValueError):
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, self._transport.get_extra_info("socket").fileno())
            os.close(nowhere)

    # -- what tasks wait for

    @property
    def is_full(self) -> bool:
        """Whether a verb is to wait before it sends."""
        is_behind = self._is_paused or self._unsent_bytes > BUFFER_BYTES
        return is_behind and self._problem is None

    async def drained(self) -> None:
        """Wait until the other end has taken some, or the link has ended."""
        waiter = self._loop.create_future()
        self._for_room.append(waiter)
        await waiter

    async def payloads(self) -> list[Payload]:
        """Wait for the next frames. Raises LinkLost. For a link that carries no requests yet."""
        while True:
            frames = self.receive()
            if frames:
                return frames
            waiter = self._loop.create_future()
            self.arrived = partial(_wake, waiter)
            await waiter

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        self._unsent_bytes = 0
        if unsent and self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(unsent)
        if not self._is_paused:  # by what was written
            self._wake_for_room()

    def _wake_for_room(self) -> None:
        while self._for_room:
            _wake(self._for_room.popleft())

    def _fail(self, why: str) -> None:
        if self._problem is None:
            self._problem = LinkLost(f"{self.peer}: {why}")


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class TaskDialer(Protocol):
    """A place where a queue manager may be."""

    @property
    def place(self) -> str:
        """See ManagerPlace."""

    def toward(self, address: Address) -> TaskDialer | None:
        """See ManagerPlace."""

    async def dial(self, timeout_s: float) -> TaskLink:
        """Connect within a time. Raises HostNotReached."""


class TaskHandshake(Introduction):
    """Opens links to one queue manager, from tasks."""

    def __init__(self, dialers: Sequence[TaskDialer], options: ConnectOptions) -> None:
        super().__init__(*names_by(options))
        self.places = ManagerPlaces(dialers)

    async def open_any(self, timeout_s: float) -> TaskLink:
        """Return a welcomed link of the first dialer that has one; LinkLost says why not."""
        attempts = self.places.attempts()
        while (dialer := attempts.next()) is not None:
            try:
                link = await self._open(dialer, timeout_s)
            except LinkLost as lost:
                attempts.failed(dialer, lost)
                continue
            self.places.reached(dialer)
            return link
        raise why_none(attempts.problems, self.queue_manager)

    async def _open(self, dialer: TaskDialer, timeout_s: float) -> TaskLink:
        deadline_s = time.monotonic() + timeout_s
        link = await dialer.dial(self.places.limit_s(dialer.place, timeout_s))
        timeout_s = max(deadline_s - time.monotonic(), CONNECT_S_MIN)
        try:
            limit_s = self.places.limit_s(link.peer, timeout_s)
            token = await self._token_in_thread(timeout_s)
            await converse(link, self.greeting(link, token), limit_s)
        except BaseException:
            link.close()
            raise
        return link

    async def _token_in_thread(self, timeout_s: float) -> str:
        """Return the token of the moment. What asks for it may take its time: a thread does, so
        that the event loop goes on.
        """
        if self.token_source is None or not self.token_source.is_renewable:
            return self.token_to_show()
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.to_thread(self.token_to_show)
        except TimeoutError:
            raise LinkLost(f"no token came within {timeout_s:.1f} s") from None


class AddressDialer:
    """A TaskDialer of an address, over TCP or a Unix-domain socket."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None = None, host: str = "") -> None:
        """host: what the certificate must name, if not that of the address; see link.tls.shake.

        Raises InvalidOption for TLS on a Unix-domain socket.
        """
        if tls is not None:
            check_can_have_tls(address)
        self._address = address
        self._host = host or address.host
        self._tls = None if tls is None else AlertingContext(tls)

    @property
    def place(self) -> str:
        return str(self._address)

    def toward(self, address: Address) -> AddressDialer | None:
        """See ManagerPlace."""
        if not may_lead(self._address, address, with_tls=self._tls is not None):
            return None
        return AddressDialer(address, self._tls, self._host)

    async def dial(self, timeout_s: float) -> TaskLink:
        """See TaskDialer."""
        address = self._address
        path = address.path
        if self._tls is None:
            path = path or addresses.known_socket(address.host, address.port)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                if path:
                    try:
                        _, link = await loop.create_unix_connection(self._link, path)
                        return link
                    except OSError:
                        if address.path:
                            raise
                if self._tls is not None:
                    return await self._dial_tls(self._tls)
                _, link = await loop.create_connection(self._link, address.host, address.port)
                return link
        except TimeoutError as error:
            raise HostNotReached(f"{address}: timed out") from error
        except ssl.SSLError as error:
            raise TlsRefused(f"{address}: TLS failed: {said_of(error)}") from error
        except OSError as error:
            raise HostNotReached(f"{address}: {_said_of(error)}") from error
        except UnicodeError as error:
            raise HostNotReached(f"{address}: {error}") from error

    async def _dial_tls(self, context: ssl.SSLContext) -> TaskLink:
        """Connect with TLS, on a socket that is known: the queue manager hears of a failure."""
        loop, address = asyncio.get_running_loop(), self._address
        sock = await _connect_socket(loop, address.host, address.port)
        with alerts_on(sock):
            _, link = await loop.create_connection(
                self._link, sock=sock, ssl=context, server_hostname=self._host
            )
        return link

    def _link(self) -> TaskLink:
        return TaskLink(str(self._address))


async def _connect_socket(loop: asyncio.AbstractEventLoop, host: str, port: int) -> socket.socket:
    """Return a socket that is connected to the first address of a host that accepts. Raises
    OSError.
    """
    problem: OSError | None = None
    for family, kind, protocol, _, where in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, where)
            return sock
        except OSError as error:
            sock.close()
            problem = problem or error
        except BaseException:
            sock.close()
            raise
    raise problem or OSError(f"{host} has no address")


def _said_of(error: OSError) -> str:
    """What the system says of a failure: asyncio has put other words in its place."""
    number = error.errno
    return str(error) if number is None or number < 0 else f"[Errno {number}] {os.strerror(number)}"


class TaskLookUpDialer:
    """A TaskDialer of an address that is looked up for each link; a thread does that."""

    def __init__(self, look_up: LookUp, tls: ssl.SSLContext | None = None) -> None:
        self._look_up = look_up
        self._tls = tls

    @property
    def place(self) -> str:
        """See ManagerPlace: it is looked up."""
        return ""

    def toward(self, address: Address) -> AddressDialer | None:
        """See ManagerPlace."""
        is_allowed = may_lead(None, address, with_tls=self._tls is not None)
        return AddressDialer(address, self._tls) if is_allowed else None

    async def dial(self, timeout_s: float) -> TaskLink:
        """See TaskDialer."""
        deadline_s = time.monotonic() + timeout_s
        found = await asyncio.to_thread(self._look_up, timeout_s)
        left_s = max(deadline_s - time.monotonic(), CONNECT_S_MIN)
        try:
            dialer = AddressDialer(parse_addresses(found)[0], self._tls)
        except InvalidValue as error:  # no argument of the program
            raise HostNotReached(f"{found} was looked up: {error.happened}") from error
        return await dialer.dial(left_s)


async def converse(
    link: TaskLink, conversation: Conversation[ResultT], timeout_s: float
) -> ResultT:
    """Have a conversation on a link that carries no requests yet. Raises LinkLost."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _drive(link, conversation)
    except TimeoutError:
        raise LinkLost(f"{link.peer}: the queue manager does not answer") from None


async def _drive(link: TaskLink, conversation: Conversation[ResultT]) -> ResultT:
    frames = None
    while True:
        try:
            say = next(conversation) if frames is None else conversation.send(frames)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if say:
            link.send(say)
        frames = frames_of(await link.payloads(), link.peer)
