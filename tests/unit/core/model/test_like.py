"""LIKE: the same as a regular expression, without its cost."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.model.like import TEXT_MAX, like
from tests.support.examples import examples


def by_regex(pattern: str) -> re.Pattern[str]:
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(one) or re.escape(one) for one in pattern), re.DOTALL)


@settings(max_examples=examples(300))
@given(st.text("ab%_", max_size=8), st.text("ab", max_size=10))
def test_as_a_regular_expression_says(pattern: str, text: str) -> None:
    assert like(pattern)(text) is bool(by_regex(pattern).fullmatch(text))


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
