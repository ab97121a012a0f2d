"""A subscription goes on through outages, however long."""

import logging
import threading

import pytest

from adapter import servicebroker as sb
from adapter.servicebroker import events
from adapter.servicebroker.subscription import QueueEvent
from tests.support.backlog import until
from tests.support.broker_site import EXPENSES, broker_site

WAIT_S = 20.0


def test_an_outage_that_is_longer_than_the_session_reconnects(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "RECONNECT_S", 0.01)
    with broker_site() as at:
        at.submit("poison")
        named: list[str] = []
        called = threading.Event()

        def detect(event: QueueEvent) -> None:
            named.append(event.queue)
            called.set()

        caplog.set_level(logging.WARNING, "adapter.servicebroker")
        with (
            sb.connect(at.manager.address, reconnect_timeout_s=0.01) as session,
            session.subscribe(detect),
        ):
            at.manager.crash()
            until(lambda: "waits for the queue manager" in caplog.text)
            at.manager.start()
            at.fail(EXPENSES, times=5)
            assert called.wait(WAIT_S)
        assert named == [EXPENSES]
        said = [one.message for one in caplog.records if one.name == "adapter.servicebroker"]
        assert [one[:62] for one in said] == [
            "subscription to BROKER_QUEUE_DISABLED waits for the queue mana",
            "subscription to BROKER_QUEUE_DISABLED: the callback may not ha",
        ]


def test_it_ends_with_its_session(caplog: pytest.LogCaptureFixture) -> None:
    with broker_site() as at:
        session = at.manager.connect_servicebroker()
        subscription = session.subscribe(lambda event: None)
        session.close()
        subscription.close()
    assert caplog.messages == []


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_close_that_failed_is_tried_again(is_gone: bool) -> None:
    with broker_site() as at:
        at.admin.create_queue("Events")
        with sb.connect(at.manager.address, reconnect_timeout_s=0.01) as session:
            subscription = session.subscribe(queue="Events")
            at.manager.stop()
            with pytest.raises(sb.ServiceBrokerError):
                subscription.close()
            at.manager.start()
            if is_gone:
                for one in at.admin.event_notifications():
                    at.admin.drop_event_notification(one.name)
            subscription.close()
            subscription.close()
        assert at.admin.event_notifications() == []
        at.admin.drop_queue("Events")
