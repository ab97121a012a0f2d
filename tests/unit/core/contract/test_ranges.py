"""Ranges against a set."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.contract.ranges import Ranges, spans_of
from tests.support.examples import examples


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), max_size=30))
def test_it_is_a_set(steps: list[tuple[int, int]]) -> None:
    ranges = Ranges()
    model: set[int] = set()
    for number, kind in steps:
        if kind:
            ranges.add(number)
            model.add(number)
        else:
            ranges.discard(number)
            model.discard(number)
        spans = ranges.spans()
        assert {each for low, high in spans for each in range(low, high + 1)} == model
        assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(spans)), spans
        assert [each in ranges for each in range(22)] == [each in model for each in range(22)]
        assert len(ranges) == len(spans)


def test_the_lowest_range_can_be_taken_out() -> None:
    ranges = Ranges()
    for number in (7, 1, 2, 9, 8):
        ranges.add(number)
    assert ranges.pop_first() == (1, 2)
    assert ranges.spans() == [(7, 9)]
    assert ranges.pop_first() == (7, 9)
    with pytest.raises(IndexError):
        ranges.pop_first()


@pytest.mark.parametrize("seed", range(20))
def test_spans_join_what_they_touch(seed: int) -> None:
    rng = random.Random(seed)
    ranges, numbers = Ranges(), set[int]()
    for _ in range(60):
        low = rng.randrange(200)
        high = low + rng.choice([0, 1, 5, 40])
        ranges.add_span(low, high)
        numbers.update(range(low, high + 1))
        assert list(ranges) == sorted(numbers)
        assert ranges.total == len(numbers)
        spans = ranges.spans()
        assert all(one[1] + 1 < other[0] for one, other in itertools.pairwise(spans))


@settings(max_examples=examples(100))
@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_what_two_have_in_common(one: set[int], other: set[int]) -> None:
    ranges, others = Ranges(), Ranges()
    for number in one:
        ranges.add(number)
    for number in other:
        others.add(number)
    spans = list(ranges.common(others))
    assert {each for low, high in spans for each in range(low, high + 1)} == one & other


@settings(max_examples=examples(100))
@given(st.sets(st.integers(0, 30)))
def test_numbers_are_joined_to_spans(numbers: set[int]) -> None:
    ranges = Ranges()
    for number in numbers:
        ranges.add(number)
    assert spans_of(sorted(numbers)) == ranges.spans()


@settings(max_examples=examples(150))
@given(st.sets(st.integers(0, 12)), st.integers(0, 12), st.integers(0, 5))
def test_a_span_is_removed_or_nothing(numbers: set[int], low: int, more: int) -> None:
    ranges = Ranges(spans_of(sorted(numbers)))
    gone = set(range(low, low + more + 1))
    if gone <= numbers:
        ranges.remove_span(low, low + more)
        numbers -= gone
    else:
        with pytest.raises(ValueError, match="in no range"):
            ranges.remove_span(low, low + more)
    assert ranges.spans() == spans_of(sorted(numbers))
    assert ranges.total == len(numbers)
