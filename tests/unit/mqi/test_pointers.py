"""What a program's structures point to."""

import ctypes
from typing import Any

import pytest

from adapter.mqi import pointers
from adapter.mqi.reasons import MqiFailure

REFUSED = 2440


def pointing_at(
    buffer: "ctypes.Array[ctypes.c_char] | None", length: int, *, room: int = 0, offset: int = 0
) -> dict[str, Any]:
    """The fields of an MQCHARV called Text."""
    pointer = 0 if buffer is None else ctypes.addressof(buffer)
    return {"TextPtr": pointer, "TextOffset": offset, "TextBufSize": room, "TextLength": length}


def test_a_text_has_its_length_or_ends_with_a_zero() -> None:
    buffer = ctypes.create_string_buffer(b"a topic ")
    assert pointers.charv(pointing_at(buffer, 4), "Text") == "a to"
    assert pointers.charv(pointing_at(buffer, -1), "Text") == "a topic ", "blanks are letters"
    assert pointers.charv(pointing_at(buffer, 9), "Text") == "a topic "
    assert pointers.charv(pointing_at(None, 0), "Text") == ""
    assert pointers.charv(pointing_at(buffer, 0), "Text") == ""


@pytest.mark.parametrize(("length", "offset"), [(-2, 0), (10_241, 0), (4, 8)])
def test_what_is_no_text(length: int, offset: int) -> None:
    fields = pointing_at(ctypes.create_string_buffer(b"text"), length, offset=offset)
    with pytest.raises(MqiFailure) as refused:
        pointers.charv(fields, "Text", REFUSED)
    assert refused.value.reason == REFUSED


def test_a_length_without_a_pointer() -> None:
    with pytest.raises(MqiFailure):
        pointers.charv(pointing_at(None, 4), "Text")


def test_a_text_is_written_as_far_as_there_is_room() -> None:
    buffer = ctypes.create_string_buffer(b"........")
    fields = pointing_at(buffer, 0, room=4)
    pointers.fill(fields, "Text", "längst")
    assert buffer.raw[:5] == "län".encode() + b"."
    assert fields["TextLength"] == len("längst".encode())
    fields = pointing_at(buffer, 0, room=8)
    pointers.fill(fields, "Text", "x")
    assert buffer.raw[:2] == b"x\xc3"
    assert fields["TextLength"] == 1


def test_without_a_buffer_the_length_is_told() -> None:
    for fields in (pointing_at(None, 0, room=4), pointing_at(ctypes.create_string_buffer(4), 0)):
        pointers.fill(fields, "Text", "text")
        assert fields["TextLength"] == 4
