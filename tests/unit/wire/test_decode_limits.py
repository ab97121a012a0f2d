"""Long commands are looked at before they are decoded."""

import tracemalloc
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import Raw

from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.message import PROPERTIES_MAX, MessageData
from adapter.wire import codec, decode_limits, frames

LONG = "x" * decode_limits.TRUSTED_BYTES


def put(*properties: dict[str, Any]) -> Raw:
    """A long put."""
    messages = [MessageData(body=b"b", application=LONG, properties=each) for each in properties]
    return Raw(msgspec.msgpack.encode(c.Put(1, messages, b"unit")))


def test_properties_that_are_fine() -> None:
    values = {"a": None, "b": True, "c": -1, "d": 2**63, "e": 1.5, "f": "text", "g": b"bytes"}
    command = put({}, values, values)
    assert decode_limits.problem_with(command) == ""
    decoded = codec.decode_command(command)
    assert isinstance(decoded, c.Put)
    assert decoded.messages[1].properties == values


@pytest.mark.parametrize("value", [[], {}, [1] * 20, {str(n): 1 for n in range(20)}])
def test_properties_that_hold_more(value: Any) -> None:
    command = put({"a": 1}, {"a": 1, "b": value})
    assert "a property is text, bytes or a number" in decode_limits.problem_with(command)
    with pytest.raises(frames.ProtocolError, match="a property is text"):
        codec.decode_command(command)


def test_too_many_properties() -> None:
    command = put({str(number): 1 for number in range(PROPERTIES_MAX + 1)})
    assert "length <= 1000" in decode_limits.problem_with(command)


def test_short_commands_and_others_are_not_looked_at() -> None:
    short = Raw(msgspec.msgpack.encode(c.Put(1, [MessageData(properties={"a": []})])))
    assert decode_limits.problem_with(short) == ""
    other = Raw(msgspec.msgpack.encode(c.DefineQueue(LONG, {"a": []})))
    assert decode_limits.problem_with(other) == ""


@pytest.mark.parametrize("data", [b"\x91", b"\xc1", b"\x92\x05\xa1"])
def test_what_is_no_command(data: bytes) -> None:
    assert decode_limits.problem_with(Raw(data * (decode_limits.TRUSTED_BYTES + 1)))


def test_a_tag_written_at_length_is_the_same_tag() -> None:
    command = bytes(put({"a": []}))
    assert command[1] == decode_limits.PUT_TAG
    longer = Raw(command[:1] + b"\xcd\x00\x05" + command[2:])
    assert "a property" in decode_limits.problem_with(longer)


ALL_COMMANDS = get_args(c.Command | frames.ServerCommand)


def unbounded(kind: Any, where: str) -> Iterator[str]:
    """Find what a command's type leaves open: lists and maps without a bound, and open types."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for name, hint in get_type_hints(kind, include_extras=True).items():
            yield from unbounded(hint, f"{where}.{name}")
        return
    bounded = False
    if get_origin(kind) is Annotated:
        kind, *metas = get_args(kind)
        bounded = any(isinstance(one, msgspec.Meta) and one.max_length for one in metas)
    if kind is Any or kind is object:
        yield where
    is_fixed = get_origin(kind) is tuple and ... not in get_args(kind)
    if get_origin(kind) in (list, dict, set, tuple) and not (bounded or is_fixed):
        yield where
    for part in get_args(kind):
        yield from unbounded(part, f"{where}[]")


def test_finding_reliability_small_frames_every_command_is_bounded() -> None:
    looked_at = {
        command.__name__
        for command in ALL_COMMANDS
        if command.__struct_config__.tag in decode_limits.LOOKED_AT
    }
    found = [hole for command in ALL_COMMANDS for hole in unbounded(command, command.__name__)]
    others = [
        hole
        for hole in found
        if not (hole.partition(".")[0] in looked_at and ".properties[]" in hole)
    ]
    assert others == []
    assert looked_at == {"Put", "MsmqSend"} == {hole.partition(".")[0] for hole in found}


BOMB: list[Any] = [[]] * 3_000_000


@pytest.mark.parametrize(
    "command",
    [
        m.MsmqSend(1, MessageData(properties={"a": BOMB})),
        m.MsmqCreate("q", {str(number): 1 for number in range(600_000)}),
        m.MsmqAlter("q", {"a": BOMB}),
        b.BrokerCreate("QUEUE", "q", {"a": BOMB}),
        b.BrokerAlter("QUEUE", "q", {"a": BOMB}),
        b.BrokerSend(b"u", [b""] * 3_000_000),
        c.Put(1, [MessageData(properties={"a": BOMB})]),
    ],
)
def test_finding_reliability_small_frames_decode_to_no_more_than_they_weigh(command: Any) -> None:
    encoded = Raw(msgspec.msgpack.encode(command))
    tracemalloc.start()
    try:
        with pytest.raises(frames.ProtocolError):
            codec.decode_command(encoded)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 3 * len(encoded)
