"""Messages that are held: none is lost, and they come in their order when they are released."""

import pytest

from adapter.servicebroker import DEFAULT, END_DIALOG
from tests.support.backlog import until
from tests.support.broker_site import EXPENSES, SUBMISSION, BrokerSite, broker_site

MANY = 1_200
"""More than a step releases."""


def numbers(first: int, end: int) -> list[str]:
    return [f"{number:04}" for number in range(first, end)]


def received(at: BrokerSite) -> list[str]:
    found: list[str] = []
    while rows := at.program.receive(EXPENSES):
        found += [row.text or row.message_type_name for row in rows]
    return found


@pytest.mark.parametrize("together", [True, False], ids=["in one transaction", "in several"])
def test_later_messages_of_a_new_dialog_are_held_too(together: bool) -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, status=False)
        handle = at.submit("one", *["two"] * together)
        if not together:
            at.form.send(handle, body="two")
        at.form.end_conversation(handle)
        assert len(at.admin.transmission_queue()) == 3
        at.manager.crash()
        at.manager.start()
        at.admin.alter_queue(EXPENSES, status=True)
        assert received(at) == ["one", "two", END_DIALOG]
        assert at.admin.transmission_queue() == []


def test_messages_for_a_service_that_does_not_exist_yet() -> None:
    with broker_site() as at:
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, "//expenses/Later")
            t.send(handle, body="one")
            t.send(handle, body="two")
        at.form.send(handle, body="three")
        at.admin.alter_queue(EXPENSES, status=False)
        at.admin.create_service("//expenses/Later", EXPENSES, contracts=[DEFAULT])
        at.form.send(handle, body="four")
        assert len(at.admin.transmission_queue()) == 4
        at.admin.alter_queue(EXPENSES, status=True)
        assert received(at) == ["one", "two", "three", "four"]


def test_more_messages_than_a_step_releases() -> None:
    with broker_site(clock="manual") as at:
        at.admin.alter_queue(EXPENSES, status=False)
        handle = at.submit(*numbers(0, MANY))
        at.admin.alter_queue(EXPENSES, status=True)
        at.form.send(handle, body="last")
        for _ in range(5):
            at.manager.clock.advance(1)
        assert received(at) == [*numbers(0, MANY), "last"]


def test_what_comes_for_an_ended_conversation_is_not_held() -> None:
    with broker_site() as at:
        handle = at.submit("one")
        at.program.end_conversation(at.far_of(handle), cleanup=True)
        at.admin.alter_queue(EXPENSES, status=False)
        at.form.send(handle, body="late")
        assert at.admin.transmission_queue() == []
        at.form.end_conversation(handle)
        assert at.admin.conversation_endpoints() == []
        assert at.admin.queue(EXPENSES).message_count == 0


def test_what_was_held_is_there_as_soon_as_the_queue_is_on() -> None:
    with broker_site(clock="manual") as at:
        at.admin.alter_queue(EXPENSES, status=False)
        at.submit("one", "two")
        at.admin.alter_queue(EXPENSES, status=True)
        assert received(at) == ["one", "two"]


def test_the_rest_is_released_after_a_crash() -> None:
    with broker_site(clock="manual") as at:
        at.admin.alter_queue(EXPENSES, status=False)
        at.submit(*numbers(0, MANY))
        at.admin.alter_queue(EXPENSES, status=True)
        assert 0 < len(at.texts()) < MANY
        at.manager.crash()
        at.manager.start()
        for _ in range(5):
            at.manager.clock.advance(1)
        assert received(at) == numbers(0, MANY)


def test_messages_of_several_services_are_released_together() -> None:
    names = [f"//expenses/Later{number}" for number in range(3)]
    with broker_site() as at:
        for name in names:
            at.submit(*numbers(0, 600), to=name)
        with at.admin.transaction():
            for name in names:
                at.admin.create_service(name, EXPENSES, contracts=[DEFAULT])
        until(lambda: at.admin.transmission_queue() == [])
        assert sorted(received(at)) == sorted(numbers(0, 600) * 3)
