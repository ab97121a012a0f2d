"""Options of adapters for frameworks: what one takes, the queue manager takes."""

import math
from collections.abc import Iterator

import pytest

import adapter
from adapter import testing
from adapter.errors import InvalidOption
from adapter.frameworks.options import KEPT_MAX_S, as_kept_s

TAKEN = [None, 1, 0.001, 1e-12, 7 * 24 * 3600.0, KEPT_MAX_S]
REFUSED = [0, -1, math.nan, math.inf, -math.inf, 604_800_000.0, KEPT_MAX_S + 0.2, "7", True, [1]]


@pytest.fixture
def qm() -> Iterator[adapter.Connection]:
    with testing.queue_manager("QM1") as manager, manager.connect() as connection:
        connection.define_queue("Q")
        yield connection


@pytest.mark.parametrize("seconds", TAKEN)
def test_a_time_that_is_taken_is_one_that_messages_may_have(
    qm: adapter.Connection, seconds: float | None
) -> None:
    kept_s = as_kept_s("ttl", seconds)
    assert kept_s == seconds
    qm.put("Q", "a", expiry_s=kept_s)


@pytest.mark.parametrize("seconds", REFUSED)
def test_a_time_that_is_refused_is_one_that_no_message_may_have(
    qm: adapter.Connection, seconds: float
) -> None:
    with pytest.raises(InvalidOption, match="ttl is a positive number of seconds"):
        as_kept_s("ttl", seconds)
    with pytest.raises(adapter.Error):
        qm.put("Q", "a", expiry_s=seconds)
