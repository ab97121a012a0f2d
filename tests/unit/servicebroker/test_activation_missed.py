"""Every queue has its reader, also if events of it were missed: too many, or of another owner."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import adapter.testing
from adapter.core.model import broker_events
from adapter.servicebroker import DEFAULT, ActivationService, QueueActivation, ServiceBroker
from tests.support.backlog import until

READER = f"{__name__}:receive_all"
QUEUES = 6

seen: list[str] = []


def receive_all(session: ServiceBroker, queue: str) -> None:
    while rows := session.receive(queue):
        seen.extend(row.text for row in rows)


def while_time_passes(
    manager: adapter.testing.TestQueueManager, work: Callable[[], object]
) -> object:
    """Do what ends when a wait within the queue manager is over, by its clock; what it returns."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()

    def has_ended() -> bool:
        manager.clock.advance(1)
        thread.join(0.1)
        return not thread.is_alive()

    until(has_ended)
    return found[0]


def send_to_each(session: ServiceBroker, body: str) -> None:
    with session.transaction() as t:
        for number in range(QUEUES):
            t.send(t.begin_dialog("S", f"S{number}"), body=f"{body} {number}")


@contextmanager
def site() -> Iterator[tuple[adapter.testing.TestQueueManager, ServiceBroker]]:
    """A queue manager with queues of which each has an activation, and a service that reads."""
    assert sys.modules[__name__].receive_all is receive_all
    seen.clear()
    with (
        adapter.testing.queue_manager(clock="manual") as manager,
        manager.connect_servicebroker() as session,
        manager.connect_servicebroker() as own,
    ):
        session.create_queue("Sent")
        session.create_service("S", "Sent")
        for number in range(QUEUES):
            session.create_queue(f"Q{number}", activation=QueueActivation(READER))
            session.create_service(f"S{number}", f"Q{number}", contracts=[DEFAULT])
        service = ActivationService(own, allow=[READER])
        service.start()
        try:
            assert while_time_passes(manager, lambda: service.wait_idle(20))
            yield manager, session
        finally:
            while_time_passes(manager, service.stop)


def test_more_events_at_once_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_events, "KEPT", 2)
    with site() as (_, session):
        send_to_each(session, "one")
        until(lambda: sorted(seen) == [f"one {number}" for number in range(QUEUES)])


@pytest.mark.parametrize("clock_s", [-3_600.0, 0.0, 3_600.0])
def test_an_owner_with_another_clock(clock_s: float) -> None:
    with site() as (manager, session):
        send_to_each(session, "one")
        until(lambda: len(seen) == QUEUES)
        manager.clock.step(clock_s)
        manager.crash()
        manager.start()
        send_to_each(session, "two")
        expected = [f"{body} {number}" for body in ("one", "two") for number in range(QUEUES)]
        # A reader may meet the crash, which counts as a failure: after a pause there is another.
        until(lambda: sorted(seen) == expected, lambda: manager.clock.advance(1))
