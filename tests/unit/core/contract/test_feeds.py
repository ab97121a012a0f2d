"""Times as feeds write them."""

from datetime import UTC, datetime, timedelta

import pytest

from adapter.core.contract.feeds import time_of


def test_times_are_those_of_the_calendar() -> None:
    day = datetime(1970, 1, 1, tzinfo=UTC)
    while day.year < 2105:
        text = day.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert time_of(text) == round(day.timestamp() * 1000), text
        day += timedelta(days=1, seconds=3671)


@pytest.mark.parametrize(
    "text",
    [
        *("2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z"),
        *("2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z"),
        *("2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z"),
        *("2026-01-01T00:00:00", "2026-01-01", "", "LATEST", "1969-12-31T23:59:59Z"),
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert time_of(text) is None


def test_seconds_may_be_left_out() -> None:
    assert time_of("2024-02-29T12:30Z") == time_of("2024-02-29T12:30:00Z")
