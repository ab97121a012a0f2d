"""The dead-letter header is the manual's, byte for byte."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.mq_layouts.dead_letter import LENGTH, DeadLetter, from_dlh, split, to_dlh
from tests.unit.core.mq_layouts.test_trigger_message import text

EXAMPLE = DeadLetter(
    reason=2053,
    destination="ORDERS",
    destination_queue_manager="QM1",
    encoding=273,
    ccsid=819,
    format="MQSTR",
    application_type=6,
    application="mqk trigger-monitor",
    put_date="20260401",
    put_time="23595912",
)
numbers = st.integers(-(2**31), 2**31 - 1)
headers = st.builds(
    DeadLetter,
    reason=numbers,
    destination=text(48),
    destination_queue_manager=text(48),
    encoding=numbers,
    ccsid=numbers,
    format=text(8),
    application_type=numbers,
    application=text(28),
    put_date=text(8),
    put_time=text(8),
)


def test_every_field_is_where_the_manual_has_it() -> None:
    data = to_dlh(EXAMPLE)
    assert len(data) == LENGTH == 172
    assert data[:12] == b"DLH " + struct.pack("<ii", 1, 2053)
    assert data[12:60] == b"ORDERS".ljust(48)
    assert data[60:108] == b"QM1".ljust(48)
    assert data[108:116] == struct.pack("<ii", 273, 819)
    assert data[116:124] == b"MQSTR   "
    assert data[124:128] == struct.pack("<i", 6)
    assert data[128:156] == b"mqk trigger-monitor".ljust(28)
    assert data[156:172] == b"20260401" + b"23595912"


@given(headers, st.binary(max_size=20))
def test_what_was_written_is_read_and_the_body_follows(header: DeadLetter, body: bytes) -> None:
    assert split("MQDEAD  ", to_dlh(header) + body) == (header, body)


@given(headers)
def test_a_header_with_the_other_order_of_bytes_is_read(header: DeadLetter) -> None:
    data = bytearray(to_dlh(header))
    for at in (4, 8, 108, 112, 124):
        data[at : at + 4] = data[at : at + 4][::-1]
    assert from_dlh(bytes(data)) == header


@given(st.binary(max_size=200))
def test_a_body_without_one_is_left_alone(body: bytes) -> None:
    with pytest.raises(ValueError, match="MQDLH"):
        from_dlh(body)
    assert split("MQDEAD", body) == (None, body)


def test_another_version_is_refused_and_left_alone() -> None:
    body = b"DLH \x02\0\0\0" + bytes(164)
    with pytest.raises(ValueError, match="version 1 of the MQDLH is known, not"):
        from_dlh(body)
    assert split("MQDEAD", body) == (None, body)


def test_only_the_format_says_that_there_is_one() -> None:
    body = to_dlh(EXAMPLE)
    assert split("MQSTR", body) == (None, body)
