"""Events are asked for by number; what keeps a program from them is logged once and waited out."""

import logging
import threading

import pytest

from adapter.core.contract.broker import QUEUE_ACTIVATION
from adapter.servicebroker import QueueActivation, ServiceBrokerError
from adapter.servicebroker.events import Outage, await_events, number_of
from tests.support.broker_site import EXPENSES, broker_site


def test_each_event_is_found_once() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, activation=QueueActivation("a:b"))
        after = number_of(await_events(at.admin, QUEUE_ACTIVATION, -1, 0))
        at.submit("one")
        found = await_events(at.admin, QUEUE_ACTIVATION, after, 10_000)
        assert [one.name for one in found] == [EXPENSES]
        assert number_of(found) > after
        (none,) = await_events(at.admin, QUEUE_ACTIVATION, number_of(found), 0)
        assert not none.attributes["event"]


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
