"""Fields of a fixed number of bytes."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapter.core.mq_layouts.blank_padded import pad, unpadded


@pytest.mark.parametrize(
    ("text", "field"),
    [("QM1", b"QM1  "), ("", b"     "), ("QUEUES", b"QUEUE"), ("äöü", b"\xc3\xa4\xc3\xb6 ")],
)
def test_text_fills_its_field_and_no_character_is_halved(text: str, field: bytes) -> None:
    assert pad(text, 5) == field


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (b"QM1  ", "QM1"),
        (b"QM1\0X", "QM1"),
        (b"     ", ""),
        (b" a b ", " a b"),
        (b"a\xff", "a\uf7ff"),
    ],
)
def test_a_field_ends_at_its_first_nul_or_its_last_blanks(field: bytes, text: str) -> None:
    assert unpadded(field) == text


@given(st.binary(max_size=48))
@example("Zürich".encode("latin-1"))
@example("ORDER".encode("cp500"))
@example("\uf7c3\uf7a4\uf780".encode())
@example("ä\uf7c3".encode() + b"\xc3")
def test_a_field_keeps_its_bytes_whatever_set_they_are_of(field: bytes) -> None:
    text = unpadded(field)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(text)) == text
    assert len(text) <= len(field)
    said = field.partition(b"\0")[0].rstrip(b" ")
    assert pad(text, 48) == said.ljust(48)


@given(st.text(max_size=20), st.integers(0, 12))
def test_a_field_never_grows_and_no_character_is_halved(text: str, length: int) -> None:
    field = pad(text, length)
    assert len(field) == length
    assert any(field == pad(text[:end], 100)[:length] for end in range(len(text) + 1))
