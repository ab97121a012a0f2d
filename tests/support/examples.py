"""How many examples of a property a run tries, and how many cases of a test that takes long."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

CaseT = TypeVar("CaseT")
ALL = 100
"""What hypothesis tries by default of a property that does not say how many it needs."""


def register_profiles() -> None:
    """Try all examples by default, a fifth with `pytest --hypothesis-profile=short`, and ten times
    as many with `--hypothesis-profile=long`, which `make kills` asks for.

    An example may take its time: no property is wrong because the machine stood still.
    """
    slow = [HealthCheck.too_slow]
    settings.register_profile("all", deadline=None, suppress_health_check=slow)
    settings.load_profile("all")
    settings.register_profile("short", max_examples=ALL // 5)
    settings.register_profile("long", max_examples=10 * ALL)


def examples(count: int) -> int:
    """Return how many of so many examples this run tries; 1 or more."""
    return max(1, count * settings().max_examples // ALL)


def few(cases: Sequence[CaseT], count: int) -> list[CaseT]:
    """Return count of the cases, from the first to the last; all in a long run.

    For cases that differ in a place or a moment, each of which takes seconds.
    """
    if _is_long() or count >= len(cases):
        return list(cases)
    return [cases[number * (len(cases) - 1) // max(1, count - 1)] for number in range(count)]


def chosen(cases: Sequence[CaseT], short: Callable[[CaseT], bool]) -> list[CaseT]:
    """Return the cases of which short is true; all in a long run.

    For cases of which those that are left out show little that these do not show.
    """
    return [case for case in cases if _is_long() or short(case)]


def _is_long() -> bool:
    return settings().max_examples > ALL
