"""How hypothesis tries properties: how many examples, and without a bound of time."""

from hypothesis import HealthCheck, settings

ALL = 100
"""What hypothesis tries by default of a property that does not say how many it needs."""


def register_profiles() -> None:
    """Try all examples by default, and a fifth with `pytest --hypothesis-profile=short`.

    An example may take its time: no property is wrong because the machine stood still.
    """
    slow = [HealthCheck.too_slow]
    settings.register_profile("all", deadline=None, suppress_health_check=slow)
    settings.load_profile("all")
    settings.register_profile("short", max_examples=ALL // 5)


def examples(count: int) -> int:
    """Return how many of so many examples this run tries; 1 or more."""
    return max(1, count * settings().max_examples // ALL)
