"""Entries: read as they were written, written as the schema says, and never larger than weighed."""

import contextlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter.core.contract import records as r
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import PROPERTIES_MAX, MessageData
from adapter.core.contract.weights import weight
from adapter.core.model.session import WINDOW
from adapter.core.rules.messages.unit import DISCARDED_PER_RECORD
from adapter.storage.format import descriptor, entries
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.port import PAYLOAD_BYTES_MAX
from tests.support.examples import examples
from tests.support.made_up import LONG_MAX, MESSAGES, RECORDS, UNITS, WRITTEN

FAST = settings(max_examples=examples(50))
WIDE = "\U0001f600"
NAME = "Q" * 48


@FAST
@given(st.lists(RECORDS, max_size=4))
def test_what_is_written_is_read(records: list[r.Record]) -> None:
    payload = entries.encode(records)
    assert entries.decode(payload) == records
    assert entries.decode(payload, descriptor.DescriptorReader()) == records


@pytest.mark.parametrize("name", WRITTEN)
@settings(max_examples=examples(10))
@given(st.data())
def test_every_record_is_read_as_it_was_written(name: str, data: st.DataObject) -> None:
    record = data.draw(WRITTEN[name])
    assert type(record).__name__ == name
    assert entries.decode(entries.encode([record])) == [record]
    assert len(entries.encode([record])) <= entries.weight(record)


@FAST
@given(st.lists(UNITS, max_size=4) | st.lists(RECORDS, max_size=4))
def test_records_are_written_as_the_schema_says(records: list[r.Record]) -> None:
    assert entries.encode(records) == entries.encode_by_schema(records)


@FAST
@given(RECORDS)
def test_no_record_is_larger_than_it_weighs(record: r.Record) -> None:
    assert len(entries.encode([record])) <= entries.weight(record)


@FAST
@given(MESSAGES)
def test_a_put_is_not_larger_than_its_message_weighs(message: MessageData) -> None:
    """So that a unit within its bound is an entry within the ledger's."""
    with_it = entries.encode([unit([placed(message)])])
    assert len(with_it) - len(entries.encode([unit([])])) <= weight(message)


def placed(message: MessageData, seq: int = LONG_MAX) -> r.Placed:
    return r.Placed(NAME, 9, seq, 0, 9_999, 9_999, 10_000, message)


def unit(puts: list[r.Placed], gets: int = 0, seen: int = 0) -> r.UnitCommitted:
    outcome = r.OutcomeOf(bytes(16), LONG_MAX, [LONG_MAX] * seen)
    taken = [r.Taken(NAME, 9, LONG_MAX) for _ in range(gets)]
    return r.UnitCommitted(bytes(24), 10_000, puts, taken, "commit", outcome)


def largest(body: bytes = b"", properties: dict[str, object] | None = None) -> MessageData:
    """A message with everything at its bound but the body."""
    return MessageData(
        body=body,
        message_id=bytes(24),
        correlation_id=bytes(24),
        group_id=bytes(24),
        group_seq=999_999_999,
        priority=9,
        persistence=1,
        expiry_ms=99_999_999_900,
        format=WIDE * 8,
        message_type=999_999_999,
        report=-(2**31),
        feedback=-(2**31),
        encoding=-(2**31),
        ccsid=-(2**31),
        reply_to=WIDE * 48,
        reply_to_queue_manager=WIDE * 48,
        user=WIDE * 64,
        application=WIDE * 64,
        properties=properties,
        put_time_ms=2**62,
        expires_at_ms=2**62,
    )


@pytest.mark.parametrize(
    "value", [None, True, -(2**63), 1.5, WIDE * 1000, b"x" * 1000], ids=lambda v: type(v).__name__
)
def test_messages_at_every_bound_are_not_larger_than_they_weigh(value: object) -> None:
    message = largest(properties={WIDE * n: value for n in range(1, PROPERTIES_MAX + 1)})
    assert len(entries.encode([unit([placed(message)])])) <= entries.weight(unit([placed(message)]))
    assert len(entries.encode([unit([placed(message)])])) <= weight(message) + 256


@pytest.mark.parametrize(
    "record",
    [
        unit([], gets=10_000, seen=WINDOW),
        r.BackoutCounted(
            [r.Taken(NAME, 9, LONG_MAX)] * 10, r.OutcomeOf(bytes(16), LONG_MAX, [LONG_MAX] * WINDOW)
        ),
        r.OutcomeRecorded(r.OutcomeOf(bytes(16), LONG_MAX, [LONG_MAX] * WINDOW), 2**31 - 1),
        r.MessagesDiscarded([r.Taken(NAME, 9, LONG_MAX)] * DISCARDED_PER_RECORD, "expired"),
        r.QueueDefined(NAME, 2**31 - 1, {"description": WIDE * 64}),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_at_every_bound_are_not_larger_than_they_weigh(record: r.Record) -> None:
    size = len(entries.encode([record]))
    assert size <= entries.weight(record)
    assert size <= PAYLOAD_BYTES_MAX


def test_the_largest_unit_fits_the_ledger() -> None:
    """All its bytes in puts, and all the room that is left in gets."""
    limits = Limits()
    room = limits.unit_bytes
    small = largest()
    puts: list[r.Placed] = []
    while room >= weight(small) and len(puts) < limits.unit_messages // 2:
        puts.append(placed(small))
        room -= weight(small)
    if room >= weight(small):
        puts.append(placed(largest(body=bytes(room - weight(small)))))
    record = unit(puts, gets=limits.unit_messages - len(puts), seen=WINDOW)
    assert len(entries.encode([record])) <= PAYLOAD_BYTES_MAX


def test_the_largest_message_fits_the_ledger() -> None:
    body = bytes(Limits().unit_bytes - weight(largest()))
    record = unit([placed(largest(body=body))], seen=WINDOW)
    assert len(entries.encode([record])) <= PAYLOAD_BYTES_MAX


def test_a_heartbeat_is_an_entry_without_records() -> None:
    assert entries.decode(entries.encode([])) == []


@FAST
@given(st.lists(RECORDS, min_size=1, max_size=2), st.data())
def test_damaged_bytes_are_told(records: list[r.Record], data: st.DataObject) -> None:
    whole = entries.encode(records)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UnreadableError):
        entries.decode(whole[:cut])


@FAST
@given(st.binary(max_size=200))
@example(b"\x02\x00" + bytes(24) + b"\xff" * 9 + b"\x01")
def test_any_bytes_are_read_or_told(payload: bytes) -> None:
    with contextlib.suppress(UnreadableError):
        entries.decode(b"\x01" + payload)


@pytest.mark.parametrize("payload", [b"", b"\x00", b"\x02\x00"])
def test_another_version_is_told(payload: bytes) -> None:
    with pytest.raises(UnreadableError, match="this release reads version 1"):
        entries.decode(payload)
