"""Fields of a fixed number of bytes."""

import pytest

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
        (b"a\xff", "a\ufffd"),
    ],
)
def test_a_field_ends_at_its_first_nul_or_its_last_blanks(field: bytes, text: str) -> None:
    assert unpadded(field) == text
