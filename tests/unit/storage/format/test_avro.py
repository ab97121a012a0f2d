"""The hand-written encoding against fastavro's."""

import io

import fastavro
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapter.storage.format import avro
from tests.support.examples import examples
from tests.support.made_up import texts


def by_fastavro(kind: str, value: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema({"type": kind}), value)
    return out.getvalue()


@settings(max_examples=examples(150))
@given(st.integers(-(2**63), 2**63 - 1))
@example(0)
@example(-1)
@example((1 << 13) - 1)
@example(1 << 13)
@example(2**63 - 1)
@example(-(2**63))
def test_numbers(number: int) -> None:
    encoded = avro.long(number)
    assert encoded == by_fastavro("long", number)
    assert avro.read_long(b"?" + encoded + b"?", 1) == (number, 1 + len(encoded))


@given(texts(100))
def test_texts(text: str) -> None:
    assert avro.text(text) == by_fastavro("string", text)


@given(st.binary(max_size=300))
def test_bytes(value: bytes) -> None:
    assert avro.data(value) == by_fastavro("bytes", value)


@pytest.mark.parametrize("value", [True, False])
def test_truth_values(value: bool) -> None:
    assert (avro.TRUE if value else avro.FALSE) == by_fastavro("boolean", value)


@pytest.mark.parametrize(
    "damaged",
    [
        avro.long(2**63 - 1)[:-1] + b"\x03",  # one bit more
        b"\xff" * 9 + b"\x7f",
        b"\x80" * 10 + b"\x00",
        b"\xff" * 100_000,
    ],
)
def test_a_number_of_more_than_64_bits_is_none(damaged: bytes) -> None:
    with pytest.raises(IndexError, match="more than 64 bits"):
        avro.read_long(damaged + b"\0", 0)
