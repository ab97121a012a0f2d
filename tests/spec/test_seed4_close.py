"""Seed 4, S4.38-S4.47: (11) the application that serves the queue closes it."""

from collections.abc import Iterator
from typing import Literal

import pytest

from tests.support.trigger_site import TAKEN_AWAY, Site, site, take_away

ROUNDS = 10
THRESHOLD = 3


@pytest.fixture
def at() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.mark.parametrize("trigger_type", ["FIRST", "DEPTH"])
def test_s4_38_the_close_of_the_single_server_fires(at: Site, trigger_type: str) -> None:
    """S4.38: (11) the single application that serves a FIRST or DEPTH queue issues MQCLOSE: a
    trigger message is made, and not before."""
    at.define(messages=2, trigger_type=trigger_type, trigger_depth=2)
    with at.serving() as server:
        assert at.triggered() == []
        server.close()
        assert at.triggered() == ["Q"]


@pytest.mark.parametrize("open_for", ["output", "browse"])
def test_s4_38_the_close_of_another_handle_does_not(
    at: Site, open_for: Literal["output", "browse"]
) -> None:
    """S4.38: closing a handle for output or browse does not fire."""
    at.define(messages=1)
    queue = at.app.queue("Q", open_for=open_for)
    if open_for == "browse":
        assert len(list(queue.browse())) == 1
    queue.close()
    assert at.triggered() == []


def test_s4_38_nor_if_a_server_still_has_it_open(at: Site) -> None:
    """S4.38: with a server there, what others close does not fire either."""
    at.define(messages=1)
    with at.serving():
        at.app.queue("Q", open_for="browse").close()
        assert at.triggered() == []


def test_s4_39_first_needs_a_message(at: Site) -> None:
    """S4.39: a FIRST queue must hold 1 message at least then: empty at the close: none."""
    at.define(messages=2)
    assert at.drain() == 2
    assert at.triggered() == []
    at.serve_nothing()
    assert at.triggered() == []


@pytest.mark.parametrize(("messages", "fires"), [(2, False), (3, True), (4, True)])
def test_s4_40_depth_needs_as_many(at: Site, messages: int, fires: bool) -> None:
    """S4.40: a DEPTH queue must hold TriggerDepth messages at least: one less at the close:
    none."""
    at.define(messages=messages, trigger_type="DEPTH", trigger_depth=3)
    at.serve_nothing()
    assert at.triggered() == (["Q"] if fires else [])


@pytest.mark.parametrize("what", TAKEN_AWAY)
def test_s4_41_the_other_conditions_hold(at: Site, what: str) -> None:
    """S4.41: 5 to 9 hold: each that does not suppresses it."""
    at.define(messages=1)
    with at.serving():
        take_away(at, what)
    assert at.app.queue("INITQ").depth() == 0


@pytest.mark.parametrize(("priority", "fires"), [(4, False), (5, True)])
def test_s4_41_the_messages_need_the_priority(at: Site, priority: int, fires: bool) -> None:
    """S4.41: messages need the required priority (2): lower ones do not count."""
    at.define(trigger_msg_priority=5)
    with at.serving():
        at.put(priority=priority)
    assert at.triggered() == (["Q"] if fires else [])


def test_s4_42_only_the_last_close_fires(at: Site) -> None:
    """S4.42: another application has the queue open for input still: this close is not the single
    application's: only the last one fires."""
    at.define(messages=1)
    with at.serving() as first, at.serving() as second, at.serving() as third:
        second.close()
        assert at.triggered() == []
        first.close()
        assert at.triggered() == []
        third.close()
        assert at.triggered() == ["Q"]


def test_s4_43_every_does_not_trigger_on_close(at: Site) -> None:
    """S4.43: EVERY does not trigger on close: closed with messages on it: none."""
    at.define(messages=2, trigger_type="EVERY")
    at.serve_nothing()
    assert at.triggered() == []


def test_s4_44_messages_that_arrive_between_the_get_and_the_close(at: Site) -> None:
    """S4.44: the purpose: a server finds the queue empty and ends, while messages arrive between
    its MQGET and its MQCLOSE: one put in that window yields a trigger message at the close."""
    at.define()
    with at.serving() as server:
        assert server.get() is None
        at.put()
        assert at.triggered() == []
    assert at.triggered() == ["Q"]
    assert at.drain() == 1
    assert at.triggered() == []


def test_s4_45_processing_loops_if_the_queue_is_not_drained(at: Site) -> None:
    """S4.45: (a) if the application does not get all messages, processing loops: each close makes
    a further trigger message, which starts the server again: three closes, three messages."""
    at.define(messages=9)
    starts = 0
    at.serve_nothing()
    while starts < 3:
        assert at.triggered() == ["Q"]
        starts += 1
        with at.serving() as server:
            assert server.get() is not None
    assert at.triggered() == ["Q"]
    assert at.app.queue("Q").depth() == 6


def test_s4_46_so_it_does_if_the_get_is_rolled_back_before_the_close(at: Site) -> None:
    """S4.46: (b) the same loop occurs if the application rolls its get back before it closes."""
    at.define(messages=1)
    for _ in range(3):
        with at.manager.connect() as server:
            queue = server.queue("Q", open_for="input")
            with server.unit() as unit:
                assert queue.get() is not None
                unit.backout()
            queue.close()
            assert at.triggered() == ["Q"]


@pytest.mark.parametrize("abrupt", [False, True])
def test_s4_46_or_if_the_application_terminates_abnormally(at: Site, abrupt: bool) -> None:
    """S4.46: ... or if it terminates abnormally: its end rolls back, and implies the close."""
    at.define(messages=1)
    for rounds in range(3):
        server = at.manager.connect()
        unit = server.unit()
        unit.begin()
        message = server.queue("Q", open_for="input").get(unit=unit)
        assert message is not None
        assert message.backout_count == rounds
        assert at.triggered() == []
        server.disconnect(abrupt=abrupt)
        assert at.initiation.get(timeout=20.0) is not None


def test_s4_46_or_if_an_operator_ends_it(at: Site) -> None:
    """S4.46: ... or if its connection is ended by somebody else."""
    at.define(messages=1)
    server = at.manager.connect(application="ended")
    server.queue("Q", open_for="input")
    (number,) = [one.number for one in at.app.connections() if one.application == "ended"]
    at.app.end_connection(number)
    assert at.triggered() == ["Q"]
    server.close()


@pytest.mark.parametrize("reads_the_count", [True, False])
def test_s4_45_s4_47_the_loop_ends_if_the_program_reads_the_backout_count(
    at: Site, reads_the_count: bool
) -> None:
    """S4.45: a server that fails is started again and again by its own closes. S4.47: (c) prevent
    the loop with MQMD.BackoutCount: it ends because the program reads the count."""
    at.app.define_queue("ASIDE")
    at.define()
    at.put()
    starts = 0
    while at.triggered() and starts < ROUNDS:
        starts += 1
        with at.manager.connect() as server:
            queue = server.queue("Q", open_for="input")
            with server.unit() as unit:
                message = queue.get()
                assert message is not None
                if reads_the_count and message.backout_count == THRESHOLD:
                    server.put("ASIDE", message)
                else:
                    unit.backout()
            queue.close()
    assert starts == (THRESHOLD + 1 if reads_the_count else ROUNDS)
    assert at.app.queue("ASIDE").depth() == reads_the_count
