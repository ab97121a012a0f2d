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


def test_nothing_is_retained_of_what_the_ending_transaction_has_sent_and_received() -> None:
    with broker_site() as at:
        for queue in (FORMS, EXPENSES):
            at.admin.alter_queue(queue, retention=True)
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, APPROVAL)
            t.send(handle, body="one")
            t.end_conversation(handle)
        with at.program.transaction() as t:
            (row, _) = t.receive(EXPENSES)
            t.end_conversation(row.conversation_handle)
        handle = at.submit("two")
        with at.form.transaction() as t:
            t.send(handle, body="three")
            t.end_conversation(handle, cleanup=True)
        assert at.admin.browse(FORMS) == []
        assert at.texts() == ["two", "three"]
