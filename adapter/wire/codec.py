"""From frames to bytes and back: a 4-byte length, big-endian, and the frame.

Every length is bounded before anything is allocated for it. This module must not know what a frame
means.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import Final, TypeVar, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.msgpack import Decoder

from adapter.core.contract.commands import Command
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.wire import decode_limits
from adapter.wire.frames import (
    FRAME_BYTES_MAX,
    Answer,
    AnyAnswer,
    ClientFrame,
    ProtocolError,
    ServerCommand,
    ServerFrame,
)

LENGTH_BYTES: Final = 4
REPLIES_BYTES: Final = 1024 * 1024
"""Answers are put together in frames of about this size: a long one does not wait for others."""
Payload = bytes | memoryview
"""Of a frame. A long one is shown where it came in, and not copied."""
COPIED_BYTES: Final = 64 * 1024
"""Of a longer payload, what is decoded keeps the memory that it came in."""

Frame = TypeVar("Frame")

_REPLIES_HEAD: Final = struct.Struct(">IHBI")
"""Of a frame of replies: its length, the tag, and how many answers follow."""
_REPLIES_TAG: Final = (0x9204, 0xDD)
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
    problem = decode_limits.problem_with_frame(payload)
    if problem:
        raise ProtocolError(f"malformed: {problem}")
    return _decode(_client_frames, payload)


def decode_server_frame(payload: Payload) -> ServerFrame:
    """Read what a server sent; ProtocolError if it is no frame."""
    return _decode(_server_frames, payload)


def decode_command(command: Raw) -> Command | ServerCommand:
    """Read one operation's command; ProtocolError says what is wrong with it."""
    if len(command) <= decode_limits.TRUSTED_BYTES:
        return _decode(_commands, command)
    try:
        return cast("Command | ServerCommand", decode_limits.decode_long(command, _commands))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"malformed: {error}") from error


def _decode(decoder: Decoder[Frame], payload: Payload | Raw) -> Frame:
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
    if data[:LENGTH_BYTES] == b"HTTP":
        raise ProtocolError(
            "an HTTP server answers at this address, and not a queue manager: check the port"
        )
    if length > FRAME_BYTES_MAX:
        raise ProtocolError(
            f"a frame of {length} bytes was announced; {FRAME_BYTES_MAX} is the "
            "most (is this a client of this protocol?)"
        )
    return length
