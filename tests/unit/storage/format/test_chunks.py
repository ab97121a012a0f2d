"""Long bodies are cut into records and joined again, wherever reading begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.storage.format.chunks import CHUNK_BYTES, Joiner, cut, place_of
from adapter.storage.format.schemas import UnreadableError

bodies = st.lists(st.binary(max_size=20), max_size=8)


def records_of(bodies: list[bytes], chunk_bytes: int) -> list[tuple[int, bytes | None, bytes]]:
    """What a topic holds: the number of the message, the header, the value."""
    records: list[tuple[int, bytes | None, bytes]] = []
    for number, body in enumerate(bodies):
        chunks = cut(body, chunk_bytes)
        records += [(number, header, value) for header, value in chunks] or [(number, None, body)]
    return records


@given(bodies, st.integers(1, 9), st.data())
def test_reading_from_anywhere_gives_every_whole_message(
    bodies: list[bytes], chunk_bytes: int, data: st.DataObject
) -> None:
    records = records_of(bodies, chunk_bytes)
    start = data.draw(st.integers(0, len(records)))
    begun = {number for number, _, _ in records[:start]}
    joiner = Joiner()
    got = [joiner.take(header, value, b"%d" % number) for number, header, value in records[start:]]
    whole = [body for number, body in enumerate(bodies) if number not in begun]
    assert [body for body in got if body is not None] == whole
    assert all(len(value) <= max(chunk_bytes, 1) for _, header, value in records if header)


def test_going_elsewhere_within_a_message() -> None:
    joiner = Joiner()
    first, second = cut(b"abcd", 2)
    assert joiner.take(*first, b"1") is None
    joiner.clear()
    assert joiner.take(*second, b"1") is None
    assert joiner.take(*first, b"1") is None
    assert joiner.take(*second, b"1") == b"abcd"


def test_chunks_of_two_messages_are_not_joined() -> None:
    joiner = Joiner()
    (first, second), (_, other), (_, third, _) = cut(b"abcd", 2), cut(b"wxyz", 2), cut(b"uvwxyz", 2)
    assert joiner.take(*first, b"1") is None
    assert joiner.take(*other, b"2") is None
    assert joiner.take(*third, b"1") is None
    assert joiner.take(*second, b"1") == b"abcd"


def test_a_body_of_the_usual_maximum_is_one_record() -> None:
    assert cut(bytes(4 * 1024 * 1024)) == []
    assert [len(value) for _, value in cut(bytes(CHUNK_BYTES + 1))] == [CHUNK_BYTES, 1]


def test_the_layout_never_changes() -> None:
    assert cut(b"abc", 2) == [(b"\0\0\0\0\0\0\0\x02", b"ab"), (b"\0\0\0\1\0\0\0\x02", b"c")]
    assert place_of(b"\0\0\0\1\0\0\0\x02") == (1, 2)
    assert place_of(None) == (0, 1)


@pytest.mark.parametrize("header", [b"", b"1/2", bytes(8), b"\0\0\0\2\0\0\0\x02", "text", 7])
def test_a_header_that_is_none(header: object) -> None:
    with pytest.raises(UnreadableError, match="mqck"):
        place_of(header)
