"""What `make bench PARTS=latency` decides, without servers: when messages are due, what is late."""

import time
from itertools import pairwise

import pytest

from benchmarks.clients import Task, Work
from benchmarks.latency import OF_ALL, passed
from benchmarks.paced_clients import due_moments
from benchmarks.stack import Done
from benchmarks.usage import Spent


def paced(threads: int = 1, rate: float = 100.0) -> Task:
    return Task(address="", kind="put", queue="", threads=threads, seconds=0.2, rate=rate)


def test_every_message_that_was_due_in_a_pause_is_late() -> None:
    late_ms = []
    for number, due in enumerate(due_moments(paced(), 0)):
        late_ms.append((time.monotonic_ns() - due) / 1e6)
        if number == 5:
            time.sleep(0.1)
    assert len(late_ms) == 20
    assert all(ms >= 100 - 10 * behind for behind, ms in enumerate(late_ms[6:14], 1))


def test_putters_share_the_rate_and_are_due_in_turn() -> None:
    moments = [list(due_moments(paced(threads=4), number)) for number in range(4)]
    assert [len(own) for own in moments] == [5, 5, 5, 5]
    assert all(late - soon == 40_000_000 for own in moments for soon, late in pairwise(own))


def test_without_a_rate_the_next_message_is_due_when_the_one_before_is_put() -> None:
    moments = []
    for due in due_moments(paced(rate=0.0), 0):
        moments.append(due)
        time.sleep(0.05)
    assert 1 <= len(moments) <= 5


def test_what_share_of_the_messages_took_how_long() -> None:
    got = Work(900, 2.0, [], put_to_get_ms=[float(ms) for ms in range(1000, 0, -1)])
    found = passed(Done([got, Work(1000, 2.0, [])], Spent()))
    assert found.rate == 450
    assert [found.of_all(share) for share in OF_ALL.values()] == [501, 991, 1000, 1000]


def test_a_lost_message_is_no_figure() -> None:
    got = Work(2, 1.0, [], put_to_get_ms=[1.0, 2.0])
    with pytest.raises(RuntimeError, match="3 messages were put, and 2 were got"):
        passed(Done([got, Work(3, 1.0, [])], Spent()))
