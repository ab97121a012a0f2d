"""Messages of PCF as bytes: the layouts, both byte orders, and what is no PCF."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.administration.pcf.structures import (
    BYTES,
    COMMAND_XR,
    GROUP,
    INTEGER_64,
    INTEGER_FILTER,
    STRING_FILTER,
    Bytes,
    CommandHeader,
    FilterParameter,
    GroupParameter,
    Integer,
    Integers,
    Parameter,
    PcfError,
    String,
    Strings,
    check_request,
    decode,
    encode,
)
from adapter.character_sets import CODECS, Order, codec_of

ASKED = CommandHeader(type=COMMAND_XR, version=3, command=13)
EVERY: list[Parameter] = [
    Integer(20, -1),
    Integer(21, 2**40, wide=True),
    String(2016, "ABC"),
    String(2013, ""),
    Integers(1002, (1, 2, 3)),
    Integers(1003, ()),
    Strings(2020, ("A", "BB", "")),
    Bytes(7006, b"\0\1\2\3\4"),
    FilterParameter(3, 4, 0),
    FilterParameter(2013, 18, "IBM MQ *"),
    FilterParameter(7010, 2, b"xyz"),
    GroupParameter(8001, (Integer(1, 2), String(3, "x"))),
    Integer(5, 6),
]


def int32s(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def head(count: int, command: int = 13) -> bytes:
    return int32s(16, 36, 3, command, 1, 1, 0, 0, count)


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_structure_comes_back(order: Order) -> None:
    found = decode(encode(ASKED, EVERY, order))
    assert found.order == order
    assert found.parameters == EVERY
    assert (found.header.command, found.header.count) == (13, len(EVERY))


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Integer(20, 1), int32s(3, 16, 20, 1)),
        (Integer(20, 1, wide=True), int32s(INTEGER_64, 24, 20, 0, 1, 0)),
        (String(2016, "ABCDE"), int32s(4, 28, 2016, 1208, 5) + b"ABCDE\0\0\0"),
        (String(2016, "A", 4), int32s(4, 24, 2016, 1208, 4) + b"A   "),
        (Integers(1002, (7, 8)), int32s(5, 24, 1002, 2, 7, 8)),
        (Strings(2020, ("A", "BCDEF")), int32s(6, 40, 2020, 1208, 2, 8) + b"A       BCDEF   "),
        (Bytes(7006, b"\1\2"), int32s(BYTES, 20, 7006, 2) + b"\1\2\0\0"),
        (FilterParameter(3, 4, 9), int32s(INTEGER_FILTER, 20, 3, 4, 9)),
        (FilterParameter(2, 18, "A*"), int32s(STRING_FILTER, 28, 2, 18, 1208, 2) + b"A*\0\0"),
        (GroupParameter(8001, (Integer(1, 2),)), int32s(GROUP, 16, 8001, 1, 3, 16, 1, 2)),
    ],
)
def test_the_layout_is_that_of_the_manual(parameter: Parameter, expected: bytes) -> None:
    assert encode(ASKED, [parameter])[36:] == expected


def test_the_header_is_nine_numbers() -> None:
    assert encode(ASKED, []) == head(0)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("ccsid", CODECS)
def test_a_string_may_be_in_any_character_set_of_the_mqi(ccsid: int, order: Order) -> None:
    """Its UTF-16 is in the byte order of the numbers of the message."""
    raw = "MQ.12".encode(codec_of(ccsid, order) or "")
    message = encode(ASKED, [Bytes(7006, raw)], order)
    fixed = (4, 20 + len(raw) + -len(raw) % 4, 2013, ccsid, len(raw))
    message = message[:36] + struct.pack(f"{order}5i", *fixed) + message[36 + 16 :]
    assert decode(message).parameters == [String(2013, "MQ.12")]


def test_a_string_may_be_in_another_character_set() -> None:
    raw = "Größe".encode("cp500")
    message = head(1) + int32s(4, 28, 2013, 500, len(raw)) + raw.ljust(8, b"\0")
    assert decode(message).parameters == [String(2013, "Größe")]


def test_a_string_that_names_none_is_in_that_of_the_message() -> None:
    message = head(1) + int32s(4, 24, 2016, 0, 3) + "QÄ ".encode("latin-1") + b"\0"
    assert decode(message, 819).parameters == [String(2016, "QÄ")]


def test_a_list_of_few_empty_strings_is_one() -> None:
    message = head(1) + int32s(6, 24, 2020, 1208, 2, 0)
    assert decode(message).parameters == [Strings(2020, ("", ""))]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", 3016),
        (head(0)[:35], 3016),
        (int32s(16, 40, 3, 13, 1, 1, 0, 0, 0), 3002),
        (head(1), 3006),
        (head(-1), 3006),
        (head(2**31 - 1), 3006),
        (head(0) + b"\0\0\0\0", 3016),
        (head(1) + int32s(3, 16, 20), 3009),
        (head(1) + int32s(3, 12, 20), 3009),
        (head(1) + int32s(3, -5, 20, 1), 3009),
        (head(1) + int32s(4, 20, 2016, 1208, 4), 3010),
        (head(1) + int32s(4, 24, 2016, 1208, 2**31 - 1, 0), 3010),
        (head(1) + int32s(4, 24, 2016, 1208, -1, 0), 3010),
        (head(1) + int32s(5, 20, 1002, 5, 1), 3028),
        (head(1) + int32s(5, 20, 1002, -2, 1), 3028),
        (head(1) + int32s(6, 24, 2020, 1208, 2**30, 0), 3024),
        (head(1) + int32s(6, 28, 2020, 1208, 2, 4, 0), 3024),
        (head(1) + int32s(6, 24, 2020, 1208, 25, 0) + bytes(1_000), 3024),
        (head(1) + int32s(6, 28, 2020, 1208, 4, 4, 0) + bytes(1_000), 3024),
        (head(1) + int32s(9, 16, 7006, 4), 3255),
        (head(1) + int32s(13, 16, 3, 4), 3241),
        (head(1) + int32s(14, 24, 2, 18, 1208, 4), 3245),
        (head(1) + int32s(15, 20, 7, 2, 4), 3264),
        (head(1) + int32s(20, 16, 8001, 1), 3006),
        (head(1) + int32s(20, 16, 8001, 1, 20, 16, 8001, 0), 3013),
        (head(1) + int32s(99, 16, 1, 1), 3013),
        (head(1) + int32s(23, 16, 1, 1), 3016),
        (head(1) + int32s(4, 24, 2016, 1208, 4) + b"\xff\xfe\xfd\xfc", 3049),
    ],
)
def test_what_is_no_pcf_has_a_reason(message: bytes, reason: int) -> None:
    with pytest.raises(PcfError) as caught:
        decode(message)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (CommandHeader(type=2), 3001),
        (CommandHeader(type=1, version=4), 3003),
        (CommandHeader(type=1, sequence=2), 3004),
        (CommandHeader(type=1, control=0), 3005),
    ],
)
def test_a_header_that_is_not_of_a_command_is_refused(header: CommandHeader, reason: int) -> None:
    with pytest.raises(PcfError) as caught:
        check_request(header)
    assert caught.value.reason == reason


@given(st.integers(0, 6), st.binary(max_size=80))
def test_any_bytes_are_pcf_or_are_refused(count: int, rest: bytes) -> None:
    with contextlib.suppress(PcfError):
        decode(head(count) + rest)


@given(st.data())
def test_a_damaged_message_is_pcf_or_is_refused(data: st.DataObject) -> None:
    message = bytearray(encode(ASKED, EVERY))
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(PcfError):
        decode(bytes(message))
