"""Events are asked for by number; what keeps a program from them is logged once and waited out."""

import logging
import threading

import pytest

import adapter.testing
from adapter.core.contract.broker import DEFAULT, QUEUE_ACTIVATION
from adapter.servicebroker import QueueActivation, ServiceBrokerError
from adapter.servicebroker.events import Following, Outage
from tests.support.broker_site import EXPENSES, broker_site


def test_each_event_is_found_once() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, activation=QueueActivation("a:b"))
        following = Following(QUEUE_ACTIVATION)
        assert following.read(at.admin, 0) == ([], False)
        after = following.number
        at.submit("one")
        found, has_missed = following.read(at.admin, 10_000)
        assert [one.name for one in found] == [EXPENSES]
        assert not has_missed
        assert following.number > after
        assert following.read(at.admin, 0) == ([], False)


@pytest.mark.parametrize("clock_s", [-3_600.0, 3_600.0])
def test_an_owner_whose_clock_is_behind_says_that_events_were_missed(clock_s: float) -> None:
    with (
        adapter.testing.queue_manager(clock="manual") as manager,
        manager.connect_servicebroker() as session,
    ):
        session.create_queue("Asks", activation=QueueActivation("a:b"))
        session.create_service("S", "Asks", contracts=[DEFAULT])
        following = Following(QUEUE_ACTIVATION)
        following.read(session, 0)
        session.send(session.begin_dialog("S", "S"), body="one")
        found, has_missed = following.read(session, 10_000)
        assert ([one.name for one in found], has_missed) == (["Asks"], False)
        manager.clock.step(clock_s)
        manager.crash()
        manager.start()
        found, has_missed = following.read(session, 10_000)
        assert ([one.name for one in found], has_missed) == (["Asks"], True), "it needs a reader"
        assert following.read(session, 0) == ([], False)


def test_each_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "adapter.servicebroker")
    ended = threading.Event()
    ended.set()
    outage = Outage("a program", ended)
    for _ in range(2):
        outage.wait(ServiceBrokerError(0, "no queue manager"))
        outage.wait(ServiceBrokerError(0, "it starts"))
        outage.over()
    assert caplog.messages == ["a program waits for the queue manager: no queue manager"] * 2
