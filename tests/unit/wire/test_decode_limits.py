"""Long commands are looked at before they are decoded."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from adapter.core.contract import commands as c
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
