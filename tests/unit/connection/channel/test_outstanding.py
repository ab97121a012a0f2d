"""What becomes of requests and handles when a connection is lost, and no other is to be had."""

from typing import Any

import pytest

from adapter.connection.channel import requests as rq
from adapter.connection.channel.outstanding import Outstanding
from adapter.connection.channel.requests import Pending
from adapter.connection.wire.frames import AskServer
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.errors import ConnectionBroken


def test_handles_that_were_let_go_are_not_opened_again() -> None:
    outstanding = Outstanding()
    kept, gone = outstanding.new_handle("KEPT", c.INPUT), outstanding.new_handle("GONE", c.INPUT)
    for handle in (kept, gone):
        handle.is_open = True
        outstanding.handles[handle.number] = handle
    unit = outstanding.enlist()
    outstanding.let_go.extend([unit, gone])
    outstanding.lost("cut")
    assert [one.command for one in outstanding.reopening()] == [rq.open_request(kept).command]
    assert list(outstanding.handles) == [kept.number]
    assert list(outstanding.let_go) == [unit]


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_handle_that_is_opened_again_is_closed_before_and_not_behind(is_linked: bool) -> None:
    outstanding = Outstanding()
    handle, other = outstanding.new_handle("Q", c.INPUT), outstanding.new_handle("Q", c.INPUT)
    for one in (handle, other):
        outstanding.keep(one, is_linked=True)
    outstanding.let_go.extend([other, handle])
    outstanding.keep(handle, is_linked=is_linked)
    closed = [
        one.command.handle for one in outstanding.closes() if isinstance(one.command, c.Close)
    ]
    assert closed == [handle.number] * is_linked + [other.number]
    assert outstanding.handles == {handle.number: handle}


OPENINGS: list[Any] = [
    None,
    c.OpenTopic(1, "a"),
    c.OpenConsumer(1, "Q", "C", 1000),
    c.Subscribe(1, "a", options=c.CREATE | c.MANAGED),
    m.MsmqOpen(1, "Q", 1),
]


@pytest.mark.parametrize("opening", OPENINGS, ids=lambda one: type(one).__name__)
def test_finding_client_6_what_is_being_opened_is_not_opened_twice(opening: Any) -> None:
    """The request itself is sent again, whatever it is that opens the handle."""
    outstanding = Outstanding()
    handle = outstanding.new_handle("Q", c.INPUT)
    handle.opening, handle.is_open = opening, True
    outstanding.handles[handle.number] = handle
    asked = rq.open_request(handle)
    outstanding.register(outstanding.prepare([asked], None), sent=True)
    outstanding.lost("cut")
    assert outstanding.reopening() == []
    assert list(outstanding.pending.values()) == [asked]


@pytest.mark.parametrize("question", [c.AskLowest(1), b.BrokerAwaitEvent("s"), AskServer()])
def test_finding_reliability_questions_are_asked_again(question: c.Command | AskServer) -> None:
    outstanding = Outstanding()
    asked = Pending(question)
    outstanding.register(outstanding.prepare([asked], None), sent=True)
    outstanding.give_up("it is cut")
    assert isinstance(asked.answer, ConnectionBroken)
    assert "ask again" in str(asked.answer)


def test_what_could_not_be_sent_is_no_part_of_its_unit() -> None:
    """So the unit begins again as a whole when the queue manager lets go of it."""
    outstanding = Outstanding()
    handle = outstanding.new_handle("Q", c.OUTPUT)
    handle.is_open = True
    outstanding.handles[handle.number] = handle
    unit = outstanding.enlist()
    put = Pending(c.Put(1, [], unit.ident), rq.WITH_UNIT, handle=handle)
    outstanding.prepare([put], unit)  # its frame was too long
    put = Pending(c.Put(1, [], unit.ident), rq.WITH_UNIT, handle=handle)
    outstanding.register(outstanding.prepare([put], unit), sent=True)
    outstanding.is_let_go = True
    outstanding.lost("it is being stopped")
    assert put.answer is None
    assert unit.epoch == outstanding.epoch
