"""Timers and lifetimes: each is over once, whatever was done to its conversation meanwhile."""

from uuid import UUID

from adapter.servicebroker import DIALOG_TIMER
from tests.support.broker_site import (
    APPROVAL,
    EXPENSES,
    FORMS,
    SUBMISSION,
    BrokerSite,
    broker_site,
    error_of,
)

LIFETIME_OVER = -8489


def short_dialog(at: BrokerSite) -> UUID:
    with at.form.transaction() as t:
        handle = t.begin_dialog(SUBMISSION, APPROVAL, lifetime_s=10)
        t.send(handle, body="one")
    for body in ("two", "three"):
        at.form.send(handle, body=body)
    return handle


def types(at: BrokerSite, queue: str) -> list[str]:
    return [row.message_type_name for row in at.program.receive(queue)]


def test_a_lifetime_is_over_once_on_each_side() -> None:
    with broker_site(clock="manual") as at:
        short_dialog(at)
        at.restart(crash=True)
        at.manager.clock.advance(10)
        at.manager.clock.advance(10)
        (error,) = at.form.receive(FORMS)
        assert error_of(error)[0] == LIFETIME_OVER
        error, *rest = at.program.receive(EXPENSES)
        assert error_of(error)[0] == LIFETIME_OVER
        assert [row.text for row in rest] == ["one", "two", "three"]


def test_a_timer_rings_once() -> None:
    with broker_site(clock="manual") as at:
        handle = at.submit("one")
        at.form.begin_conversation_timer(handle, 5)
        at.form.send(handle, body="two")
        at.form.send(handle, body="three")
        at.restart(crash=True)
        at.manager.clock.advance(5)
        at.manager.clock.advance(5)
        assert types(at, FORMS) == [DIALOG_TIMER]


def test_a_timer_that_is_set_again_rings_at_the_later_time() -> None:
    with broker_site(clock="manual") as at:
        handle = at.submit("one")
        at.form.begin_conversation_timer(handle, 5)
        at.form.begin_conversation_timer(handle, 8)
        at.manager.clock.advance(5)
        assert types(at, FORMS) == []
        at.manager.clock.advance(3)
        assert types(at, FORMS) == [DIALOG_TIMER]


def test_a_timer_and_the_lifetime_at_once() -> None:
    with broker_site(clock="manual") as at:
        handle = short_dialog(at)
        at.form.begin_conversation_timer(handle, 10)
        at.program.end_conversation(at.far_of(handle))
        assert len(types(at, FORMS)) == 1
        at.manager.clock.advance(10)
        assert types(at, FORMS) == [DIALOG_TIMER]
