"""What a plain Kafka user makes of a record of a queue's topic."""

from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError

import adapter
from adapter import kafka
from adapter.core.contract.message import MessageData
from adapter.core.contract.unit_records import Placed
from adapter.errors import InvalidType, InvalidValue
from adapter.storage.format import descriptor

UNIT = bytes(range(24))
PUT = MessageData(
    body=b"one dozen",
    message_id=b"m" * 24,
    correlation_id=b"c" * 24,
    group_id=bytes(24),
    priority=7,
    persistence=1,
    format="MQSTR",
    properties={"colour": "red", "count": 12},
    put_time_ms=1_700_000_000_123,
)


def record_of(header: Any, *, value: Any = PUT.body, error: Any = None) -> confluent_kafka.Message:
    headers = [] if header is None else [("mqmd", header)]
    return confluent_kafka.Message(
        topic="mq.QM1.q.ORDERS", partition=7, offset=40, value=value, headers=headers, error=error
    )


def described(seq: int = 33) -> bytes:
    placed = Placed("ORDERS", 7, seq, 0, 1, 1, 2, PUT)
    return descriptor.encode(placed, UNIT, 3)


def test_topic_names() -> None:
    assert kafka.topic_name("QM1", "ORDERS") == "mq.QM1.q.ORDERS"
    assert kafka.topic_name("QM.1", "A_B", incarnation=2) == "mq.QM-o1.q.A-uB-2"


def test_a_record_is_a_message_with_its_place_and_unit() -> None:
    message = kafka.decode(record_of(described()))
    assert isinstance(message, adapter.Message)
    assert message.body == PUT.body
    assert (message.message_id, message.correlation_id) == (PUT.message_id, PUT.correlation_id)
    assert (message.priority, message.persistent, message.format) == (7, True, "MQSTR")
    assert message.properties == PUT.properties
    assert message.put_time is not None
    assert message.put_time.isoformat() == "2023-11-14T22:13:20.123000+00:00"
    assert message.place == (7, 33, 0)
    assert (message.unit_id, message.unit_index, message.unit_size) == (UNIT, 1, 3)
    assert (message.first_in_unit, message.last_in_unit) == (False, False)
    assert message.backout_count == 0


def test_an_empty_body_is_one() -> None:
    """Also for a record without a value, which Kafka calls null."""
    assert kafka.decode(record_of(described(), value=b"")).body == b""
    assert kafka.decode(record_of(described(), value=None)).body == b""


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (record_of(None), r"mq.QM1.q.ORDERS\[7\] at offset 40 is not a message of a queue"),
        (record_of(None, error=KafkaError(KafkaError._PARTITION_EOF)), "is not a record: "),
        (record_of(b""), "cannot be read: descriptor: schema version nothing"),
        (record_of(b"\x63" + described()[1:]), "cannot be read: descriptor: schema version 99"),
        (record_of(described()[:20]), "cannot be read: descriptor: 20 damaged bytes"),
    ],
)
def test_what_is_no_message_is_refused(record: confluent_kafka.Message, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        kafka.decode(record)


def test_what_is_no_record_is_refused() -> None:
    """poll() returns None when nothing came in time."""
    nothing: Any = None
    with pytest.raises(InvalidType, match="takes a record of confluent_kafka, not None"):
        kafka.decode(nothing)


def chunk_of(place: bytes, value: bytes, header: bytes = b"") -> confluent_kafka.Message:
    headers: list[Any] = [("mqmd", header or described()), ("mqck", place)]
    return confluent_kafka.Message(
        topic="mq.QM1.q.ORDERS", partition=7, offset=40, value=value, headers=headers
    )


def test_parts_of_two_messages_are_not_joined() -> None:
    """As they come when another consumer of the group had the partition in between."""
    decoder = kafka.Decoder()
    first, last = bytes((0, 0, 0, 0, 0, 0, 0, 2)), bytes((0, 0, 0, 1, 0, 0, 0, 2))
    assert decoder.decode(chunk_of(first, b"one", described(33))) is None
    assert decoder.decode(chunk_of(last, b"two", described(34))) is None
    message = decoder.decode(chunk_of(last, b"-one", described(33)))
    assert message is not None
    assert message.body == b"one-one"


def test_a_message_of_several_records() -> None:
    first, last = (chunk_of(bytes((0, 0, 0, at, 0, 0, 0, 2)), b"%d" % at) for at in (0, 1))
    decoder = kafka.Decoder()
    assert decoder.decode(last) is None, "who begins within a message does not get it"
    assert decoder.decode(first) is None
    message = decoder.decode(last)
    assert message is not None
    assert (message.body, message.place) == (b"01", (7, 33, 0))
    assert decoder.decode(record_of(described())) is not None
    with pytest.raises(InvalidValue, match="is chunk 2 of 2 of a message: use a Decoder"):
        kafka.decode(last)
    for reader in (kafka.decode, kafka.Decoder().decode):
        with pytest.raises(InvalidValue, match="cannot be read: header mqck"):
            reader(chunk_of(b"1/2", b""))
