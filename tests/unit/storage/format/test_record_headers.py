"""Headers of records: the first of a name counts, and only text has a text."""

import gc
import hashlib
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Message

from adapter.storage.format.record_headers import headers_of, ident_of, name_headers, text_of
from tests.support.raw_records import Header, InnerBroker, inner_broker

WITHIN_S = 30.0


@pytest.fixture(scope="module")
def broker() -> Iterator[InnerBroker]:
    with inner_broker() as one:
        yield one


def read(broker: InnerBroker, topic: str, headers: list[Header]) -> Message:
    """Write a record with these headers, and read it with the client."""
    broker.write(topic, b"v", headers)
    options = {
        "bootstrap.servers": broker.servers,
        "group.id": topic,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(options)
    try:
        consumer.subscribe([topic])
        found = consumer.poll(WITHIN_S)
        assert found is not None
        assert found.error() is None
        return found
    finally:
        consumer.close()


@pytest.mark.parametrize("name", [b"\xff", b"Gr\xfc\xdfe", b"\xed\xa0\x80"])
def test_any_program_may_write_a_name_that_the_client_cannot_read(
    broker: InnerBroker, name: bytes
) -> None:
    record = read(broker, f"t{name.hex()}", [(b"a", b"1"), (name, b"x"), (b"b", None)])
    assert headers_of(record) is None
    assert record.value() == b"v"


def test_a_garbage_collection_meanwhile_ends_no_process(broker: InnerBroker) -> None:
    record = read(broker, "garbage", [(b"a", b"1"), (b"\xff", b"x"), (b"b", None), (b"c", b"2")])
    fine = read(broker, "fine", [(b"a", b"1"), (b"b", None)])
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for count in range(300):
            garbage: list[list[int]] = [[] for _ in range(count % 7)]
            assert headers_of(record) is None
            assert headers_of(fine) == [("a", b"1"), ("b", None)]
            del garbage
    finally:
        gc.set_threshold(*before)


def test_headers_are_read(broker: InnerBroker) -> None:
    record = read(broker, "good", [("ü".encode(), b"\xff"), (b"", b""), (b"n", None)])
    assert headers_of(record) == [("ü", b"\xff"), ("", b""), ("n", None)]
    assert headers_of(read(broker, "none", [])) == []


def test_the_first_header_of_a_name_counts() -> None:
    assert name_headers([("a", b"1"), ("b", None), ("a", b"2")]) == {"a": b"1", "b": None}
    assert text_of(name_headers([("a", None), ("a", b"2")]), "a") == ""


def test_text() -> None:
    headers = name_headers([("a", " é ".encode()), ("b", b"\xff"), ("c", b""), ("", b"x")])
    assert [text_of(headers, name) for name in ("a", "b", "c", "missing")] == ["é", "", "", ""]
    assert text_of(headers, "") == "", "no name is given"


def test_ids_of_keys() -> None:
    assert ident_of(b"") == bytes(24)
    assert ident_of(b"k") == b"k" + bytes(23)
    assert ident_of(b"x" * 24) == b"x" * 24
    assert ident_of(b"x" * 25) == hashlib.sha256(b"x" * 25).digest()[:24]
