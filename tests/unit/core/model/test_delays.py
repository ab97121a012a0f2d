"""Delays: what is due comes in order, however it is kept, and costs a few bytes."""

import random
import tracemalloc

import pytest

from adapter.core.contract.message import MessageData, Place
from adapter.core.model import delays
from adapter.core.model.delays import Delays, Entry, class_of, end_of

NOW = 1_700_000_000_000
DAY = 86_400_000


def always(_place: Place) -> bool:
    return True


def drained(found: Delays, now_ms: int) -> list[Entry]:
    """Take out all that is due by then."""
    entries = []
    while (entry := found.first(now_ms)) is not None:
        found.pop(entry)
        entries.append(entry)
    return entries


def random_entries(count: int) -> list[Entry]:
    rng = random.Random(1)
    return [
        (NOW + rng.randrange(300_000), (-rng.randrange(10), seq, 0), rng.randrange(10))
        for seq in range(1, count + 1)
    ]


def test_what_is_due_comes_in_the_order_of_times() -> None:
    found = Delays()
    entries = random_entries(3_000)
    for entry in entries:
        found.add(*entry, always)
    assert sorted(found.entries()) == sorted(entries)
    came = []
    for now_ms in range(NOW, NOW + 300_000, 7_000):
        some = drained(found, now_ms)
        assert all(due_ms <= now_ms for due_ms, _, _ in some)
        came += some
    came += drained(found, NOW + 300_000)
    assert came == sorted(entries)
    assert len(found) == 0
    assert found.next_ms() is None


def test_of_one_time_the_longest_delay_comes_first_for_it_was_put_first() -> None:
    found = Delays()
    later, earlier = (NOW, (-1, 5, 0), 0), (NOW, (-7, 9, 0), 0)
    found.add(*later, always)
    found.add(*earlier, always)
    assert drained(found, NOW) == [earlier, later]


def test_those_that_are_not_persistent_come_between_the_others() -> None:
    found = Delays()
    hard, soft = (NOW + 2, (0, 5, 0), 3), (NOW + 1, (0, 4, 7), 9)
    found.add(*hard, always)
    found.add(*soft, always)
    assert len(found) == 2
    assert drained(found, NOW + 2) == [soft, hard]


def test_what_is_added_late_comes_at_once() -> None:
    found = Delays()
    found.add(NOW + DAY, (0, 1, 0), 0, always)
    assert found.first(NOW) is None
    found.add(NOW - DAY, (0, 2, 0), 0, always)
    assert found.next_ms() is not None
    assert [place for _, place, _ in drained(found, NOW)] == [(0, 2, 0)]


def test_the_next_time_is_never_later_than_the_first_is_due() -> None:
    found = Delays()
    found.add(NOW + DAY, (0, 1, 0), 0, always)
    next_ms = found.next_ms()
    assert next_ms is not None
    seen = [next_ms]
    while found.first(seen[-1]) is None:
        seen.append(found.next_ms() or 0)
    assert seen == sorted(set(seen))
    assert seen[-1] == NOW + DAY
    assert len(seen) <= 3


def test_the_largest_numbers_there_are() -> None:
    found = Delays()
    entry = (NOW + delays.DELAY_MAX_MS, (-9, 2**40 - 1, 0), 9)
    found.add(*entry, always)
    assert list(found.entries()) == [entry]
    assert drained(found, entry[0]) == [entry]


def test_what_has_gone_is_forgotten_when_there_is_much() -> None:
    found = Delays()
    for seq in range(1, 5_000):
        found.add(NOW + DAY, (0, seq, 0), 0, lambda place: place[1] > 4_990)
    assert len(found) < 2_000


@pytest.mark.parametrize("spread_ms", [1, 600_000, 400 * DAY])
def test_a_delayed_message_costs_a_few_bytes(spread_ms: int) -> None:
    rng = random.Random(2)
    count = 50_000
    found = Delays()
    tracemalloc.start()
    try:
        for seq in range(1, count + 1):
            found.add(NOW + DAY + int(rng.random() * spread_ms), (0, seq, 0), 0, always)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size / count < 24


@pytest.mark.parametrize(
    ("delay_s", "lane"), [(0.001, 0), (10, 0), (10.001, 1), (3600, 3), (86_400, 5), (10**8, 9)]
)
def test_a_lane_is_a_class_of_delays(delay_s: float, lane: int) -> None:
    message = MessageData(put_time_ms=NOW, deliver_at_ms=NOW + round(delay_s * 1000))
    assert class_of(message) == lane


def test_a_message_is_looked_at_when_it_is_due_or_expires_before() -> None:
    message = MessageData(put_time_ms=NOW, deliver_at_ms=NOW + 10)
    assert end_of(message) == NOW + 10
    message.expiry_ms = 5
    assert end_of(message) == NOW + 5
    message.expiry_ms = 15
    assert end_of(message) == NOW + 10
