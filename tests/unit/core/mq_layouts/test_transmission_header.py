"""The transmission-queue header: what is written is read again, and what is damaged is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.core.mq_layouts import md_extension
from adapter.core.mq_layouts.mqmd import QUEUE_MANAGERS
from adapter.core.mq_layouts.transmission_header import (
    LENGTH,
    length_before,
    message_behind,
    other_id,
    to_xqh,
)
from tests.unit.core.mq_layouts.test_trigger_message import text

numbers = st.integers(-(2**31), 2**31 - 1)
ids = st.one_of(st.just(b""), st.binary(min_size=24, max_size=24).filter(any))
messages = st.builds(
    MessageData,
    body=st.binary(max_size=40),
    message_id=ids,
    correlation_id=ids,
    priority=st.integers(0, 9),
    persistence=st.integers(0, 1),
    expiry_ms=st.integers(1, 999_999_999).map(lambda tenths: 100 * tenths) | st.just(-1),
    format=text(8).filter(lambda name: name != md_extension.FORMAT),
    message_type=numbers,
    report=numbers,
    feedback=numbers,
    encoding=numbers,
    ccsid=numbers.filter(lambda number: number not in QUEUE_MANAGERS),
    reply_to=text(48),
    reply_to_queue_manager=text(48),
    user=text(12),
    application=text(28),
    details=st.builds(
        Details,
        accounting_token=st.one_of(st.just(b""), st.binary(min_size=32, max_size=32).filter(any)),
        identity_data=text(32),
        appl_type=numbers,
        origin_data=text(4),
        put_date_time=st.builds(lambda day, time: f"{day:8}{time:8}", text(8), text(8)),
    ),
    transmission=st.builds(Transmission, text(48), text(48)),
)


def laid_out(message: MessageData) -> bytes:
    header = to_xqh(message, message.encoding, message.ccsid, message.format)
    assert len(header) == length_before(message) == LENGTH
    return header + message.body


@given(messages)
def test_what_is_written_is_read(message: MessageData) -> None:
    assert message_behind(laid_out(message)) == message


@given(messages, st.integers(0, LENGTH - 1))
def test_a_part_of_a_header_is_none(message: MessageData, length: int) -> None:
    with pytest.raises(ValueError, match="428 bytes"):
        message_behind(laid_out(message)[:length])


def test_both_byte_orders_are_read() -> None:
    body = laid_out(MessageData(b"body", priority=3, persistence=1, transmission=Transmission("Q")))
    swapped = bytearray(body)
    for at in (4, *range(108, 136, 4), 144, 148, 196, 376):
        swapped[at : at + 4] = body[at : at + 4][::-1]
    assert message_behind(bytes(swapped)) == message_behind(body)


@pytest.mark.parametrize(("at", "value"), [(0, 0), (4, 2), (104, 0), (108, 2)])
def test_another_structure_or_version_is_refused(at: int, value: int) -> None:
    body = bytearray(laid_out(MessageData(transmission=Transmission("Q", "QM2"))))
    struct.pack_into("<i", body, at, value)
    with pytest.raises(ValueError, match="MQXQH"):
        message_behind(bytes(body))


def test_an_extension_that_is_announced_must_be_there() -> None:
    message = MessageData(b"body", format=md_extension.FORMAT, transmission=Transmission("Q"))
    with pytest.raises(ValueError, match="MQMDE"):
        message_behind(laid_out(message))


@given(st.binary(min_size=24, max_size=24))
def test_of_two_ids_each_leads_to_the_other(ident: bytes) -> None:
    assert other_id(other_id(ident)) == ident != other_id(ident)


def test_a_message_that_stays_here_has_no_header() -> None:
    assert length_before(MessageData(b"body", group_seq=2)) == 0
