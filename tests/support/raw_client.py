"""A client that sends whatever a test wants: bytes, frames of any shape, commands of any kind.

It reads answers with msgspec alone, so that nothing of the SDK stands between a test and the wire.
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Any, Self

import msgspec

from adapter.connection.wire import frames
from adapter.core.contract.reasons import Reason

WAIT_S = 30.0
HELLO, WELCOME, REQUESTS, REPLIES, GOODBYE = 1, 2, 3, 4, 5
REFUSED = 2


class Refusal(msgspec.Struct, frozen=True):
    """Why a request was refused, or a connection ended."""

    reason: Reason
    name: str
    detail: str


class RawClient:
    """One connection; a context manager. timeout_s bounds every wait for the other end."""

    def __init__(self, address: str, *, timeout_s: float = WAIT_S, receive_bytes: int = 0) -> None:
        host, port = address.split(":")
        self.sock = socket.socket()
        if receive_bytes:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.sock.settimeout(timeout_s)
        self.sock.connect((host, int(port)))
        self.session = b""
        self._buffer = b""
        self._requests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sock.close()

    @property
    def port(self) -> int:
        """Its own port."""
        return int(self.sock.getsockname()[1])

    # -- sending

    def send(self, data: bytes) -> None:
        """Send bytes as they are; that the other end has closed meanwhile is no error."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def send_frame(self, payload: Any) -> None:
        """Send anything as a frame."""
        self.send(framed(msgspec.msgpack.encode(payload)))

    def hello(self, **fields: Any) -> None:
        """Say hello, and be welcomed."""
        self.say_hello(**fields)
        frame = self.receive()
        assert frame[0] == WELCOME, frame

    def say_hello(
        self, version: int = frames.PROTOCOL_VERSION, queue_manager: str = "", user: str = ""
    ) -> None:
        self.send_frame([HELLO, version, queue_manager, "a test", user])

    def request(self, *commands: Any, number: int = 0) -> int:
        """Send commands in one frame, of which the last may have a number; the last's request."""
        operations = []
        for command in commands:
            self._requests += 1
            operations.append([self._requests, 0, command])
        operations[-1][1] = number
        self.send_frame([REQUESTS, operations, []])
        return self._requests

    def tell(self, *commands: Any) -> None:
        """Send commands in one frame as one-way operations, which are not answered."""
        self.send_frame([REQUESTS, [[0, 0, command] for command in commands], []])

    def open_session(self, ident: bytes) -> None:
        """Make a session known."""
        self.session = ident
        assert self.ask([1, ident])[0] != REFUSED

    # -- receiving

    def ask(self, *commands: Any, number: int = 0) -> Any:
        """Send commands and return the last one's answer."""
        wanted = self.request(*commands, number=number)
        while True:
            frame = self.receive()
            assert frame[0] == REPLIES, frame
            for request, result in frame[1]:
                if request == wanted:
                    return result

    def refused(self, *commands: Any, number: int = 0) -> Refusal:
        """Send commands of which the last is refused; why."""
        answer = self.ask(*commands, number=number)
        assert answer[0] == REFUSED, answer
        return refusal(answer)

    def receive(self) -> Any:
        """Return the next frame; EOFError if the other end has closed."""
        while True:
            length = int.from_bytes(self._buffer[:4], "big") + 4 if len(self._buffer) >= 4 else 0
            if length and len(self._buffer) >= length:
                payload, self._buffer = self._buffer[4:length], self._buffer[length:]
                return msgspec.msgpack.decode(payload)
            data = self.sock.recv(1 << 20)
            if not data:
                raise EOFError
            self._buffer += data

    def goodbye(self) -> Refusal:
        """Read on until the other end says goodbye and closes; why."""
        while True:
            frame = self.receive()
            if frame[0] == GOODBYE:
                self.await_end()
                return refusal(frame[1])

    def await_end(self) -> None:
        """Wait until the other end has closed, or broken, the connection."""
        try:
            while self.sock.recv(1 << 20):
                continue
        except ConnectionResetError:
            return

    def break_off(self) -> None:
        """End the connection without a word, by a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def framed(payload: bytes) -> bytes:
    """Put a length before bytes."""
    return len(payload).to_bytes(4, "big") + payload


def refusal(answer: Any) -> Refusal:
    """Read a Refused."""
    fields = [*answer[1:], "", ""]
    return Refusal(Reason(fields[0]), fields[1], fields[2])
