"""Frames: a 4-byte length (big-endian) and one msgpack array, its first element an integer tag.

A frame of requests carries raw operations, each decoded on its own, so that one malformed
operation answers for itself. Every length is bounded before anything is allocated for it.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.msgpack import Decoder

from adapter.core.contract.commands import Command
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused, Result
from adapter.wire import decode_limits

PROTOCOL_VERSION = 2
"""Version 2 has one-way operations, Touch, Begin.ahead and the option DEFERRED of puts."""
ONE_WAY_VERSION = 2
OLDEST_VERSION = 1
"""The oldest version that is still spoken. Hello, Welcome and Goodbye only ever gain fields at
their end, so that two ends of any versions can tell each other that they have none in common."""
FRAME_BYTES_MAX = 104 * 1024 * 1024
"""The longest message, 100 MiB, and what is around it. Memory is taken as the bytes come."""
OPERATIONS_MAX = 10_000
SEEN_MAX = 10_000
"""Ten times what a client may leave unanswered."""
REPLIES_BYTES = 1024 * 1024
"""Answers are put together in frames of about this size: a long one does not wait for others."""
LENGTH_BYTES = 4


Text = Annotated[str, Meta(max_length=256)]
"""What names a party; none of them has more than 64 letters."""


class ProtocolError(Exception):
    """The other end sent what the protocol does not allow; the connection is of no more use."""


class Hello(Struct, array_like=True, tag=1, kw_only=True):
    """The client's first frame. queue_manager: the name it wants to talk to, "" for any.

    version: the newest that it speaks; oldest: the oldest, 0 if it speaks only that one. channel:
    the name of the channel that a program of IBM MQ connects by.
    """

    version: int
    queue_manager: Text = ""
    application: Text = ""
    user: Text = ""
    oldest: int = 0
    password: Text = ""
    channel: Text = ""


class Welcome(Struct, array_like=True, tag=2, kw_only=True):
    """The server's answer to Hello. connection: its number, as status displays show it.

    version: the one that is spoken from here on, the newest that both ends speak. kafka: where the
    queues' topics are, for those that read them; "" for a queue manager without Kafka.
    """

    version: int
    queue_manager: str
    connection: int
    frame_bytes_max: int = FRAME_BYTES_MAX
    kafka: Text = ""


class Operation(Struct, array_like=True, gc=False):
    """One request. number: 0, or the number of a durable command in the client's session.

    request: the client's own number, by which it is answered; or 0 for an operation that gets no
    answer, which core.tables.is_one_way allows.
    """

    request: int
    number: int
    command: Raw


class Requests(Struct, array_like=True, tag=3):
    """Requests, in order. seen: numbers of outcomes that the client has got since its last.

    A client with large messages says so at once: what is not seen is kept, and when it is too much
    (Limits.kept_bytes), gets outside units wait.
    """

    operations: Annotated[list[Operation], Meta(max_length=OPERATIONS_MAX)]
    seen: Annotated[list[int], Meta(max_length=SEEN_MAX)] = []


class Answer(Struct, array_like=True, gc=False):
    """The answer to one request."""

    request: int
    result: Result


class Replies(Struct, array_like=True, tag=4):
    """Answers, in the order in which they became true."""

    answers: list[Answer]


class Goodbye(Struct, array_like=True, tag=5):
    """The server closes this connection, and says why."""

    reason: Refused


class Stop(Struct, array_like=True, tag=1001):
    """Ask the server process to stop. Not a matter of core.

    immediate: give units in flight no time to end.
    """

    immediate: bool = False


class AskServer(Struct, array_like=True, tag=1002):
    """Ask for the server's figures. Not a matter of core."""


class Figures(Struct, array_like=True, tag=1001):
    """The figures of a server, by name."""

    figures: dict[str, Any]


class AnyAnswer(Struct, array_like=True, gc=False):
    """An answer as a client reads it: a result of core or of the server itself."""

    request: int
    result: Result | Figures


class AnyReplies(Struct, array_like=True, tag=4):
    """Replies as a client reads them."""

    answers: list[AnyAnswer]


Payload = bytes | memoryview
"""Of a frame. A long one is shown where it came in, and not copied."""
COPIED_BYTES = 64 * 1024
"""Of a longer payload, what is decoded keeps the memory that it came in."""
ServerCommand = Stop | AskServer
ClientFrame = Hello | Requests
ServerFrame = Welcome | AnyReplies | Goodbye


def common_version(hello: Hello) -> int:
    """Return the newest version that a client and this release both speak; 0 if they share none."""
    version = min(hello.version, PROTOCOL_VERSION)
    oldest = max(hello.oldest or hello.version, OLDEST_VERSION)
    return version if version >= oldest else 0


def versions_text(oldest: int, newest: int) -> str:
    """Name the versions that an end speaks."""
    return f"version {newest}" if oldest in (0, newest) else f"versions {oldest} to {newest}"


Frame = TypeVar("Frame")

_REPLIES_HEAD = struct.Struct(">IHBI")
"""Of a frame of replies: its length, the tag, and how many answers follow."""
_REPLIES_TAG = (0x9204, 0xDD)
"""In msgpack: an array of two, the number 4, an array whose length has four bytes."""

_encoder = msgspec.msgpack.Encoder()
_client_frames: Decoder[ClientFrame] = Decoder(ClientFrame)
_server_frames: Decoder[ServerFrame] = Decoder(ServerFrame)
_commands: Decoder[Command | ServerCommand] = Decoder(Command | ServerCommand)


def encode(frame: Struct) -> bytes:
    """Return a frame's bytes, length first; ProtocolError if it is too long to be sent."""
    payload = _encoder.encode(frame)
    if len(payload) > FRAME_BYTES_MAX:
        raise ProtocolError(f"a frame of {len(payload)} bytes; {FRAME_BYTES_MAX} is the most")
    return len(payload).to_bytes(LENGTH_BYTES, "big") + payload


def encode_replies(answers: deque[Answer | AnyAnswer]) -> bytearray:
    """Take answers, the first ones first, and encode them as one frame of about REPLIES_BYTES.

    An answer that no frame can carry becomes a refusal. Each answer is encoded into the frame
    itself: a frame of 6 MB that was put together from its parts took 18 MB.
    """
    frame = bytearray(_REPLIES_HEAD.size)
    most = LENGTH_BYTES + FRAME_BYTES_MAX
    count = 0
    while answers and len(frame) < REPLIES_BYTES:
        at = len(frame)
        _encoder.encode_into(answers[0], frame, at)
        if len(frame) > most:
            size = len(frame) - at
            del frame[at:]
            if size <= most - _REPLIES_HEAD.size:
                break  # it has a frame of its own
            _encoder.encode_into(Answer(answers[0].request, _too_long(size)), frame, at)
        answers.popleft()
        count += 1
    _REPLIES_HEAD.pack_into(frame, 0, len(frame) - LENGTH_BYTES, *_REPLIES_TAG, count)
    return frame


def _too_long(size: int) -> Refused:
    text = f"the answer has {size} bytes, {FRAME_BYTES_MAX} is the most: ask for less at once"
    return Refused(Reason.LIMIT_REACHED, "", text)


def raw(command: Command | ServerCommand) -> Raw:
    """Encode a command for an Operation."""
    return Raw(_encoder.encode(command))


def decode_client_frame(payload: Payload) -> ClientFrame:
    """Read what a client sent; ProtocolError if it is no frame."""
    return _decoded(_client_frames, payload)


def decode_server_frame(payload: Payload) -> ServerFrame:
    """Read what a server sent; ProtocolError if it is no frame."""
    return _decoded(_server_frames, payload)


def decode_command(command: Raw) -> Command | ServerCommand:
    """Read one operation's command; ProtocolError says what is wrong with it."""
    problem = decode_limits.problem_with(command)
    if problem:
        raise ProtocolError(f"malformed: {problem}")
    return _decoded(_commands, command)


def _decoded(decoder: Decoder[Frame], payload: Payload | Raw) -> Frame:
    try:
        return decoder.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"malformed: {error}") from error


class FrameBuffer:
    """Cuts a stream of bytes into payloads; holds at most one unfinished frame."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def __len__(self) -> int:
        return len(self._pending)

    def clear(self) -> None:
        """Forget an unfinished frame."""
        self._pending = bytearray()

    def feed(self, data: bytes | bytearray) -> list[Payload]:
        """Take what arrived; return the payloads that are now complete."""
        end = len(data)
        if (
            LENGTH_BYTES <= end <= COPIED_BYTES
            and not self._pending
            and int.from_bytes(data[:LENGTH_BYTES], "big") + LENGTH_BYTES == end
        ):
            return [bytes(data[LENGTH_BYTES:])]  # one frame, whole: the usual case of a client
        return list(self.cut(data))

    def cut(self, data: bytes | bytearray) -> Iterator[Payload]:
        """Take what arrived; give the payloads that are now complete, also those before an error.

        To be iterated to its end, once.
        """
        if not self._pending and LENGTH_BYTES + _length(data) == len(data):
            payload = memoryview(data)[LENGTH_BYTES:]
            return iter((payload if len(payload) > COPIED_BYTES else bytes(payload),))
        return self._cut(data)

    def _cut(self, data: bytes | bytearray) -> Iterator[Payload]:
        whole = data
        if self._pending:
            self._pending += data
            if len(self._pending) < LENGTH_BYTES + _length(self._pending):
                return
            whole, self._pending = self._pending, bytearray()
        at = 0
        with memoryview(whole) as view:
            while len(view) - at >= LENGTH_BYTES:
                end = at + LENGTH_BYTES + _length(view[at : at + LENGTH_BYTES])
                if end > len(view):
                    break
                payload = view[at + LENGTH_BYTES : end]
                yield payload if len(payload) > COPIED_BYTES else bytes(payload)
                at = end
            self._pending += view[at:]


def _length(data: Payload | bytearray) -> int:
    if len(data) < LENGTH_BYTES:
        return 0
    length = int.from_bytes(data[:LENGTH_BYTES], "big")
    if length > FRAME_BYTES_MAX:
        raise ProtocolError(
            f"a frame of {length} bytes was announced; {FRAME_BYTES_MAX} is the "
            "most (is this a client of this protocol?)"
        )
    return length
