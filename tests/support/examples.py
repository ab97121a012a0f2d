"""How many examples of a property a run tries: `make check` a fifth of what `make test` tries."""

from hypothesis import settings

ALL = 100
"""What hypothesis tries by default of a property that does not say how many it needs."""


def register_profile() -> None:
    """Let `pytest --hypothesis-profile=short` try a fifth of all examples."""
    settings.register_profile("short", max_examples=ALL // 5)


def examples(count: int) -> int:
    """Return how many of so many examples this run tries; 1 or more."""
    return max(1, count * settings().max_examples // ALL)
