"""The envelope round-trips, and what is none is told from what a newer mqk wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.storage.ledger.envelope import (
    ENTRY,
    HEADER_BYTES,
    OWNER_CHANGED,
    CorruptRecord,
    Envelope,
    NewerVersion,
    RecordNumber,
    decode,
    encode,
    encode_entry,
    step_of,
)

OWNER = bytes(range(16))


@given(
    st.sampled_from([OWNER_CHANGED, ENTRY]),
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**64 - 1),
    st.binary(max_size=100),
)
def test_round_trip(kind: int, owner: bytes, n: int, payload: bytes) -> None:
    value = encode(kind, owner, n, payload)
    assert decode(value) == Envelope(kind, owner, n, payload)
    assert step_of(value) == RecordNumber(n)
    assert len(value) == HEADER_BYTES + len(payload)


def test_the_layout_never_changes() -> None:
    value = encode(ENTRY, OWNER, 258, b"payload")
    assert value == b"\x01\x01" + OWNER + b"\0\0\0\0\0\0\x01\x02payload"
    assert HEADER_BYTES == 26


@given(st.binary(max_size=40))
def test_any_bytes_decode_or_are_corrupt(value: bytes) -> None:
    try:
        envelope = decode(value)
    except CorruptRecord as corrupt:
        assert str(corrupt)  # noqa: PT017 -- both outcomes are legal
    else:
        if value[0] == 1:
            assert encode(envelope.kind, envelope.owner, envelope.n, envelope.payload) == value
        else:
            assert envelope.part < envelope.parts


@given(st.binary(max_size=40), st.integers(1, 9))
def test_parts_round_trip(payload: bytes, part_bytes: int) -> None:
    values = [*encode_entry(OWNER, 7, payload, part_bytes)]
    envelopes = [decode(value) for value in values]
    assert b"".join(one.payload for one in envelopes) == payload
    steps = [RecordNumber(7, part, len(values)) for part in range(len(values))]
    assert [step_of(value) for value in values] == steps
    assert [RecordNumber(one.n, one.part, one.parts) for one in envelopes] == steps
    assert {one.kind for one in envelopes} == {ENTRY}
    assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [True]


def test_the_layout_of_a_part_never_changes() -> None:
    first, last = encode_entry(OWNER, 258, b"payload", part_bytes=4)
    head = b"\x02\x02" + OWNER + b"\0\0\0\0\0\0\x01\x02"
    assert first == head + b"\0\0\0\0\0\0\0\x02payl"
    assert last == head + b"\0\0\0\x01\0\0\0\x02oad"


@pytest.mark.parametrize("tail", [b"", b"\0" * 7, b"\0" * 8, b"\0\0\0\x02\0\0\0\x02"])
def test_a_part_that_says_nonsense_is_corrupt(tail: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decode(next(encode_entry(OWNER, 1, b"payload", part_bytes=4))[:HEADER_BYTES] + tail)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"\x01" * 25, encode(2, OWNER, 1, b""), b"\0" * 40, b"text from a console " * 3],
)
def test_what_is_no_record_is_corrupt_and_not_newer(value: bytes | None) -> None:
    with pytest.raises(CorruptRecord) as caught:
        decode(value)
    assert not isinstance(caught.value, NewerVersion)


def test_a_newer_version_says_what_to_do() -> None:
    with pytest.raises(NewerVersion, match=r"version 3.*use the newer mqk"):
        decode(b"\x1e" + encode(ENTRY, OWNER, 1, b"")[1:])


def test_an_owner_id_has_sixteen_bytes() -> None:
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        encode(ENTRY, b"abc", 1, b"")
