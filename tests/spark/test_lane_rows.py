"""Rows of thousands of records at once are those of the records one by one, whatever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow
import pytest
from confluent_kafka import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import Placed
from adapter.storage.format import chunks, descriptor
from adapter.storage.format.schemas import UnreadableError
from spark_jobs import lane_rows
from spark_jobs.avro_columns import _Places
from spark_jobs.errors import SparkJobError
from spark_jobs.lane_rows import LaneRows
from spark_jobs.spans import SeqSpan, WantedSeqs
from tests.support.examples import examples
from tests.support.made_up import COUNTS, IDS, PLACED

FAST = settings(max_examples=examples(40))
MANY = st.lists(st.tuples(PLACED, IDS, COUNTS), min_size=1, max_size=3)
HEADER = descriptor.HEADER
NO_ID = bytes(24)
MESSAGE = MessageData(b"", message_id=NO_ID, correlation_id=NO_ID, group_id=NO_ID, persistence=1)
PLAIN = descriptor.encode(Placed("Q", 4, 1, 0, 0, 0, 1, MESSAGE), NO_ID, 1)


def record(header: bytes, body: bytes = b"", offset: int = 0, **more: bytes) -> Message:
    """A record of a lane."""
    headers: list[Any] = [(HEADER, header), *more.items()]
    return Message(topic="t", partition=4, offset=offset, value=body or None, headers=headers)


def records_of(many: Sequence[tuple[Placed, bytes, int]]) -> list[Message]:
    return [
        record(descriptor.encode(placed, unit, size), placed.message.body, offset)
        for offset, (placed, unit, size) in enumerate(many)
    ]


def at_once(records: list[Message]) -> pyarrow.RecordBatch | None:
    return LaneRows("Q", "t", 4)._at_once(records)


def one_by_one(records: list[Message]) -> pyarrow.RecordBatch | None:
    return LaneRows("Q", "t", 4)._one_by_one(records)


@FAST
@given(MANY)
def test_rows_at_once_are_rows_one_by_one(many: list[tuple[Placed, bytes, int]]) -> None:
    records = records_of(many)
    found = at_once(records)
    assert found is not None
    found.validate(full=True)
    assert found.equals(one_by_one(records))


@FAST
@given(MANY, st.data())
def test_damaged_records_are_never_rows(
    many: list[tuple[Placed, bytes, int]], data: st.DataObject
) -> None:
    """Cut off anywhere: the batch says which record it is. With more behind: read one by one."""
    records = records_of(many)
    at = data.draw(st.integers(0, len(records) - 1))
    whole = descriptor.encode(*many[at])
    cut = data.draw(st.integers(0, len(whole) - 1))
    records[at] = record(whole + b"\x00", offset=at)
    assert at_once(records) is None
    records[at] = record(whole[:cut], offset=at)
    assert at_once(records) is None
    with pytest.raises(SparkJobError, match=rf"record t\[4\] at offset {at} is damaged"):
        list(LaneRows("Q", "t", 4).batches([records]))


@FAST
@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_read_alike(header: bytes) -> None:
    found = at_once([record(header)])
    if found is not None:
        assert found.equals(one_by_one([record(header)]))


@FAST
@given(MANY, st.data())
def test_a_byte_that_is_changed_is_read_alike(
    many: list[tuple[Placed, bytes, int]], data: st.DataObject
) -> None:
    whole = bytearray(descriptor.encode(*many[0]))
    whole[data.draw(st.integers(1, len(whole) - 1))] = data.draw(st.integers(0, 255))
    records = [record(bytes(whole)), *records_of(many[1:])]
    found = at_once(records)
    if found is not None:
        assert found.equals(one_by_one(records))


@pytest.mark.parametrize("value", [0, 1, 2, 3, 127, 128, 255])
def test_each_byte_that_is_changed_is_read_alike(value: int) -> None:
    """A boolean of 2 is true for every reader."""
    for at in range(1, len(PLAIN)):
        records = [record(PLAIN[:at] + bytes([value]) + PLAIN[at + 1 :])]
        found = at_once(records)
        assert found is None or found.equals(one_by_one(records)), at


def test_a_number_has_64_bits() -> None:
    largest = b"\xfe" + b"\xff" * 8 + b"\x01"
    assert _Places([largest, b"\x02"]).longs().tolist() == [2**63 - 1, 1]
    for last in (b"\x02", b"\x03", b"\x7f", b"\x81\x00"):
        with pytest.raises(UnreadableError, match="a number has"):
            _Places([b"\x02", b"\xff" * 9 + last]).longs()


def test_parts_of_long_messages_are_joined_across_blocks() -> None:
    header = (HEADER, PLAIN)
    cut = chunks.records_of(header, b"abcdefghij", 4)
    parts = [
        record(PLAIN, value, offset, **dict(headers[1:]))
        for offset, (headers, value) in enumerate(cut)
    ]
    end = record(PLAIN, b"", 9, **{chunks.HEADER: chunks.NO_MESSAGE})
    single = record(PLAIN, b"single", 3)
    blocks = [parts[:1], [*parts[1:], single, end], [end]]
    found = list(LaneRows("Q", "t", 4).batches(blocks, rows_max=1))
    assert [batch.column("body").to_pylist() for batch in found] == [[b"abcdefghij", b"single"]]
    assert [batch.column("offset").to_pylist() for batch in found] == [[2, 3]]


def test_batches_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_rows, "ROWS_MAX", 4)
    monkeypatch.setattr(lane_rows, "BYTES_MAX", 100)
    sizes = [1] * 10 + [60, 60, 10, 200, 1]
    records = [record(PLAIN, bytes(size), at) for at, size in enumerate(sizes)]
    for blocks in ([records], [[one] for one in records]):
        found = list(LaneRows("Q", "t", 4).batches(blocks))
        assert [at for one in found for at in one.column("offset").to_pylist()] == [*range(15)]
        assert max(one.num_rows for one in found) <= 4
        assert max(sum(map(len, one.column("body").to_pylist())) for one in found) < 100 + 200


@FAST
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 5)), min_size=1, max_size=5),
    st.sets(st.integers(1, 60), max_size=8),
    st.lists(st.integers(1, 20), min_size=1, max_size=60),
)
def test_wanted_messages_are_chosen_once_and_missing_ones_are_told(
    steps: list[tuple[int, int]], gone: set[int], sizes: list[int]
) -> None:
    spans: list[SeqSpan] = []
    at = 0
    for gap, length in steps:
        spans.append((at + gap, at + gap + length))
        at += gap + length
    expected = [seq for first, last in spans for seq in range(first, last + 1)]
    there = [seq for seq in range(1, at + 3) if seq not in gone]
    wanted = WantedSeqs(spans)
    assert wanted.count == len(expected)
    chosen: list[int] = []
    lost = 0
    while there and not wanted.is_done:
        size = sizes.pop() if sizes else 7
        some, there = there[:size], there[size - 1 if size > 2 else size :]  # some come twice
        block = pyarrow.array(some).to_numpy()
        chosen += block[wanted.choose(block)].tolist()
        lost = lost or wanted.missing
    assert chosen == [seq for seq in expected if seq not in gone]
    missing = sorted(gone & set(expected))
    if wanted.is_done:
        assert lost == (missing[0] if missing else 0)
    else:
        assert missing
        assert (lost or wanted.following) == missing[0]
