"""Handles: opening in modes, sharing, and what a close or a lost connection takes along."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done
from adapter.core.rules.network.opening import HANDLE_MAX
from tests.support.core import IN_OUT, Client, client_on


def counts(client: Client) -> tuple[int, int, int]:
    queue = client.core.queue()
    return queue.opens.input, queue.opens.output, queue.opens.handles


def test_open_counts_by_mode() -> None:
    client = client_on()
    assert counts(client) == (1, 1, 1)
    client.open(modes=c.INPUT, handle=2)
    client.open(modes=c.OUTPUT, handle=3)
    client.open(modes=c.BROWSE, handle=4)
    assert counts(client) == (2, 2, 4)
    for handle in (1, 2, 3, 4):
        assert client.do(c.Close(handle)) == Done()
    assert counts(client) == (0, 0, 0)
    assert client.refused(c.Close(1)) is Reason.HANDLE_NOT_OPEN


def test_exclusive_input_keeps_others_out() -> None:
    client = client_on()
    client.do(c.Close(1))
    client.open(modes=c.EXCLUSIVE)
    other = client.core.connect()
    assert other.refused(c.Open(1, "Q", c.INPUT)) is Reason.QUEUE_IN_USE
    assert other.refused(c.Open(1, "Q", c.EXCLUSIVE)) is Reason.QUEUE_IN_USE
    assert other.open(modes=c.OUTPUT | c.BROWSE) == Done()
    client.do(c.Close(1))
    assert other.open(modes=c.INPUT, handle=2) == Done()


def test_exclusive_input_implies_input() -> None:
    client = client_on()
    client.put("a")
    client.do(c.Close(1))
    client.open(modes=c.EXCLUSIVE)
    assert client.get() == ["a"]


def test_shared_input_keeps_exclusive_input_out() -> None:
    client = client_on()
    assert client.refused(c.Open(2, "Q", c.EXCLUSIVE)) is Reason.QUEUE_IN_USE
    assert counts(client) == (1, 1, 1)


def test_a_queue_that_is_not_shared_is_always_exclusive() -> None:
    client = client_on(share=False)
    assert client.refused(c.Open(2, "Q", c.INPUT)) is Reason.QUEUE_IN_USE
    client.do(c.Close(1))
    assert client.open(modes=c.INPUT, handle=2) == Done()


def test_the_end_of_a_connection_frees_the_queue() -> None:
    client = client_on(share=False)
    other = client.core.connect()
    client.lose()
    assert counts(client) == (0, 0, 0)
    assert other.open(modes=c.EXCLUSIVE) == Done()


def test_units_are_backed_out_before_handles_are_closed() -> None:
    """S4.46: whoever waits on the queue is given what the lost connection held."""
    client = client_on()
    client.put("a")
    client.get(client.begin())
    other = client.core.connect()
    other.open()
    waiting = other.send(c.Get(1, wait_ms=-1))
    client.lose()
    assert other.answer(waiting) is not None
    assert client.number not in client.core.qm.connections


def test_a_lost_connection_is_lost_once() -> None:
    client = client_on()
    client.lose()
    client.lose()
    assert client.answer(client.send(c.Inquire("*"))) is None, "nobody would hear the answer"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.Open(2, "NONE", IN_OUT), Reason.QUEUE_NOT_FOUND),
        (c.Open(1, "Q", IN_OUT), Reason.HANDLE_IN_USE),
        (c.Open(0, "Q", IN_OUT), Reason.HANDLE_IN_USE),
        (c.Open(HANDLE_MAX + 1, "Q", IN_OUT), Reason.HANDLE_IN_USE),
        (c.Open(2, "Q", 0), Reason.OPTIONS_ERROR),
        (c.Open(2, "Q", 64), Reason.OPTIONS_ERROR),
        (c.Open(2, "Q", -1), Reason.OPTIONS_ERROR),
    ],
)
def test_what_is_refused(command: c.Open, reason: Reason) -> None:
    client = client_on()
    assert client.refused(command) is reason
    assert counts(client) == (1, 1, 1)


def test_the_number_of_handles_is_bounded() -> None:
    client = client_on(limits=Limits(handles_per_connection=2))
    client.open(handle=2)
    assert client.refused(c.Open(3, "Q", IN_OUT)) is Reason.LIMIT_REACHED
    assert counts(client) == (2, 2, 2)
    client.do(c.Close(1))
    assert client.open(handle=3) == Done()


def test_handles_belong_to_their_connection() -> None:
    client = client_on()
    assert client.core.connect().refused(c.Get(1)) is Reason.HANDLE_NOT_OPEN
