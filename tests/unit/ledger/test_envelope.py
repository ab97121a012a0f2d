"""The envelope round-trips, and what is none is told from what a newer mqk wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.ledger.envelope import (
    ENTRY,
    HEADER_BYTES,
    OWNER_CHANGED,
    CorruptRecord,
    Envelope,
    NewerVersion,
    decode,
    encode,
    n_of,
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
    assert n_of(value) == n
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
        assert encode(envelope.kind, envelope.owner, envelope.n, envelope.payload) == value


@pytest.mark.parametrize(
    "value",
    [None, b"", b"\x01" * 25, encode(2, OWNER, 1, b""), b"\0" * 40, b"text from a console " * 3],
)
def test_what_is_no_record_is_corrupt_and_not_newer(value: bytes | None) -> None:
    with pytest.raises(CorruptRecord) as caught:
        decode(value)
    assert not isinstance(caught.value, NewerVersion)


def test_a_newer_version_says_what_to_do() -> None:
    with pytest.raises(NewerVersion, match=r"version 2.*use the newer mqk"):
        decode(b"\x02" + encode(ENTRY, OWNER, 1, b"")[1:])


def test_an_owner_id_has_sixteen_bytes() -> None:
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        encode(ENTRY, b"abc", 1, b"")
