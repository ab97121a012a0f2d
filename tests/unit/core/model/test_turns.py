"""Which requests of a connection wait for one that waits for a page, and which overtake it."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.commands import Command, Request
from adapter.core.model.turns import Turns

GET = c.Get(1)
IN_UNIT = c.Get(1, unit=b"u")
BROWSE = c.Browse(1)
MOVE = m.MsmqMove(1, 2, 7)


def request(command: Command, number: int = 1) -> Request:
    return Request(1, number, 0, command)


@pytest.mark.parametrize(
    ("waits", "comes", "is_early"),
    [
        (GET, GET, False),
        (GET, c.Get(2), False),
        (GET, c.Close(1), True),
        (GET, c.Close(2), False),
        (c.Close(1), GET, True),
        (c.Open(1, "Q", c.INPUT), c.Open(1, "Q", c.INPUT), True),
        (IN_UNIT, c.Get(2, unit=b"u"), True),
        (IN_UNIT, c.Get(2, unit=b"v"), False),
        (IN_UNIT, c.Commit(b"u"), True),
        (IN_UNIT, GET, False),
        (BROWSE, BROWSE, True),
        (BROWSE, c.Browse(2), False),
        (BROWSE, GET, False),
        (m.MsmqReceive(1), m.MsmqReceive(1), True),
        (MOVE, c.Close(2), True),
        (c.Close(2), MOVE, True),
        (MOVE, c.Close(1), True),
        (MOVE, c.Close(3), False),
        (MOVE, MOVE, False),
        (c.Begin(b"v"), c.AskOutcome(b"v"), True),
    ],
)
@pytest.mark.parametrize("is_held", [False, True])
def test_a_request_waits_for_one_that_it_depends_on(
    waits: Command, comes: Command, is_early: bool, is_held: bool
) -> None:
    turns, first = Turns(), request(waits)
    (turns.hold if is_held else turns.suspend)(first)
    assert turns.comes_too_early(request(comes, 2)) is is_early
    if is_held:
        assert turns.take_held() == [first]
    else:
        turns.resume(first)
    assert not turns.comes_too_early(request(comes, 2)), "nothing waits any more"


def test_what_is_held_is_taken_in_the_order_in_which_it_came() -> None:
    turns = Turns()
    held = [request(c.Close(1), number) for number in range(5)]
    for one in held:
        turns.hold(one)
    assert turns.take_held() == held
    assert turns.held == turns.take_held() == []


def test_of_two_that_wait_each_counts_until_it_goes_on() -> None:
    turns = Turns()
    first, second = request(GET, 1), request(GET, 2)
    turns.suspend(first)
    turns.suspend(second)
    turns.resume(first)
    assert turns.comes_too_early(request(c.Close(1), 3))
    turns.resume(second)
    assert not turns.comes_too_early(request(c.Close(1), 3))
