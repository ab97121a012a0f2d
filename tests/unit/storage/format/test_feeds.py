"""What a record of any topic becomes: every edge of keys, values and headers."""

import hashlib
from typing import Any

import pytest

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import NOT_A_MESSAGE, FedMessage
from adapter.core.contract.message import PROPERTIES_MAX, MessageData
from adapter.storage.format.feeds import DecodedValue, TopicRecord, message_of
from adapter.storage.format.record_headers import Headers

ORIGIN = {"KafkaTopic": "orders", "KafkaPartition": 3, "KafkaOffset": 17, "KafkaTimestamp": 5}


def fed(
    key: bytes | None = None,
    value: bytes | None = b"body",
    headers: Headers | None = [],  # noqa: B006 -- it is read only
    time_ms: int = 5,
    /,
    **attributes: Any,
) -> FedMessage | None:
    feed = FeedAttributes(topic="orders", queue="Q", **attributes)
    return message_of(TopicRecord(3, 17, key, value, headers, time_ms), feed)


def message(*given: Any, **attributes: Any) -> MessageData:
    found = fed(*given, **attributes)
    assert found is not None
    return found.message


def properties(headers: Headers, /, **attributes: Any) -> dict[str, object] | None:
    return message(None, b"", headers, origin=False, **attributes).properties


def test_the_value_is_the_body_untouched() -> None:
    value = bytes(range(256)) * 32 * 1024  # 8 MiB
    assert message(None, value).body is value
    assert message(None, b"").body == b""


def test_messages_are_persistent() -> None:
    assert message().persistence == 1


@pytest.mark.parametrize(("given", "priority"), [({}, -1), ({"priority": 7}, 7)])
def test_priority(given: dict[str, int], priority: int) -> None:
    assert message(**given).priority == priority


@pytest.mark.parametrize(
    ("value", "priority"),
    [
        *((b"%d" % digit, digit) for digit in range(10)),
        (b" 7 ", 7),
        *((value, 4) for value in (b"", b"10", b"-1", b"07", b"high", b"\xff", b"\x00\x07", None)),
        ("\u0669".encode(), 4),
        (b"9" * 100_000, 4),
    ],
)
def test_a_header_says_the_priority(value: bytes | None, priority: int) -> None:
    headers: Headers = [("x", b"1"), ("urgency", value), ("urgency", b"2")]
    given: dict[str, Any] = {"priority": 4, "priority_header": "urgency"}
    assert message(None, b"", headers, **given).priority == priority
    assert message(None, b"", headers, headers="NONE", **given).priority == priority


def test_a_header_that_is_missing_says_no_priority() -> None:
    assert message(None, b"", [("x", b"1")], priority_header="urgency").priority == -1
    assert message(None, b"", [("", b"1")], priority=2).priority == 2


def test_rules_say_the_priority_before_a_header_does() -> None:
    rules = "9: tier = 'gold' AND KafkaPartition = 3; 0: KafkaKey = 'batch'"
    given: dict[str, Any] = {"priority": 4, "priority_header": "p", "priority_rules": rules}
    assert message(None, b"", [("tier", b"gold"), ("p", b"2")], **given).priority == 9
    assert message(b"batch", b"", [("tier", b"tin"), ("p", b"2")], **given).priority == 0
    assert message(b"k", b"", [("p", b"2")], **given).priority == 2
    assert message(b"k", b"", [], **given).priority == 4
    assert message(b"batch", b"", [("tier", b"gold")], origin=False, **given).priority == 0
    given["priority_rules"] = "5: Root.MQMD.Priority = 2"
    assert message(b"k", b"", [("p", b"2")], **given).priority == 5


@pytest.mark.parametrize(
    ("value", "tenths"),
    [
        (b"1", 1),
        (b" 25 ", 25),
        (b"999999999", 999_999_999),
        (b"007", 7),
        *(
            (value, 30)
            for value in (b"", b"1000000000", b"-2", b"+1", b"1.5", b"1e3", b"10s", None)
        ),
        *((value, 30) for value in (b"\xff", b"\x00\x00\x00\x07", b"9" * 100_000)),
        ("\u0661".encode(), 30),
    ],
)
def test_a_header_says_expiry_or_delay(value: bytes | None, tenths: int) -> None:
    headers: Headers = [("ttl", value)]
    found = message(None, b"", headers, expiry=30, expiry_header="ttl", headers="NONE")
    assert (found.expiry_ms, found.delay_ms) == (100 * tenths, 0)
    found = message(None, b"", headers, delay=30, delay_header="ttl")
    assert (found.expiry_ms, found.delay_ms) == (-1, 100 * tenths)


def test_expiry_and_delay_of_all_messages() -> None:
    for expiry, found_ms in ((-1, -1), (0, -1), (5, 500)):
        assert message(expiry=expiry).expiry_ms == found_ms
    assert message(delay=7).delay_ms == 700
    for value in (b"0", b"-1"):
        found = message(None, b"", [("h", value)], expiry=5, expiry_header="h")
        assert found.expiry_ms == -1, "it lives for ever, whatever the feed says of others"
    found = message(None, b"", [("h", b"0")], delay=5, delay_header="h")
    assert found.delay_ms == 0
    assert message(None, b"", [("h", b"-1")], delay=5, delay_header="h").delay_ms == 500


def test_the_origin_is_in_properties() -> None:
    assert message().properties == ORIGIN
    assert message(origin=False).properties is None
    without = {name: value for name, value in ORIGIN.items() if name != "KafkaTimestamp"}
    assert message(None, b"", [], -1).properties == without


@pytest.mark.parametrize(
    ("key", "found"), [(b"k", "k"), (b"\xff", b"\xff"), (b"", ""), (None, None)]
)
def test_a_key_becomes_a_property(key: bytes | None, found: object) -> None:
    expected = {} if key is None else {"KafkaKey": found}
    assert (message(key, origin=False).properties or {}) == expected


def test_a_key_becomes_an_id() -> None:
    long = b"a key that is longer than an id is"
    for name, of in (("correlation_id", "CORRELID"), ("group_id", "GROUPID")):
        assert getattr(message(b"k", key=of), name) == b"k" + bytes(23)
        assert getattr(message(b"", key=of), name) == bytes(24)
        assert getattr(message(None, key=of), name) == b""
        assert getattr(message(long, key=of), name) == hashlib.sha256(long).digest()[:24]
        assert message(b"k", key=of).properties == ORIGIN
    none = message(b"k", key="NONE")
    assert (none.correlation_id, none.group_id, none.properties) == (b"", b"", ORIGIN)


def test_headers_of_kafka_connect_say_fields_if_the_feed_says_so() -> None:
    ident = bytes(range(1, 25))
    headers: Headers = [
        ("JMS_IBM_MQMD_Priority", b"7"),
        ("JMS_IBM_MQMD_Expiry", b"-1"),
        ("JMS_IBM_MQMD_CorrelId", b"ID:" + ident.hex().encode()),
        ("urgency", b"2"),
    ]
    given: dict[str, Any] = {"descriptor": "CONNECT", "headers": "NONE", "priority": 1, "expiry": 5}
    found = message(b"k", b"", headers, **given)
    assert (found.priority, found.expiry_ms, found.correlation_id) == (7, -1, ident)
    found = message(b"k", b"", headers, priority_header="urgency", key="CORRELID", **given)
    assert (found.priority, found.correlation_id) == (2, b"k" + bytes(23)), "the key is named"
    found = message(ident.hex().encode(), b"", headers, key="GROUPID", **given)
    assert found.group_id == ident
    found = message(None, b"", headers, key="CORRELID", **given)
    assert found.correlation_id == ident, "there is no key"
    found = message(b"k", b"", headers, priority=1, expiry=5)
    assert (found.priority, found.expiry_ms, found.correlation_id) == (1, 500, b"")
    assert found.properties is not None
    assert found.properties["JMS_IBM_MQMD_Priority"] == "7"


def test_more_headers_than_any_queue_takes_cost_no_more() -> None:
    headers: Headers = [("same", b"")] * 200_000
    found = properties(headers)
    assert found is not None
    assert len(found) == PROPERTIES_MAX + 1


def test_headers_become_properties() -> None:
    headers: Headers = [("a", b"text"), ("b", b"\xff\xfe"), ("c", b""), ("d", None), ("", b"x")]
    assert properties(headers) == {
        "a": "text", "b": b"\xff\xfe", "c": "", "d": None, "KafkaHeader": "x"
    }  # fmt: skip
    assert properties(headers, headers="NONE") is None


def test_headers_of_one_name_are_all_there() -> None:
    headers: Headers = [("a", b"1"), ("a.2", b"2"), ("a", b"3"), ("a", b"4")]
    assert properties(headers) == {"a": "1", "a.2": "2", "a.3": "3", "a.4": "4"}


def test_a_header_does_not_hide_the_origin() -> None:
    found = message(b"k", b"", [("KafkaOffset", b"0"), ("KafkaKey", b"no")]).properties
    assert found == ORIGIN | {"KafkaKey": "k", "KafkaOffset.2": "0", "KafkaKey.2": "no"}


def test_some_headers_are_wanted() -> None:
    headers: Headers = [("trace-id", b"1"), ("trace-span", b"2"), ("colour", b"red"), ("size", b"")]
    assert properties(headers, headers="colour") == {"colour": "red"}
    assert properties(headers, headers="trace-*, colour") == {
        "trace-id": "1", "trace-span": "2", "colour": "red"
    }  # fmt: skip
    assert properties(headers, headers="colou") is None
    assert len(properties(headers, headers="*") or {}) == 4


def test_a_record_without_a_value() -> None:
    assert fed(None, None) is None
    empty = fed(None, None, tombstones="EMPTY")
    assert empty is not None
    assert (empty.message.body, empty.code, empty.offset) == (b"", 0, 17)
    assert empty.message.properties == ORIGIN | {"KafkaTombstone": True}
    nothing = fed(None, b"")
    assert nothing is not None
    assert nothing.message.properties == ORIGIN
    dead = fed(b"k", None, tombstones="DEADLETTER", origin=False, key="NONE")
    assert dead is not None
    assert (dead.message.body, dead.code) == (b"", NOT_A_MESSAGE)
    assert dead.message.properties == ORIGIN | {"KafkaKey": "k"}


def test_a_record_whose_headers_are_not_valid_is_dead() -> None:
    dead = fed(b"k", b"body", None, origin=False)
    assert dead is not None
    assert (dead.message.body, dead.code) == (b"body", NOT_A_MESSAGE)
    why = "the name of a header is not UTF-8, and no header can be read"
    assert dead.why == why, "or the feed waits, as it is told"
    assert dead.message.properties == ORIGIN | {"KafkaKey": "k", "KafkaReason": why}


def test_the_size_of_a_record_counts_all_of_it() -> None:
    record = TopicRecord(0, 0, b"k" * 100, b"v" * 1000, [("h" * 10, b"x" * 10)], 0)
    assert 1120 < record.size < 2000


def test_a_decoded_value() -> None:
    record = TopicRecord(3, 17, b"k", b"value", [("number", b"header"), ("x", b"1")], 5)
    value = {"number": 7, "KafkaOffset": "hides nothing", "in": {"x": 1.5}, "list": [1]}
    feed = FeedAttributes(topic="orders", queue="Q", value="AVRO", fields="ALL")
    found = message_of(record, feed, DecodedValue(9, value))
    assert found is not None
    assert (found.message.body, found.code, found.why) == (b"value", 0, "")
    assert found.message.properties == ORIGIN | {
        "KafkaKey": "k", "KafkaSchema": 9, "KafkaOffset.2": "hides nothing", "number": 7,
        "in.x": 1.5, "number.2": "header", "x": "1",
    }  # fmt: skip
    feed.origin, feed.fields, feed.headers = False, "in.x", "NONE"
    feed.priority_rules = "7: in.x = 1.5"
    found = message_of(record, feed, DecodedValue(9, value, b"{}"))
    assert found is not None
    assert found.message.properties == {"KafkaKey": "k", "in.x": 1.5}
    assert (found.message.body, found.message.priority) == (b"{}", 7)


def test_a_value_that_cannot_be_decoded() -> None:
    record = TopicRecord(3, 17, b"k", b"value", [], 5)
    feed = FeedAttributes(topic="orders", queue="Q", value="AVROJSON", fields="ALL")
    found = message_of(record, feed, DecodedValue(why="it is damaged"))
    assert found is not None
    assert (found.message.body, found.code, found.why) == (b"value", NOT_A_MESSAGE, "it is damaged")
    assert found.message.properties == ORIGIN | {"KafkaKey": "k", "KafkaReason": "it is damaged"}


def test_more_fields_than_any_queue_takes() -> None:
    feed = FeedAttributes(topic="orders", queue="Q", value="AVRO", fields="ALL")
    value = {str(number): number for number in range(100_000)}
    found = message_of(TopicRecord(3, 17, None, b"", []), feed, DecodedValue(9, value))
    assert found is not None
    assert len(found.message.properties or {}) == PROPERTIES_MAX + 1
