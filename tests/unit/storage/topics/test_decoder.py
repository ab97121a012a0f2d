"""Records become messages: joined, described, or refused with a reason."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from adapter.core.contract.message import MessageData
from adapter.core.contract.unit_records import Placed
from adapter.storage.format import chunks, descriptor
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.topics.decoder import NotAMessageError, RecordDecoder, chunk_of, is_no_message

UNIT = bytes(range(24))


def records_of(seq: int, body: bytes, chunk_bytes: int = 4) -> list[confluent_kafka.Message]:
    """Return the records that a message is on its topic."""
    put = MessageData(
        body=body,
        message_id=b"m" * 24,
        correlation_id=bytes(24),
        group_id=bytes(24),
        persistence=1,
        put_time_ms=1,
    )
    header = (descriptor.HEADER, descriptor.encode(Placed("Q", 0, seq, 0, 0, 0, 1, put), UNIT, 1))
    return [
        confluent_kafka.Message(topic="t", partition=0, offset=0, value=value, headers=headers)
        for headers, value in chunks.records_of(header, body, chunk_bytes)
    ]


def test_a_record_of_its_own_is_a_message() -> None:
    for body in (b"", b"abcd"):
        (record,) = records_of(7, body)
        found = RecordDecoder().take(record)
        assert found is not None
        assert (found[0].body, found[1].seq, found[1].unit) == (body, 7, UNIT)
        assert chunk_of(record) == (0, 1)


def test_records_of_one_message_are_joined() -> None:
    decoder = RecordDecoder()
    records = records_of(3, b"abcdefghij")
    assert [chunk_of(one) for one in records] == [(0, 3), (1, 3), (2, 3)]
    found = [decoder.take(one) for one in records]
    assert found[:2] == [None, None]
    assert found[2] is not None
    assert (found[2][0].body, found[2][1].seq) == (b"abcdefghij", 3)


def test_a_message_whose_first_record_was_not_taken_is_left_out() -> None:
    decoder = RecordDecoder()
    begun, following = records_of(3, b"abcdefgh"), records_of(4, b"ijkl")
    assert decoder.take(begun[1]) is None
    assert decoder.take(begun[0]) is None
    decoder.clear()
    assert decoder.take(begun[1]) is None
    assert decoder.take(following[0]) is not None


def test_the_position_is_read_without_the_other_records() -> None:
    decoder = RecordDecoder()
    first, last = records_of(9, b"abcdefgh")
    assert decoder.take(first) is None
    assert decoder.position(last).seq == 9
    assert decoder.take(last) is not None, "a look changed nothing"


def test_a_foreign_record_is_refused() -> None:
    foreign: list[dict[str, str | bytes | None]] = [{}, {descriptor.HEADER: None}, {"other": b"x"}]
    for headers in foreign:
        pairs = list(headers.items())
        record = confluent_kafka.Message(topic="t", partition=0, offset=0, headers=pairs)
        with pytest.raises(NotAMessageError, match="no header mqmd"):
            RecordDecoder().take(record)
        with pytest.raises(NotAMessageError, match="no header mqmd"):
            RecordDecoder().position(record)


def test_a_damaged_record_is_refused() -> None:
    (record,) = records_of(1, b"abcd")
    headers = dict(record.headers() or [])
    for changed in ({descriptor.HEADER: b"\x63"}, headers | {chunks.HEADER: b"?"}):
        damaged = confluent_kafka.Message(
            topic="t", partition=0, offset=0, value=b"x", headers=list(changed.items())
        )
        with pytest.raises(UnreadableError):
            RecordDecoder().take(damaged)


def test_a_record_that_only_ends_a_transaction_is_left_out() -> None:
    """Also between the records of two messages."""
    (whole,), (first, second) = records_of(7, b"abcd"), records_of(8, b"abcdefgh")
    headers: Any = whole.headers()
    headers = [headers[0], (chunks.HEADER, chunks.NO_MESSAGE)]
    ending = confluent_kafka.Message(topic="t", partition=0, offset=0, value=b"", headers=headers)
    decoder = RecordDecoder()
    taken = [decoder.take(record) for record in (ending, whole, ending, first, second, ending)]
    assert [found and found[0].body for found in taken] == [
        None, b"abcd", None, None, b"abcdefgh", None
    ]  # fmt: skip
    assert is_no_message(ending)
    assert not is_no_message(whole)
    assert not is_no_message(second)
    assert decoder.position(ending).seq == 7
