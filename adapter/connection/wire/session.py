"""The server's end of a client connection, sans-I/O.

States: NEW (only Hello or StandbyHello is legal), OPEN (only Requests), STANDBY (only
StandbyReport), CLOSED (nothing). Anything else closes the connection with a Goodbye that says why;
other connections are not concerned.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Raw, structs

from adapter.connection.wire import codec, frames
from adapter.connection.wire.frames import Requests
from adapter.connection.wire.standby_frames import (
    LINK_VERSION,
    StandbyFrame,
    StandbyHello,
    StandbyReport,
)
from adapter.core.contract.commands import Command
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused

_as_tuple: Final = structs.astuple  # not looked up each time


class ProtocolState(Enum):
    """Where a connection stands."""

    NEW = "new"
    OPEN = "open"
    STANDBY = "a standby's"
    CLOSED = "closed"


CLOSED: Final = ProtocolState.CLOSED
OPEN: Final = ProtocolState.OPEN


class Incoming:
    """One operation that arrived, encoded: what it decodes to is not kept until its turn comes."""

    __slots__ = ("number", "raw", "request")

    def __init__(self, request: int, number: int, raw: Raw) -> None:
        self.request = request
        self.number = number
        self.raw = raw

    @property
    def command(self) -> Command | frames.ServerCommand | Refused:
        """Read the command, or say what is wrong with it."""
        try:
            return codec.decode_command(self.raw)
        except frames.ProtocolError as error:
            return Refused(Reason.MALFORMED_REQUEST, "", str(error))


class Received:
    """What some bytes amounted to. goodbye: the connection is to be closed with this."""

    __slots__ = ("goodbye", "hello", "of_standby", "operations", "seen")

    def __init__(self) -> None:
        self.hello: frames.Hello | None = None
        self.of_standby: list[StandbyFrame] = []
        self.operations: list[Incoming] = []
        self.seen: list[int] = []
        self.goodbye: Refused | None = None


class ServerSession:
    """Reads one client's bytes."""

    def __init__(self, queue_manager: str) -> None:
        self._queue_manager = queue_manager
        self._buffer = codec.FrameBuffer(frames.HELLO_BYTES_MAX)
        self.state = ProtocolState.NEW

    def receive(self, data: bytes) -> Received:
        """Take what arrived from the client."""
        received = Received()
        if self.state is CLOSED:
            return received
        try:
            for payload in self._buffer.cut(data):
                self._frame(codec.decode_client_frame(payload), received)
                if received.goodbye is not None:
                    break
        except frames.ProtocolError as error:
            self._refuse(received, Reason.MALFORMED_REQUEST, str(error))
        return received

    @property
    def unfinished_bytes(self) -> int:
        """How much of a frame has come whose rest has not."""
        return len(self._buffer)

    @property
    def has_more_than_a_hello(self) -> bool:
        """Whether more of a frame has come than a hello has: of a stranger no more is read then,
        for it would fill the memory that is for the frames of clients.
        """
        return len(self._buffer) > frames.HELLO_BYTES_MAX

    def close(self) -> None:
        """Take no more."""
        self.state = ProtocolState.CLOSED
        self._buffer.clear()

    def _frame(self, frame: frames.ClientFrame | StandbyFrame, received: Received) -> None:
        if self.state is OPEN and isinstance(frame, Requests):
            seen = frame.seen
            if seen:
                received.seen.extend(seen)
            for operation in frame.operations:
                request, number, raw = _as_tuple(operation)
                received.operations.append(Incoming(request, number, raw))
        elif self.state is ProtocolState.NEW and isinstance(frame, frames.Hello):
            self._hello(frame, received)
        elif self.state is ProtocolState.NEW and isinstance(frame, StandbyHello):
            self._standby_hello(frame, received)
        elif self.state is ProtocolState.STANDBY and isinstance(frame, StandbyReport):
            received.of_standby.append(frame)
        else:
            name = type(frame).__name__
            text = f"{name} is not expected on a connection that is {self.state.value}"
            self._refuse(received, Reason.MALFORMED_REQUEST, text)

    def _hello(self, hello: frames.Hello, received: Received) -> None:
        if not frames.common_version(hello):
            older = "queue manager" if hello.version > frames.PROTOCOL_VERSION else "client"
            ours = frames.versions_text(frames.OLDEST_VERSION, frames.PROTOCOL_VERSION)
            text = (
                f"the client speaks {frames.versions_text(hello.oldest, hello.version)}, this "
                f"queue manager {ours}: install a newer release of the {older}"
            )
            self._refuse(received, Reason.PROTOCOL_VERSION_ERROR, text)
        elif hello.queue_manager not in ("", self._queue_manager):
            self._refuse_name(hello.queue_manager, received)
        else:
            self.state = ProtocolState.OPEN
            self._buffer.bytes_max = frames.FRAME_BYTES_MAX
            received.hello = hello

    def _standby_hello(self, hello: StandbyHello, received: Received) -> None:
        if hello.version != LINK_VERSION:
            text = f"the standby's link has version {hello.version}, this owner's {LINK_VERSION}"
            self._refuse(received, Reason.PROTOCOL_VERSION_ERROR, text)
        elif hello.queue_manager != self._queue_manager:
            self._refuse_name(hello.queue_manager, received)
        else:
            self.state = ProtocolState.STANDBY
            self._buffer.bytes_max = frames.FRAME_BYTES_MAX
            received.of_standby.append(hello)

    def _refuse_name(self, name: str, received: Received) -> None:
        text = f"this is {self._queue_manager}"
        received.goodbye = Refused(Reason.QUEUE_MANAGER_NAME_ERROR, name, text)
        self.state = ProtocolState.CLOSED

    def _refuse(self, received: Received, reason: Reason, text: str) -> None:
        received.goodbye = Refused(reason, "", text)
        self.state = ProtocolState.CLOSED
