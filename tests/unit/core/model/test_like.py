"""LIKE: the same as a regular expression, without its cost."""

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.model.like import TEXT_MAX, like
from tests.support.examples import examples

MANY_LETTERS = "".join(map(chr, range(0x4000, 0x6000)))


def by_regex(pattern: str) -> re.Pattern[str]:
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(one) or re.escape(one) for one in pattern), re.DOTALL)


@settings(max_examples=examples(300))
@given(st.text("ab%_", max_size=8), st.text("ab", max_size=10))
def test_as_a_regular_expression_says(pattern: str, text: str) -> None:
    assert like(pattern)(text) is bool(by_regex(pattern).fullmatch(text))


@settings(max_examples=examples(200))
@given(st.text("ab_", min_size=1, max_size=6), st.integers(0, 2**32), st.integers(0, 3000))
def test_a_piece_is_found_in_a_long_text_as_a_regular_expression_says(
    piece: str, seed: int, length: int
) -> None:
    few = random.Random(seed)
    text = "".join(few.choices("ab", weights=(9, 1), k=length))
    pattern = f"a%{piece}%{piece}%b_%"
    assert like(pattern)(text) is bool(by_regex(pattern).fullmatch(text))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%" + "a_" * 2_500 + "c%", "a" * 32_000 + "zc"),
        ("%" + "a_" * 5_000 + "%c_c%", "a" * TEXT_MAX),
        ("%a_" * 3_300 + "c_%", "a" * TEXT_MAX),
        ("%" + "_".join(map(chr, range(0x4000, 0x5388))) + "%", MANY_LETTERS * 4),
        ("%" + "_a" * 5_000 + "_z%", ("a" * 1_300 + "z") * 24),
        ("%" + "a" * 99 + "b%", "a" * TEXT_MAX),
    ],
    ids=["few letters", "all places", "many pieces", "many letters", "rare letter", "no _"],
)
def test_no_pattern_and_text_take_long(pattern: str, text: str) -> None:
    matches = like(pattern)
    began_s = time.thread_time()
    matches(text)
    assert time.thread_time() - began_s < 0.25  # mostly 0.03; letter by letter it was seconds


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a!%b", "a%b", True),
        ("a!%b", "axb", False),
        ("!!", "!", True),
        ("!_%", "_x", True),
        ("!_%", "xx", False),
    ],
)
def test_escapes(pattern: str, text: str, matches: bool) -> None:
    assert like(pattern, "!")(text) is matches


def test_an_escape_before_anything_else_is_none() -> None:
    for pattern in ("!a", "a!"):
        with pytest.raises(ValueError, match="ESCAPE"):
            like(pattern, "!")


def test_very_long_texts_match_nothing() -> None:
    assert like("%")("x" * TEXT_MAX)
    assert not like("%")("x" * (TEXT_MAX + 1))
