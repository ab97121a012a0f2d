"""Frames: any bytes are a frame or a ProtocolError, however they arrive."""

import contextlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter.connection.wire import codec, frames
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused
from tests.support.examples import examples

FAST = settings(max_examples=examples(150))
HELLO = frames.Hello(version=1, queue_manager="QM1", application="a", user="u")
REQUESTS = frames.Requests(
    [
        frames.Operation(1, 0, codec.raw(c.Open(1, "Q", c.INPUT))),
        frames.Operation(
            2, 1, codec.raw(c.Put(1, [MessageData(body=b"x", properties={"a": 1.5})]))
        ),
        frames.Operation(3, 0, codec.raw(c.Get(1, wait_ms=-1, place=(1, 2, 3)))),
    ],
    [1, 2],
)
REPLIES = frames.Replies([frames.Answer(1, Done(3)), frames.Answer(2, Messages([]))])
FULL_FRAME = frames.FRAME_BYTES_MAX.to_bytes(4, "big")


def test_what_is_written_is_read() -> None:
    (payload,) = codec.FrameBuffer().feed(codec.encode(HELLO))
    assert codec.decode_client_frame(payload) == HELLO
    (payload,) = codec.FrameBuffer().feed(codec.encode(REPLIES))
    read = codec.decode_server_frame(payload)
    assert isinstance(read, frames.AnyReplies)
    assert [answer.result for answer in read.answers] == [Done(3), Messages([])]


def test_commands_are_read_one_by_one() -> None:
    (payload,) = codec.FrameBuffer().feed(codec.encode(REQUESTS))
    read = codec.decode_client_frame(payload)
    assert isinstance(read, frames.Requests)
    assert (len(read.operations), read.seen) == (3, [1, 2])
    commands = [codec.decode_command(each.command) for each in read.operations]
    assert commands[0] == c.Open(1, "Q", c.INPUT)
    assert commands[2] == c.Get(1, wait_ms=-1, place=(1, 2, 3))


def test_a_begin_of_an_earlier_version_is_not_ahead() -> None:
    assert codec.decode_command(msgspec.Raw(msgspec.msgpack.encode([18, b"u"]))) == c.Begin(b"u")
    assert codec.decode_command(codec.raw(c.Begin(b"u", ahead=True))) == c.Begin(b"u", True)


def test_every_command_has_a_tag_of_its_own() -> None:
    kinds = c.Command.__args__ + frames.ServerCommand.__args__
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)


@FAST
@given(st.lists(st.integers(1, 40)), st.integers(1, 5))
def test_cuts_do_not_matter(cuts: list[int], copies: int) -> None:
    stream = codec.encode(REQUESTS) * copies
    buffer = codec.FrameBuffer()
    payloads: list[codec.Payload] = []
    for cut in cuts:
        payloads += buffer.feed(stream[:cut])
        stream = stream[cut:]
    payloads += buffer.feed(stream)
    assert payloads == [codec.encode(REQUESTS)[4:]] * copies
    assert len(buffer) == 0


DECODERS: list[Callable[[bytes], object]] = [
    codec.decode_client_frame,
    codec.decode_server_frame,
    lambda payload: codec.decode_command(msgspec.Raw(payload)),
]


@FAST
@given(st.binary(max_size=100))
@example(b"")
@example(b"\x93\x03\xdd\xff\xff\xff\xff\x90")
@example(b"\xdd\xff\xff\xff\xff\x03")
@example(b"\x92\x01\xdb\xff\xff\xff\xff")
@example(b"\x91" * 100)
@example(b"\x91" * 5000)
@example(b"\x93\x0b\xa1Q\x81\xa1a" + b"\x91" * 5000 + b"\x00")
@example(b"\x93\x05\x01\x91\x91\xc7\x0c\xff" + b"\xff" * 12)
@example(b"\x92\x03\xa1\xff")
def test_any_payload_is_a_frame_or_an_error(payload: bytes) -> None:
    for decode in DECODERS:
        with contextlib.suppress(frames.ProtocolError):
            decode(payload)


@FAST
@given(st.data())
def test_a_damaged_frame_is_a_frame_or_an_error(data: st.DataObject) -> None:
    payload = bytearray(codec.encode(REQUESTS)[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(frames.ProtocolError):
        read = codec.decode_client_frame(bytes(payload))
        if isinstance(read, frames.Requests):
            for operation in read.operations:
                with contextlib.suppress(frames.ProtocolError):
                    codec.decode_command(operation.command)


@FAST
@given(st.data())
def test_a_truncated_frame_is_an_error(data: st.DataObject) -> None:
    payload = codec.encode(REQUESTS)[4:]
    cut = payload[: data.draw(st.integers(0, len(payload) - 1))]
    with pytest.raises(frames.ProtocolError, match="malformed"):
        codec.decode_client_frame(cut)


@pytest.mark.parametrize("before", [b"", codec.encode(HELLO)])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_an_announced_length_is_bounded_before_it_is_waited_for(before: bytes, cut: int) -> None:
    buffer = codec.FrameBuffer()
    announced = (frames.FRAME_BYTES_MAX + 1).to_bytes(4, "big")
    buffer.feed(before + announced[:cut])
    with pytest.raises(frames.ProtocolError, match="was announced"):
        buffer.feed(announced[cut:])


def test_frames_before_one_that_is_too_long_are_given() -> None:
    given = iter(codec.FrameBuffer().cut(codec.encode(HELLO) + b"\xff" * 4))
    assert codec.decode_client_frame(next(given)) == HELLO
    with pytest.raises(frames.ProtocolError):
        next(given)


def test_the_largest_frame_is_taken() -> None:
    buffer = codec.FrameBuffer()
    assert buffer.feed(FULL_FRAME) == []
    body = bytes(frames.FRAME_BYTES_MAX)
    assert buffer.feed(body[:-1]) == []
    (payload,) = buffer.feed(b"\0")
    assert len(payload) == frames.FRAME_BYTES_MAX


def test_a_frame_that_nobody_would_take_is_not_sent() -> None:
    body = bytes(frames.FRAME_BYTES_MAX)
    with pytest.raises(frames.ProtocolError, match="is the most"):
        codec.encode(frames.Requests([frames.Operation(1, 0, codec.raw(put(body)))]))


def put(body: bytes) -> c.Put:
    return c.Put(1, [MessageData(body=body)])


def test_a_refusal_travels_as_its_number() -> None:
    goodbye = frames.Goodbye(Refused(Reason.QUEUE_FULL, "Q", "text"))
    read = codec.decode_server_frame(codec.encode(goodbye)[4:])
    assert isinstance(read, frames.Goodbye)
    assert Reason(read.reason.reason) is Reason.QUEUE_FULL


def test_finding_users_section_4_an_http_server_is_called_one() -> None:
    """It was taken for a frame of 1,213,486,160 bytes."""
    with pytest.raises(frames.ProtocolError, match="an HTTP server answers at this address"):
        list(codec.FrameBuffer().feed(b"HTTP/1.1 400 Bad Request\r\n"))
