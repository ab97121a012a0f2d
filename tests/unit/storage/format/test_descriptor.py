"""Descriptors: read as they were written, and written as their schema says."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.transmission import Transmission
from adapter.core.contract.unit_records import Placed
from adapter.core.contract.weights import weight
from adapter.storage.format import descriptor
from adapter.storage.format.descriptor import VERSION, UnitPosition
from adapter.storage.format.schemas import Codec, UnreadableError
from tests.support.examples import examples
from tests.support.made_up import COUNTS, IDS, PLACED

FAST = settings(max_examples=examples(50))


def position(placed: Placed, unit: bytes, unit_size: int) -> UnitPosition:
    return UnitPosition(
        placed.seq, unit, placed.index, unit_size, placed.queue_index, placed.queue_size
    )


@FAST
@given(PLACED, IDS, COUNTS)
def test_what_is_written_is_read(placed: Placed, unit: bytes, unit_size: int) -> None:
    data = descriptor.encode(placed, unit, unit_size)
    read = descriptor.decode(data, placed.message.body)
    assert read == (placed.message, position(placed, unit, unit_size))


@FAST
@given(PLACED, IDS, COUNTS)
def test_it_is_written_and_read_as_the_schema_says(
    placed: Placed, unit: bytes, unit_size: int
) -> None:
    by_schema = Codec("descriptor", VERSION).encode(descriptor.value_of(placed, unit, unit_size))
    assert descriptor.encode(placed, unit, unit_size) == by_schema
    body = placed.message.body
    assert descriptor.decode_by_schema(by_schema, body) == descriptor.decode(by_schema, body)


@FAST
@given(st.lists(PLACED, min_size=2, max_size=4), IDS)
def test_one_reader_reads_many(many: list[Placed], unit: bytes) -> None:
    """It remembers what recurs, and must not mistake one for another."""
    reader = descriptor.DescriptorReader()
    for placed in [*many, *many]:
        data = descriptor.encode(placed, unit, 1)
        assert reader.read(data, placed.message.body) == (
            placed.message,
            position(placed, unit, 1),
        )


@FAST
@given(PLACED, IDS, COUNTS)
def test_its_size_is_bounded(placed: Placed, unit: bytes, unit_size: int) -> None:
    data = descriptor.encode(placed, unit, unit_size)
    assert len(data) + len(placed.message.body) <= weight(placed.message)


@FAST
@given(PLACED, IDS, st.data())
def test_damaged_bytes_are_told(placed: Placed, unit: bytes, data: st.DataObject) -> None:
    """Cut off anywhere, or with more behind: never taken for a message."""
    whole = descriptor.encode(placed, unit, 1)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UnreadableError):
        descriptor.decode(whole[:cut], b"")


@FAST
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_told(data: bytes) -> None:
    with contextlib.suppress(UnreadableError):
        descriptor.decode(bytes((VERSION,)) + data, b"")


@FAST
@given(PLACED.filter(lambda placed: placed.message.details is None), IDS, COUNTS)
def test_what_the_first_release_wrote_is_read(placed: Placed, unit: bytes, unit_size: int) -> None:
    value = descriptor.value_of(placed, unit, unit_size)
    del value["details"], value["broker"]
    old = b"\x01" + Codec("descriptor.1").encode(value)[1:]
    assert descriptor.decode(old, placed.message.body)[0] == at_once_and_here(placed.message)


@FAST
@given(PLACED, IDS, COUNTS)
def test_what_was_written_without_delays_is_read(
    placed: Placed, unit: bytes, unit_size: int
) -> None:
    value = descriptor.value_of(placed, unit, unit_size)
    del value["deliver_at_ms"], value["destination"], value["broker"]
    old = Codec("descriptor.2", 2, 2).encode(value)
    assert old[:1] == b"\x02"
    assert descriptor.decode(old, placed.message.body)[0] == at_once_and_here(placed.message)


def test_a_newer_version_is_told() -> None:
    whole = descriptor.encode(Placed("Q", 0, 1, 0, 0, 0, 1, admitted()), bytes(24), 1)
    with pytest.raises(UnreadableError, match="schema version 8, this release reads version 7"):
        descriptor.decode(b"\x08" + whole[1:], b"")


@FAST
@given(PLACED, IDS, COUNTS)
def test_what_was_written_without_other_queue_managers_is_read(
    placed: Placed, unit: bytes, unit_size: int
) -> None:
    value = descriptor.value_of(placed, unit, unit_size)
    del value["transmission"], value["msmq"], value["broker"]
    old = Codec("descriptor.3", 3, 3).encode(value)
    alone = structs.replace(undated(placed.message), transmission=None, msmq=None, broker=None)
    assert descriptor.decode(old, placed.message.body)[0] == alone


@FAST
@given(PLACED, IDS, COUNTS)
def test_what_was_written_without_dates_that_programs_set_is_read(
    placed: Placed, unit: bytes, unit_size: int
) -> None:
    value = descriptor.value_of(placed, unit, unit_size)
    old = Codec("descriptor.5", 5, 5).encode(value)
    assert old[:1] == b"\x05"
    assert descriptor.decode(old, placed.message.body)[0] == undated(placed.message)


@FAST
@given(PLACED, IDS, COUNTS)
def test_what_was_written_without_putters_is_read(
    placed: Placed, unit: bytes, unit_size: int
) -> None:
    value = descriptor.value_of(placed, unit, unit_size)
    old = Codec("descriptor.6", 6, 6).encode(value)
    message, details = placed.message, placed.message.details
    if details is not None:
        message = structs.replace(message, details=structs.replace(details, putter=""))
    assert descriptor.decode(old, placed.message.body)[0] == message


def test_a_transmission_and_what_msmq_says_are_read_as_written() -> None:
    message = admitted()
    message.transmission = Transmission("Q", "QM2", "HOST")
    message.msmq = MsmqHeader(label="\u00e9", extension=b"\0\xff", unit=bytes(24), unit_size=3)
    whole = descriptor.encode(Placed("Q", 0, 1, 0, 0, 0, 1, message), bytes(24), 1)
    assert descriptor.decode(whole, b"")[0] == message


def at_once_and_here(message: MessageData) -> MessageData:
    """What the first releases knew of a message."""
    return structs.replace(
        undated(message), deliver_at_ms=0, destination="", transmission=None, msmq=None, broker=None
    )


def undated(message: MessageData) -> MessageData:
    """A message of which no program said when it was put."""
    if message.details is None:
        return message
    return structs.replace(
        message, details=structs.replace(message.details, put_date_time="", putter="")
    )


def admitted() -> MessageData:
    return MessageData(
        message_id=bytes(24),
        correlation_id=bytes(24),
        group_id=bytes(24),
        priority=0,
        persistence=1,
    )
