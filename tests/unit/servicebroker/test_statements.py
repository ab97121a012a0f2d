"""A statement that is a transaction of its own is tried again when its connection is lost."""

import threading
from collections.abc import Callable

import pytest

import adapter.testing
from adapter.connection.channel.unit import Unit
from adapter.servicebroker import ServiceBrokerError
from tests.support.broker_site import EXPENSES, BrokerSite, broker_site


def restart(at: BrokerSite) -> None:
    at.manager.restart()


def crash(at: BrokerSite) -> None:
    at.manager.crash()
    at.manager.start()


@pytest.mark.parametrize("stop", [restart, crash])
def test_the_first_statement_after_a_restart(stop: Callable[[BrokerSite], None]) -> None:
    with broker_site() as at:
        handle = at.submit("one")
        stop(at)
        assert [row.text for row in at.program.receive(EXPENSES)] == ["one"]
        stop(at)
        at.form.send(handle, body="two")
        assert at.texts() == ["two"]
        assert at.count() == 0


def test_a_receive_that_waits_goes_on_waiting() -> None:
    with broker_site() as at:
        handle = at.submit("one")
        at.process()
        found: list[str] = []
        waits = threading.Thread(
            target=lambda: found.extend(
                row.text for row in at.program.receive(EXPENSES, timeout_ms=20_000)
            )
        )
        waits.start()
        at.await_waits(EXPENSES)
        crash(at)
        at.form.send(handle, body="two")
        waits.join(20)
        assert found == ["two"]


def test_a_send_whose_answer_is_lost_is_done_once() -> None:
    with broker_site() as at:
        handle = at.submit("one")
        at.manager.drop_next_reply()
        at.form.send(handle, body="two")
        assert at.texts() == ["one", "two"]


@pytest.mark.parametrize("stop", [restart, crash])
@pytest.mark.parametrize("begins_before", [True, False])
def test_the_first_statement_of_a_transaction_after_a_restart(
    stop: Callable[[BrokerSite], None], begins_before: bool
) -> None:
    with broker_site() as at:
        handle = at.submit("one")
        if not begins_before:
            stop(at)
        with at.program.transaction() as t:
            if begins_before:
                stop(at)
            assert [row.text for row in t.receive(EXPENSES)] == ["one"]
        stop(at)
        with at.form.transaction():
            at.form.send(handle, body="two")
            at.form.send(handle, body="three")
        assert (at.texts(), at.count()) == (["two", "three"], 0)


def test_a_transaction_whose_id_is_known_is_not_begun_again() -> None:
    with broker_site() as at:
        at.submit("one")
        with at.program.transaction() as t:
            known = t.id
            crash(at)
            with pytest.raises(ServiceBrokerError, match="connection was lost"):
                t.receive(EXPENSES)
            t.rollback()
        assert at.program.outcome(known) != "committed"
        assert at.texts() == ["one"]


def test_a_transaction_is_not_begun_again() -> None:
    with broker_site() as at:
        at.submit("one")
        with at.program.transaction() as t:
            assert len(t.receive(EXPENSES)) == 1
            crash(at)
            with pytest.raises(ServiceBrokerError, match="connection was lost"):
                t.receive(EXPENSES)
            t.rollback()
        assert (at.texts(), at.count()) == (["one"], 1)


def test_an_error_about_a_message_type_speaks_of_the_contract() -> None:
    with broker_site() as at:
        at.program.create_message_type("//expenses/Other")
        handle = at.submit("one")
        with pytest.raises(
            ServiceBrokerError, match="that the contract has for this side"
        ) as caught:
            at.form.send(handle, message_type="//expenses/Other", body="two")
        assert caught.value.number == 8431


def test_an_interrupted_commit_leaves_no_transaction_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with broker_site() as at:
        at.submit("one")
        with monkeypatch.context() as patch:
            patch.setattr(Unit, "commit", interrupt)
            with pytest.raises(KeyboardInterrupt), at.program.transaction() as t:
                t.receive(EXPENSES)
        with at.program.transaction() as t:
            assert [row.text for row in t.receive(EXPENSES)] == ["one"]


def test_a_statement_whose_commit_is_refused_leaves_nothing_locked() -> None:
    with adapter.testing.queue_manager(queues=30) as manager, manager.connect_servicebroker() as s:
        s.create_queue("Q")
        s.create_service("S", "Q")
        refused, number, handle = "", 0, None
        while not refused:
            number += 1
            handle = s.begin_dialog("S", f"mistyped{number}")
            try:
                s.send(handle, body="x")
            except ServiceBrokerError as problem:
                refused = problem.text
        assert "30 queues at most" in refused
        assert handle is not None
        with manager.connect_servicebroker() as other:
            other.lock_timeout_ms = 0
            other.end_conversation(handle, cleanup=True)
        for one in s.conversation_endpoints():
            s.end_conversation(one.conversation_handle, cleanup=True)
        s.create_queue("another")
