"""Records by which any Kafka client puts messages."""

import math

import pytest

from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.storage.format import inbound
from adapter.storage.format.schemas import UnreadableError

FULL = MessageData(
    body=b"body",
    message_id=b"m" * 24,
    correlation_id=b"c" * 24,
    group_id=b"g" * 24,
    group_seq=3,
    last_in_group=True,
    priority=9,
    persistence=0,
    expiry_ms=1_000,
    format="MQSTR",
    message_type=1,
    report=2,
    feedback=3,
    encoding=273,
    ccsid=819,
    reply_to="REPLIES",
    reply_to_queue_manager="QMB",
    user="ada",
    application="orders",
    properties={"text": "ü", "whole": 1, "real": 0.5, "flag": True, "null": None},
    delay_ms=10,
    deliver_at_ms=20,
)


@pytest.mark.parametrize(
    "message", [FULL, MessageData(), MessageData(priority=0, persistence=1, body=b"x")]
)
def test_what_is_written_is_read(message: MessageData) -> None:
    read = inbound.decode(dict(inbound.encode("ORDERS", message)), message.body)
    assert read.transmission == Transmission("ORDERS")
    read.transmission = None
    assert read == message


def test_headers_are_text() -> None:
    headers = dict(inbound.encode("ORDERS", FULL))
    assert headers["mq.queue"] == b"ORDERS"
    assert headers["mq.priority"] == b"9"
    assert headers["mq.persistent"] == b"no"
    assert headers["mq.message_id"] == b"6d" * 24


@pytest.mark.parametrize("message", [MessageData(priority=10), MessageData(message_id=b"m" * 25)])
def test_what_would_not_be_read_is_not_written(message: MessageData) -> None:
    with pytest.raises(ValueError, match="cannot be sent in a record"):
        inbound.encode("Q", message)


def test_priority_0_is_said() -> None:
    assert dict(inbound.encode("Q", MessageData(priority=0)))["mq.priority"] == b"0"


def test_other_headers_mean_nothing() -> None:
    read = inbound.decode({"mq.queue": b"Q", "traceparent": b"\xff", "n": None}, None)
    assert read.body == b""


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ({}, "no header mq.queue"),
        ({"mq.queue": b""}, "no header mq.queue"),
        ({"mq.queue": None}, "no header mq.queue"),
        ({"mq.queue": b"\xff"}, "mq.queue"),
        ({"mq.queue": b"Q", "mq.colour": b"red"}, "there is no such header"),
        ({"mq.queue": b"Q", "mq.priority": b"high"}, "mq.priority"),
        ({"mq.queue": b"Q", "mq.priority": None}, "mq.priority"),
        ({"mq.queue": b"Q", "mq.expiry_ms": b"9" * 30}, "too large"),
        ({"mq.queue": b"Q", "mq.expiry_ms": b"9" * 9_999}, "mq.expiry_ms"),
        ({"mq.queue": b"Q", "mq.message_id": b"xyz"}, "mq.message_id"),
        ({"mq.queue": b"Q", "mq.message_id": b"00" * 25}, "more than 24 bytes"),
        ({"mq.queue": b"Q", "mq.message_id": b"00 00"}, "hexadecimal digits"),
        ({"mq.queue": b"Q", "mq.message_id": b"0"}, "hexadecimal digits"),
        ({"mq.queue": b"Q", "mq.priority": b"10"}, "0 to 9"),
        ({"mq.queue": b"Q", "mq.priority": b"-1"}, "0 to 9"),
        ({"mq.queue": b"Q", "mq.priority": b" 5 "}, "0 to 9"),
        ({"mq.queue": b"Q", "mq.priority": "٣".encode()}, "0 to 9"),
        ({"mq.queue": b"Q", "mq.group_seq": b"1_0"}, "whole number"),
        ({"mq.queue": b"Q", "mq.group_seq": b" 5 "}, "whole number"),
        ({"mq.queue": b"Q", "mq.group_seq": "٣".encode()}, "whole number"),
        ({"mq.queue": b"Q", "mq.group_seq": b"5\n"}, "whole number"),
        ({"mq.queue": b"Q", "mq.persistent": b"true"}, "yes or no"),
        ({"mq.queue": b"Q", "mq.properties": b"[]"}, "JSON object"),
        ({"mq.queue": b"Q", "mq.properties": b'{"a": []}'}, "property 'a'"),
        ({"mq.queue": b"Q", "mq.properties": b"[" * 100_000}, "mq.properties"),
        ({"mq.queue": b"Q", "mq.properties": b'{"a": NaN}'}, "NaN is no JSON"),
        ({"mq.queue": b"Q", "mq.properties": b'{"a": -Infinity}'}, "-Infinity is no JSON"),
        ({"mq.queue": b"Q", "mq.properties": b'{"a": 1e999}'}, "property 'a' is too large"),
        ({"mq.queue": b"Q", "mq.properties": b'{"a": -1e999}'}, "property 'a' is too large"),
        ({"mq.queue": b"Q", "mq.properties": b'{"a": "\\ud83d"}'}, "surrogates not allowed"),
        ({"mq.queue": b"Q", "mq.properties": b'{"\\ud83d": 1}'}, "surrogates not allowed"),
    ],
)
def test_what_is_wrong_is_named(headers: dict[str, bytes | None], what: str) -> None:
    with pytest.raises(UnreadableError, match=what):
        inbound.decode(headers, b"body")


def test_what_a_record_cannot_say_is_refused() -> None:
    with pytest.raises(ValueError, match="details"):
        inbound.encode("Q", MessageData(details=Details()))
    with pytest.raises(ValueError, match="properties"):
        inbound.encode("Q", MessageData(properties={"raw": b"bytes"}))
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="properties cannot be sent"):
            inbound.encode("Q", MessageData(properties={"a": number}))
