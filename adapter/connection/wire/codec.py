"""From frames to bytes and back: a 4-byte length, big-endian, and the frame.

Every length is bounded before anything is allocated for it. This module must not know what a frame
means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from struct import Struct as Layout
from typing import Final, TypeVar, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.msgpack import Decoder

from adapter.connection.wire import decode_limits
from adapter.connection.wire.frames import (
    FRAME_BYTES_MAX,
    ClientFrame,
    Goodbye,
    ProtocolError,
    ServerCommand,
    ServerFrame,
)
from adapter.connection.wire.standby_frames import StandbyChallenge, StandbyFrame, StandbyOrder
from adapter.core.contract.commands import Command
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, PutDone, Refused

LENGTH_BYTES: Final = 4
REPLIES_BYTES: Final = 1024 * 1024
"""Answers are put together in frames of about this size: a long one does not wait for others."""
Payload = bytes | memoryview
"""Of a frame. A long one is shown where it came in, and not copied."""
COPIED_BYTES: Final = 64 * 1024
"""Of a longer payload, what is decoded keeps the memory that it came in."""

Frame = TypeVar("Frame")

_REPLIES_TAG: Final = b"\x92\x04\xdd"
"""In msgpack: an array of two, the number 4, an array whose length has four bytes."""
_HEAD: Final = Layout(f">I{len(_REPLIES_TAG)}sI")
"""Before a frame of replies: its length, the tag, and how many answers follow."""
_REPLIES_HEAD: Final = bytes(_HEAD.size)
_write_head: Final = _HEAD.pack_into
_ONE_REPLY: Final = b"\x92\x04\x91"
"""An array of two, the number 4, an array of one."""
_head_of_one: Final = Layout(f">I{len(_ONE_REPLY)}s").pack
"""Gives the length and that, before a frame of one reply."""
_SHORT_KINDS: Final = frozenset({Done, Refused})
Outgoing = tuple[object, ...]
"""A request's number and its result, which are encoded as an Answer is."""

DECODING_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_encoder: Final = msgspec.msgpack.Encoder()
OwnerFrame = StandbyChallenge | StandbyOrder | Goodbye
"""What an owner sends to a standby."""
_client_frames: Final[Decoder[ClientFrame | StandbyFrame]] = Decoder(ClientFrame | StandbyFrame)
_owner_frames: Final[Decoder[OwnerFrame]] = Decoder(OwnerFrame)
_server_frames: Final[Decoder[ServerFrame]] = Decoder(ServerFrame)
_commands: Final[Decoder[Command | ServerCommand]] = Decoder(Command | ServerCommand)


def encode(frame: Struct) -> bytes:
    """Return a frame's bytes, length first; ProtocolError if it is too long to be sent."""
    payload = _encoder.encode(frame)
    if len(payload) > FRAME_BYTES_MAX:
        raise ProtocolError(f"a frame of {len(payload)} bytes; {FRAME_BYTES_MAX} is the most")
    return len(payload).to_bytes(LENGTH_BYTES, "big") + payload


def encode_replies(answers: deque[Outgoing]) -> bytes | bytearray:
    """Take answers, the first ones first, and encode them as one frame of about REPLIES_BYTES.

    An answer that no frame can carry becomes a refusal. Each answer is encoded into the frame
    itself: a frame of 6 MB that was put together from its parts took 18 MB.
    """
    if len(answers) == 1 and _is_short(answers[0][1]):
        only = _encoder.encode(answers.popleft())
        return _head_of_one(len(_ONE_REPLY) + len(only), _ONE_REPLY) + only
    frame = bytearray(_REPLIES_HEAD)
    size = len(_REPLIES_HEAD)
    most = LENGTH_BYTES + FRAME_BYTES_MAX
    count = 0
    while answers and size < REPLIES_BYTES:
        answer = answers[0]
        _encoder.encode_into(answer, frame, size)
        if len(frame) > most:
            too_long = len(frame) - size
            del frame[size:]
            if too_long <= most - len(_REPLIES_HEAD):
                break  # it has a frame of its own
            _encoder.encode_into((answer[0], _too_long(too_long)), frame, size)
        size = len(frame)
        answers.popleft()
        count += 1
    _write_head(frame, 0, size - LENGTH_BYTES, _REPLIES_TAG, count)
    return frame


def _is_short(result: object) -> bool:
    """Whether a result may be encoded apart from its frame: nothing long is in memory twice."""
    kind = type(result)
    if kind in _SHORT_KINDS:
        return True
    if kind is PutDone:
        return len(cast("PutDone", result).message_ids) == 1
    if kind is not Messages:
        return False
    messages = cast("Messages", result).messages
    return not messages or (len(messages) == 1 and len(messages[0].message.body) <= COPIED_BYTES)


def _too_long(size: int) -> Refused:
    text = f"the answer has {size} bytes, {FRAME_BYTES_MAX} is the most: ask for less at once"
    return Refused(Reason.LIMIT_REACHED, "", text)


def raw(command: Command | ServerCommand) -> Raw:
    """Encode a command for an Operation."""
    return Raw(_encoder.encode(command))


def decode_client_frame(payload: Payload) -> ClientFrame | StandbyFrame:
    """Read what a client or a standby sent; ProtocolError if it is no frame."""
    if len(payload) > decode_limits.TRUSTED_BYTES:
        problem = decode_limits.problem_with_frame(payload)
        if problem:
            raise ProtocolError(f"malformed: {problem}")
    return _decode(_client_frames, payload)


def decode_server_frame(payload: Payload) -> ServerFrame:
    """Read what a server sent; ProtocolError if it is no frame."""
    try:
        return _server_frames.decode(payload)
    except DECODING_ERRORS as error:
        raise ProtocolError(f"malformed: {error}") from error


def decode_owner_frame(payload: Payload) -> OwnerFrame:
    """Read what an owner sent to a standby; ProtocolError if it is no frame."""
    return _decode(_owner_frames, payload)


def decode_command(command: Raw) -> Command | ServerCommand:
    """Read one operation's command; ProtocolError says what is wrong with it."""
    if len(command) <= decode_limits.TRUSTED_BYTES:
        return _decode(_commands, command)
    try:
        return cast("Command | ServerCommand", decode_limits.decode_long(command, _commands))
    except DECODING_ERRORS as error:
        raise ProtocolError(f"malformed: {error}") from error


def _decode(decoder: Decoder[Frame], payload: Payload | Raw) -> Frame:
    try:
        return decoder.decode(payload)
    except DECODING_ERRORS as error:
        raise ProtocolError(f"malformed: {error}") from error


class FrameBuffer:
    """Cuts a stream of bytes into payloads; holds at most one unfinished frame.

    bytes_max: the longest frame that is taken; it may be changed while frames are taken.
    """

    def __init__(self, bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._pending = bytearray()
        self.bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._pending)

    def clear(self) -> None:
        """Forget an unfinished frame."""
        self._pending = bytearray()

    def feed(self, data: bytes | bytearray) -> list[Payload]:
        """Take what arrived; return the payloads that are now complete."""
        if isinstance(data, bytes) and not self._pending and _is_short_frame(data):
            return [data[LENGTH_BYTES:]]
        return list(self.cut(data))

    def cut(self, data: bytes | bytearray) -> Iterable[Payload]:
        """Take what arrived; give the payloads that are now complete, also those before an error.

        To be iterated to its end, once.
        """
        if isinstance(data, bytes) and not self._pending and _is_short_frame(data):
            return [data[LENGTH_BYTES:]]
        if not self._pending and LENGTH_BYTES + self._length(data) == len(data):
            payload = memoryview(data)[LENGTH_BYTES:]
            return [payload if len(payload) > COPIED_BYTES else bytes(payload)]
        return self._cut(data)

    def _cut(self, data: bytes | bytearray) -> Iterator[Payload]:
        whole = data
        if self._pending:
            self._pending += data
            if len(self._pending) < LENGTH_BYTES + self._length(self._pending):
                return
            whole, self._pending = self._pending, bytearray()
        at = 0
        with memoryview(whole) as view:
            while len(view) - at >= LENGTH_BYTES:
                end = at + LENGTH_BYTES + self._length(view[at : at + LENGTH_BYTES])
                if end > len(view):
                    break
                payload = view[at + LENGTH_BYTES : end]
                yield payload if len(payload) > COPIED_BYTES else bytes(payload)
                at = end
            self._pending += view[at:]

    def _length(self, data: Payload | bytearray) -> int:
        if len(data) < LENGTH_BYTES:
            return 0
        length = int.from_bytes(data[:LENGTH_BYTES], "big")
        if data[:LENGTH_BYTES] == b"HTTP":
            raise ProtocolError(
                "an HTTP server answers at this address, and not a queue manager: check the port"
            )
        if length > self.bytes_max:
            raise ProtocolError(
                f"a frame of {length} bytes was announced; {self.bytes_max} is the "
                "most (is this a client of this protocol?)"
            )
        return length


def _is_short_frame(data: bytes) -> bool:
    """Whether this is one frame, whole and short: the usual case."""
    end = len(data)
    if end < LENGTH_BYTES or end > COPIED_BYTES:
        return False
    return (data[0] << 24 | data[1] << 16 | data[2] << 8 | data[3]) + LENGTH_BYTES == end
