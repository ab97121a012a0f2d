"""The message that a record becomes, and what no record can be."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from adapter import errors as e
from adapter.client.producing import (
    KafkaRecord,
    avro_encoding,
    many_messages,
    record_message,
)
from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract.message import MessageData
from adapter.storage.format.exports import ExportedRecord, record_of

NO_ZONE = datetime.fromisoformat("2026-01-01T00:00:00")
SINCE_MS = 1_790_000_000_000


def record(
    value: object = b"v", key: object = None, fields: Mapping[str, Any] | None = None
) -> ExportedRecord:
    """What the export of a topic writes of it, as an export is made for a topic."""
    message = record_message(value, key, fields or {})
    message.put_time_ms = 7
    return record_of(message, ExportAttributes(queue="Q", topic="t"))


def test_a_record_of_a_value_alone() -> None:
    assert record(b"v") == ExportedRecord(b"v", None, [], 7, -1)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (b"", b""),
        ("", b""),
        ("żółw", "żółw".encode()),
        (bytearray(b"x"), b"x"),
        (memoryview(b"y"), b"y"),
        (None, None),
    ],
    ids=["empty", "empty text", "text", "bytearray", "memoryview", "tombstone"],
)
def test_values(value: object, written: bytes | None) -> None:
    assert record(value).value == written


@pytest.mark.parametrize(
    ("key", "written"),
    [(b"", b""), ("", b""), ("ключ", "ключ".encode()), (b"\xff\0", b"\xff\0"), (None, None)],
    ids=repr,
)
def test_keys(key: object, written: bytes | None) -> None:
    assert record(key=key).key == written


def test_a_tombstone_has_its_key() -> None:
    assert record(None, "k") == ExportedRecord(None, b"k", [], 7, -1)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ([], []),
        ({}, []),
        ({"b": "ü", "a": None, "c": b"\xff"}, [("b", "ü".encode()), ("a", None), ("c", b"\xff")]),
        (
            [("z", "1"), ("a", b""), ["z", "2"], ("", ""), ("z", None)],
            [("z", b"1"), ("a", b""), ("z", b"2"), ("", b""), ("z", None)],
        ),
        ((pair for pair in [("ключ", memoryview(b"x"))]), [("ключ", b"x")]),
        # names that properties have for something else are headers like others
        ([("KafkaKey", "no key"), ("x.2", "2")], [("KafkaKey", b"no key"), ("x.2", b"2")]),
    ],
)
def test_headers_keep_order_and_names(given: object, written: object) -> None:
    found = record(fields={"headers": given})
    assert found.headers == written
    assert found.key is None


@pytest.mark.parametrize(
    ("given", "time_ms"),
    [
        (1, 1),
        (2**63 - 1, 2**63 - 1),
        (datetime(2026, 1, 1, 0, 0, 0, 999, UTC), 1_767_225_600_000),
        (datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 1_767_225_600_000),
        (None, 7),
    ],
)
def test_times(given: object, time_ms: int) -> None:
    assert record(fields={"timestamp": given}).time_ms == time_ms


@pytest.mark.parametrize(("given", "partition"), [(0, 0), (2**31 - 1, 2**31 - 1), (None, -1)])
def test_partitions(given: object, partition: int) -> None:
    assert record(fields={"partition": given}).partition == partition


def test_it_is_persistent_whatever_its_queue_says() -> None:
    assert record_message(b"v", None, {}).persistence == 1


@pytest.mark.parametrize(
    ("value", "key", "fields", "error", "words"),
    [
        (1, None, {}, e.InvalidType, "a body is bytes or str"),
        ("\ud800", None, {}, e.InvalidOption, "not valid Unicode"),
        (b"", 1, {}, e.InvalidType, "key is bytes, a str or None"),
        (b"", "\ud800", {}, e.InvalidOption, "key is not valid Unicode"),
        (b"", None, {"headers": "ab"}, e.InvalidType, "headers are a mapping or a list"),
        (b"", None, {"headers": 1}, e.InvalidType, "headers are a mapping or a list"),
        (b"", None, {"headers": ["ab"]}, e.InvalidType, "a header is"),
        (b"", None, {"headers": [("a",)]}, e.InvalidType, "a header is"),
        (b"", None, {"headers": [(b"a", b"")]}, e.InvalidType, "a header is"),
        (b"", None, {"headers": [("\ud800", b"")]}, e.InvalidOption, "the name of a header"),
        (b"", None, {"headers": {"a": 1}}, e.InvalidType, "the value of header a"),
        (b"", None, {"headers": {"a": "\ud800"}}, e.InvalidOption, "the value of header a"),
        (b"", None, {"timestamp": 0}, e.InvalidOption, "timestamp is 1 to"),
        (b"", None, {"timestamp": -1}, e.InvalidOption, "timestamp is 1 to"),
        (b"", None, {"timestamp": 2**63}, e.InvalidOption, "timestamp is 1 to"),
        (b"", None, {"timestamp": 1.5}, e.InvalidType, "timestamp is a datetime"),
        (b"", None, {"timestamp": True}, e.InvalidType, "timestamp is a datetime"),
        (b"", None, {"timestamp": NO_ZONE}, e.InvalidOption, "has none"),
        (b"", None, {"timestamp": datetime(1969, 1, 1, tzinfo=UTC)}, e.InvalidOption, "1 to"),
        (b"", None, {"partition": -1}, e.InvalidOption, "partition is 0 to"),
        (b"", None, {"partition": 2**31}, e.InvalidOption, "partition is 0 to"),
        (b"", None, {"partition": "0"}, e.InvalidType, "partition is an int"),
        (b"", None, {"priority": 3}, e.InvalidType, "takes no argument 'priority'; it takes key"),
    ],
    ids=repr,
)
def test_what_no_record_can_be(
    value: object, key: object, fields: dict[str, Any], error: type[e.Error], words: str
) -> None:
    with pytest.raises(error, match=words):
        record_message(value, key, fields)


def test_many_records_are_records_and_values() -> None:
    records = [b"1", "2", None, KafkaRecord("3", "k", {"a": "b"}, SINCE_MS, 4)]
    export = ExportAttributes(queue="Q", topic="t")

    def written(message: MessageData) -> ExportedRecord:
        message.put_time_ms = 7
        return record_of(message, export)

    assert [written(one) for one in many_messages(records)] == [
        ExportedRecord(b"1", None, [], 7),
        ExportedRecord(b"2", None, [], 7),
        ExportedRecord(None, None, [], 7),
        ExportedRecord(b"3", b"k", [("a", b"b")], SINCE_MS, 4),
    ]


def test_a_value_is_avro_if_a_schema_is_named() -> None:
    assert avro_encoding("t", {}, {}) is None
    assert avro_encoding("t", None, {"schema": 1}) is None  # a tombstone
    found = avro_encoding("t", {}, {"schema": 1})
    assert found is not None
    assert (found.schema, found.subject, found.register) == (1, "t-value", False)
    found = avro_encoding("t", {}, {"schema": 1, "subject": "s", "register": True})
    assert found is not None
    assert (found.subject, found.register) == ("s", True)
    for alone in ({"subject": "s"}, {"register": True}):
        with pytest.raises(e.InvalidOption, match="give schema too"):
            avro_encoding("t", {}, alone)  # type: ignore[arg-type]
