"""Waiters: lines by key, served in order of arrival, also across keys."""

import pytest

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.contract.commands import INPUT, Get, Request
from adapter.core.model.handles import QueueHandle
from adapter.core.model.queue import LocalQueue
from adapter.core.model.waiters import Waiter, Waiters

QUEUE = LocalQueue("Q", 0, QueueAttributes())
HANDLE = QueueHandle(1, QUEUE, INPUT)
GROUP = (QUEUE, b"g" * 24)
OTHER = (QUEUE, b"o" * 24)


def waiter(key: object, number: int) -> Waiter:
    command = Get(1)
    return Waiter(key, Request(1, number, 0, command), command, HANDLE, 0)


def line(waiters: Waiters, *keys: object) -> list[int]:
    return [one.request.request for one in waiters.waiting_for(*keys)]


def test_each_key_has_its_line_in_order_of_arrival() -> None:
    waiters = Waiters()
    for number, key in enumerate((QUEUE, GROUP, QUEUE, OTHER, GROUP), 1):
        waiters.add(waiter(key, number))
    assert line(waiters, QUEUE) == [1, 3]
    assert line(waiters, GROUP) == [2, 5]
    assert line(waiters, "no such lock") == []
    assert [waiters.count(key) for key in (QUEUE, GROUP, OTHER, "none")] == [2, 2, 1, 0]


def test_lines_that_one_change_may_serve_are_merged_by_arrival() -> None:
    """The end of a group lock serves who waits for the group, and who waits for any message."""
    waiters = Waiters()
    for number, key in enumerate((GROUP, QUEUE, OTHER, GROUP, QUEUE, GROUP), 1):
        waiters.add(waiter(key, number))
    assert line(waiters, QUEUE, GROUP) == line(waiters, GROUP, QUEUE) == [1, 2, 4, 5, 6]
    assert line(waiters) == []


def test_a_waiter_that_could_not_be_served_keeps_its_place() -> None:
    waiters = Waiters()
    first, second, third = (waiter(QUEUE, number) for number in (1, 2, 3))
    for one in (first, second, third):
        waiters.add(one)
    waiters.remove(second)
    waiters.add(second)
    assert line(waiters, QUEUE) == [1, 3, 2]
    waiters.remove(first)
    assert line(waiters, QUEUE) == [3, 2]
    with pytest.raises(KeyError):
        waiters.remove(first)


def test_waking_a_key_that_nobody_waits_for_is_forgotten_at_once() -> None:
    waiters = Waiters()
    waiters.wake(QUEUE)
    assert waiters.pop_woken() is None
    one = waiter(QUEUE, 1)
    waiters.add(one)
    waiters.wake(QUEUE)
    waiters.wake(QUEUE)
    waiters.wake(GROUP)
    assert waiters.woken() == [QUEUE]
    waiters.remove(one)
    assert waiters.woken() == []
    assert waiters.pop_woken() is None


def test_a_woken_key_is_taken_out_once() -> None:
    waiters = Waiters()
    waiters.add(waiter(QUEUE, 1))
    waiters.add(waiter(GROUP, 2))
    waiters.wake(QUEUE)
    waiters.wake(GROUP)
    assert {waiters.pop_woken(), waiters.pop_woken()} == {QUEUE, GROUP}
    assert waiters.pop_woken() is None
    assert line(waiters, QUEUE, GROUP) == [1, 2], "a line stays until its waiters are removed"
