"""The fast reader reads exactly what the general one reads, and refuses what is damaged."""

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.contract import records as r
from adapter.core.contract.message import MessageData
from adapter.storage.format import entries, movable
from adapter.storage.format.avro import long
from adapter.storage.format.copied import Copy
from adapter.storage.format.schemas import VERSION, UnreadableError, schema_text
from tests.support.examples import examples

IDS: Any = dict.fromkeys(("message_id", "correlation_id", "group_id"), bytes(24))
NAMES = st.sampled_from(["Q", "FLIGHTS.IN", "Ä", "N" * 48, ""])
LONGS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**40), -(2**63)])  # all ones
SIZES = st.one_of(
    st.integers(0, 70), st.sampled_from([63, 64, 8191, 8192, 20_000])
)  # around the lengths that take one, two and three bytes

PLACED = st.builds(
    lambda queue, lane, time_ms, size: r.Placed(
        queue, lane, 1, 0, 0, 0, 1, MessageData(**IDS, body=bytes(size), put_time_ms=time_ms)
    ),
    NAMES,
    st.integers(0, 200),
    LONGS,
    SIZES,
)
TAKEN = st.builds(r.Taken, NAMES, st.integers(0, 200), st.integers(0, 2**63 - 1))
OUTCOMES = st.none() | st.builds(
    r.OutcomeOf, st.just(b"s" * 16), st.integers(1, 2**62), st.lists(st.integers(1, 2**40))
)
UNITS = st.builds(
    r.UnitCommitted,
    st.just(b"u" * 24),
    st.integers(0, 2**31 - 1),
    st.lists(PLACED, max_size=5),
    st.lists(TAKEN, max_size=5),
    st.sampled_from(["commit", "put", "get"]),
    OUTCOMES,
)
OTHERS = st.one_of(
    st.builds(r.BackoutCounted, st.lists(TAKEN, max_size=3), OUTCOMES),
    st.builds(r.MessagesDiscarded, st.lists(TAKEN, max_size=3), st.just("expired")),
    st.builds(r.QueueDefined, NAMES, st.integers(0, 9), st.just({"max_depth": 5})),
    st.builds(r.QueueDeleted, NAMES),
    st.builds(r.SessionExpired, st.just(b"s" * 16)),
    st.builds(r.UnitFenced, st.just(b"u" * 24)),
    st.builds(r.EventRaised, NAMES, NAMES, LONGS, st.just({"why": "so"})),
)


def in_general(payload: bytes) -> list[list[movable.Movable]]:
    """What movers need, by the general reader alone and no code of the fast one."""
    found: list[list[movable.Movable]] = []
    for record in entries.decode(payload):
        if isinstance(record, r.UnitCommitted):
            raw = dict(entries.raw_records(payload)[len(found)][1])
            found.append([Copy(**put) for put in raw["puts"]])
        elif isinstance(record, r.QueueDefined | r.QueueDeleted | r.EventRaised):
            found.append([record])
        else:
            found.append([])
    return found


def without_copies(records: list[list[movable.Movable]]) -> list[list[movable.Movable]]:
    return [[one for one in record if not isinstance(one, Copy)] for record in records]


@settings(max_examples=examples(300))
@given(st.lists(UNITS, max_size=4))
def test_units_are_read_as_the_general_reader_reads_them(units: list[r.Record]) -> None:
    payload = entries.encode(units)
    assert movable.decode_copies(payload) == in_general(payload)
    assert movable.decode_events(payload) == [[] for _ in units]


@settings(max_examples=examples(150))
@given(st.lists(UNITS | OTHERS, max_size=4))
def test_any_entry_is_read_as_the_general_reader_reads_it(records: list[r.Record]) -> None:
    payload = entries.encode(records)
    expected = in_general(payload)
    assert movable.decode_copies(payload) == expected
    assert without_copies(movable.decode_events(payload)) == without_copies(expected)
    assert len(movable.decode_events(payload)) == len(records)


def sized_blocks(records: list[r.Record]) -> bytes:
    """The entry with every array of units written as sized blocks of one item, as Avro allows."""
    schema: Any = json.loads(schema_text("entry"))
    items = schema["fields"][0]["type"]["items"]
    known: dict[str, Any] = {}
    fastavro.parse_schema(schema, known)
    parts = []
    for name, value in entries.raw_records(entries.encode(records)):
        assert name == "mqk.UnitCommitted"
        assert value["outcome"] is None
        parts.append(
            b"".join(
                (
                    long(0),
                    value["unit"],
                    long(value["size"]),
                    blocks(value["puts"], known["mqk.Put"]),
                    blocks(value["gets"], known["mqk.Taken"]),
                    long(["commit", "put", "get"].index(value["verb"])),
                    long(0),
                )
            )
        )
    assert items[0]["name"] == "UnitCommitted"
    body = b"".join(long(-1) + long(len(part)) + part for part in parts)
    return bytes((VERSION,)) + body + long(0)


def blocks(values: list[Any], schema: Any) -> bytes:
    found = b""
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, value)
        found += long(-1) + long(len(out.getvalue())) + out.getvalue()
    return found + long(0)


@settings(max_examples=examples(50))
@given(
    st.lists(
        UNITS.map(
            lambda unit: r.UnitCommitted(
                unit.unit, unit.size, unit.puts, unit.gets, unit.verb, None
            )
        ),
        min_size=1,
        max_size=3,
    )
)
def test_arrays_in_sized_blocks_are_read_too(units: list[r.Record]) -> None:
    """fastavro writes none, but a later encoder may, to let readers skip."""
    plain, sized = entries.encode(units), sized_blocks(units)
    assert entries.raw_records(sized) == entries.raw_records(plain), "it is the same entry"
    assert movable.decode_copies(sized) == movable.decode_copies(plain)
    assert movable.decode_events(sized) == [[] for _ in units]


@pytest.mark.parametrize("read", [movable.decode_copies, movable.decode_events])
def test_damaged_bytes_are_refused(read: Any) -> None:
    unit = r.UnitCommitted(
        b"u" * 24,
        1,
        [r.Placed("Q", 1, 1, 0, 0, 0, 1, MessageData(**IDS, body=b"x" * 9000))],
        [],
        "put",
        None,
    )
    payload = entries.encode([unit])
    read(payload)
    for cut in (0, 1, 2, 20, 30, len(payload) // 2, len(payload) - 1):
        with pytest.raises(UnreadableError):
            read(payload[:cut])
    with pytest.raises(UnreadableError):
        read(payload + b"\0")
    with pytest.raises(UnreadableError):
        read(bytes((VERSION + 1,)) + payload[1:])
    negative_size = payload.replace(long(9000), long(-9000))
    with pytest.raises(UnreadableError):
        read(negative_size)


def test_the_fast_reader_knows_the_schema_as_it_is() -> None:
    """A change of these must change the reader, and keep reading what is in ledgers."""
    branches = json.loads(schema_text("entry"))["fields"][0]["type"]["items"]
    unit = branches[movable.UNIT_BRANCH]
    assert unit["name"] == "UnitCommitted"
    assert [one["name"] for one in unit["fields"]] == [
        *("unit", "size", "puts", "gets", "verb", "outcome")
    ]
    puts = unit["fields"][2]["type"]["items"]["fields"]
    assert [(one["name"], one["type"]) for one in puts] == [
        *(("queue", "string"), ("lane", "int"), ("put_time_ms", "long")),
        *(("descriptor", "bytes"), ("body", "bytes")),
    ]
    gets = unit["fields"][3]["type"]["items"]["fields"]
    assert [(one["name"], one["type"]) for one in gets] == [
        *(("queue", "string"), ("lane", "int"), ("seq", "long"), ("priority", "int")),
    ]
    assert unit["fields"][0]["type"]["size"] == movable.UNIT_BYTES
    outcome = unit["fields"][5]["type"][1]
    assert [one["name"] for one in outcome["fields"]] == ["session", "number", "seen"]
    assert outcome["fields"][0]["type"]["size"] == movable.SESSION_BYTES
