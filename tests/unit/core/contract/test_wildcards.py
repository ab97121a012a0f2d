"""Patterns with *: the same as a plain regular expression, without its cost."""

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract.wildcards import expression_of
from adapter.core.model.authorities import pattern_of
from adapter.core.model.channel_rules import fits, fits_names
from adapter.services.dead_letter_rules import parse

LONG = "A" * 48
MANY_STARS = "*A" * 23 + "*B"


def plainly(pattern: str, letter: str, one: str) -> str:
    signs = {"*": f"{letter}*", one: letter}
    return "".join(signs.get(sign) or re.escape(sign) for sign in pattern)


@given(
    st.text("AB.*?\n", max_size=9),
    st.sampled_from(["(?s:.)", "[^.]"]),
    st.sampled_from(["?", ""]),
    st.text("AB.?\n", max_size=9),
)
def test_as_a_plain_regular_expression_says(pattern: str, letter: str, one: str, text: str) -> None:
    found = re.fullmatch(expression_of(pattern, letter, one), text)
    assert bool(found) is bool(re.fullmatch(plainly(pattern, letter, one), text))


def of_authorities() -> None:
    assert not pattern_of(MANY_STARS).fullmatch(LONG)


def of_channels() -> None:
    assert not fits(MANY_STARS, LONG)


def of_certificates() -> None:
    assert not fits_names(f"CN={MANY_STARS}", (("CN", LONG),))


def of_dead_letters() -> None:
    (rule,) = parse(f"DESTQ('{MANY_STARS}') ACTION(DISCARD)").rules
    assert not rule.matches({"DESTQ": LONG}, {})


@pytest.mark.parametrize(
    "matching", [of_authorities, of_channels, of_certificates, of_dead_letters]
)
def test_a_pattern_of_many_stars_costs_no_time(matching: Callable[[], None]) -> None:
    began_s = time.thread_time()
    matching()
    assert time.thread_time() - began_s < 0.25
