"""Messages that are held: none is lost, and they come in their order when they are released."""

from uuid import UUID

import pytest

from adapter.servicebroker import DEFAULT, END_DIALOG, ERROR, ServiceBrokerError
from tests.support.backlog import until
from tests.support.broker_site import (
    APPROVAL,
    EXPENSES,
    FORMS,
    SUBMISSION,
    BrokerSite,
    broker_site,
    error_of,
)

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


LATER = "//expenses/Later"


def create_later(at: BrokerSite) -> None:
    at.admin.create_service(LATER, EXPENSES, contracts=[DEFAULT])


@pytest.mark.parametrize("correction", ["alter", "drop", "add"])
def test_finding_servicebroker_d1_a_corrected_route_delivers_what_waits(correction: str) -> None:
    with broker_site() as at:
        create_later(at)
        at.admin.create_route("wrong", service=LATER, address="NOSUCHQM")
        handle = at.submit("one", to=LATER)
        (row,) = at.admin.transmission_queue()
        assert "queue manager NOSUCHQM, which is not known" in row.transmission_status
        at.form.send(handle, body="two")
        at.restart()
        if correction == "alter":
            at.admin.alter_route("wrong", address="LOCAL")
        elif correction == "drop":
            at.admin.drop_route("wrong")
        else:
            at.admin.create_route("a right one", service=LATER, address="LOCAL")
        at.form.send(handle, body="three")
        at.form.end_conversation(handle)
        assert received(at) == ["one", "two", "three", END_DIALOG]
        assert at.admin.transmission_queue() == []
        assert [one.is_initiator for one in at.admin.conversation_endpoints()] == [False]


def test_finding_servicebroker_d1_a_wrong_route_for_a_moment() -> None:
    with broker_site() as at:
        handle = at.submit("one", to=LATER)
        at.admin.create_route("wrong", service=LATER, address="NOSUCHQM")
        at.form.send(handle, body="two")
        assert len(at.admin.transmission_queue()) == 2
        at.admin.drop_route("wrong")
        create_later(at)
        assert received(at) == ["one", "two"]


def test_finding_servicebroker_d1_more_than_a_step_redirects() -> None:
    with broker_site(clock="manual") as at:
        create_later(at)
        at.admin.create_route("wrong", service=LATER, address="NOSUCHQM")
        handle = at.submit(*numbers(0, MANY), to=LATER)
        at.admin.alter_route("wrong", address="LOCAL")
        at.form.send(handle, body="last")
        for _ in range(5):
            at.manager.clock.advance(1)
        assert received(at) == [*numbers(0, MANY), "last"]


@pytest.mark.parametrize("restarts", [False, True])
def test_finding_servicebroker_d2_cleanup_of_an_endpoint_that_was_ended(restarts: bool) -> None:
    with broker_site() as at:
        handle = at.submit("one", to=LATER)
        at.form.end_conversation(handle)
        (endpoint,) = at.admin.conversation_endpoints()
        assert endpoint.state == "DO"
        if restarts:
            at.restart()
        at.admin.end_conversation(endpoint.conversation_handle, cleanup=True)
        assert at.admin.conversation_endpoints() == []
        assert at.admin.transmission_queue() == []
        with pytest.raises(ServiceBrokerError) as refused:
            at.admin.end_conversation(handle, cleanup=True)
        assert refused.value.number == 8426
        at.admin.drop_service(SUBMISSION)
        create_later(at)
        assert received(at) == []


def test_finding_servicebroker_d3_cleanup_drops_what_is_in_transmission() -> None:
    with broker_site() as at:
        gone, kept = at.submit("gone", to=LATER), at.submit("kept", to=LATER)
        at.restart()
        at.form.send(gone, body="gone too")
        at.form.end_conversation(gone, cleanup=True)
        assert [row.message_body for row in at.admin.transmission_queue()] == [
            "kept".encode("utf-16-le")
        ]
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, LATER)
            t.send(handle, body="never sent")
            t.end_conversation(handle, cleanup=True)
        create_later(at)
        assert received(at) == ["kept"]
        at.form.end_conversation(kept)


def test_finding_servicebroker_d3_the_end_after_an_error_drops_what_is_in_transmission() -> None:
    with broker_site(clock="manual") as at:
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, LATER, lifetime_s=2)
            t.send(handle, body="p1")
            t.send(handle, body="p2")
        at.manager.clock.advance(2_000)
        (error,) = at.form.receive(FORMS)
        assert error_of(error)[0] == -8489
        at.form.end_conversation(handle)
        assert at.admin.transmission_queue() == []
        create_later(at)
        assert received(at) == []


def test_finding_servicebroker_d3_a_lifetime_that_is_over_drops_what_was_sent_and_forgotten() -> (
    None
):
    with broker_site(clock="manual") as at:
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, LATER, lifetime_s=2)
            t.send(handle, body="p1")
            t.end_conversation(handle)
        assert len(at.admin.transmission_queue()) == 2
        at.manager.clock.advance(2_000)
        assert at.admin.conversation_endpoints() == []
        assert at.admin.transmission_queue() == []
        create_later(at)
        assert received(at) == []


def test_finding_servicebroker_d3_nothing_arrives_first_after_its_lifetime() -> None:
    with broker_site(clock="manual") as at:
        at.admin.alter_queue(EXPENSES, status=False)
        with at.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, APPROVAL, lifetime_s=2)
            t.send(handle, body="p1")
            t.end_conversation(handle)
        at.manager.clock.advance(2_000)
        at.admin.alter_queue(EXPENSES, status=True)
        assert received(at) == []
        assert at.admin.conversation_endpoints() == []
        assert at.admin.transmission_queue() == []


@pytest.mark.parametrize("initiator_is_gone", [False, True])
def test_finding_servicebroker_d4_a_peer_that_was_cleaned_up_is_reported(
    initiator_is_gone: bool,
) -> None:
    with broker_site() as at:
        near = at.submit("one")
        far = at.far_of(near)
        gone, sender, queue = (near, far, EXPENSES) if initiator_is_gone else (far, near, FORMS)
        at.admin.end_conversation(gone, cleanup=True)
        with at.form.transaction() as t:
            t.send(sender, body="lost")
            t.send(sender, body="lost too")
        (error,) = (row for row in at.program.receive(queue) if row.message_type_name == ERROR)
        code, text = error_of(error)
        assert code == -8462
        assert text.startswith("The remote conversation endpoint is either in a state where no ")
        assert at.program.receive(queue) == []
        at.form.end_conversation(sender)
        assert at.admin.conversation_endpoints() == []


def test_finding_servicebroker_d5_drop_service_ends_its_conversations() -> None:
    with broker_site() as at:
        open_one, ended, own = at.submit("one"), at.submit("two"), at.submit("waits", to=LATER)
        at.form.end_conversation(ended)
        with at.program.transaction() as t:
            t.receive(EXPENSES)
            with pytest.raises(ServiceBrokerError, match="a transaction uses") as refused:
                at.admin.drop_service(APPROVAL)
            assert refused.value.number == 3716
            t.rollback()
        at.admin.drop_service(APPROVAL)
        assert at.texts() == []
        (error,) = at.form.receive(FORMS)
        assert error.conversation_handle == open_one
        assert error_of(error) == (-8470, "The remote service has been dropped.")
        at.form.end_conversation(open_one)
        assert [one.conversation_handle for one in at.admin.conversation_endpoints()] == [own]
        at.admin.drop_service(SUBMISSION)
        assert at.admin.conversation_endpoints() == []
        assert at.admin.transmission_queue() == []
        at.admin.drop_queue(EXPENSES)
        at.restart()
        assert at.admin.conversation_endpoints() == []


def test_finding_servicebroker_d6_receive_from_a_group_that_is_not_known() -> None:
    with broker_site() as at:
        for timeout_ms in (0, -1):
            with pytest.raises(ServiceBrokerError) as refused:
                at.program.receive(
                    EXPENSES, conversation_group_id=UUID(int=1), timeout_ms=timeout_ms
                )
            assert refused.value.number == 8436
