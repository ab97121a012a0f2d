"""Seed 0, Message Queuing Triggers: S0.1-S0.12, the order in which messages activate a trigger."""

from collections.abc import Iterator

import pytest

from adapter.msmq import MessageQueueTransaction
from tests.support.msmq_site import (
    MsmqSite,
    activated,
    labels,
    msmq_site,
    running,
    send,
    send_together,
    trigger,
)


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        yield site


def test_s0_01_processing_begins_as_soon_as_the_service_runs(at: MsmqSite) -> None:
    """S0.1: 3 messages queued, service started, nothing further sent: 3 activations."""
    queue = at.create()
    send(queue, "1", "2", "3")
    with running(at.home, trigger(queue)) as service:
        assert len(activated(service)) == 3


def test_s0_01_a_service_that_is_not_started_processes_nothing(at: MsmqSite) -> None:
    """S0.1, the negative: without a running service nothing is activated; nor after its stop."""
    queue = at.create()
    send(queue, "1")
    with running(at.home, trigger(queue)) as service:
        activated(service)
    send(queue, "2")
    assert [one.label for one in service.activations] == ["1"]


def test_s0_02_it_begins_at_the_head_and_processes_every_message(at: MsmqSite) -> None:
    """S0.2: it starts at the head of the queue and processes every message there: the order of
    activations is that of the queue, by priority and then arrival."""
    queue = at.create()
    send(queue, "low 1", "low 2", priority=1)
    send(queue, "high 1", "high 2", priority=6)
    with running(at.home, trigger(queue)) as service:
        found = activated(service)
    assert found == ["high 1", "high 2", "low 1", "low 2"] == labels(queue)


def test_s0_03_after_the_backlog_it_waits_for_a_new_message(at: MsmqSite) -> None:
    """S0.3: after the backlog it waits at the end of the queue: no activation while idle, and no
    peeked message again."""
    queue = at.create()
    send(queue, "1", "2")
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == ["1", "2"]
        assert service.pending_peeks("PrivateTrigger") == 1
        assert activated(service) == ["1", "2"]
        assert len(service.peeks) == 3  # two that returned, and the one that waits


def test_s0_04_a_restarted_service_processes_all_messages_again(at: MsmqSite) -> None:
    """S0.4: after stop and restart it processes all messages still in the queue again: 4 messages,
    restart, 4 more activations from the head on."""
    queue = at.create()
    send(queue, "1", "2", "3", "4")
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == ["1", "2", "3", "4"]
        service.stop()
        service.start()
        assert activated(service) == ["1", "2", "3", "4"] * 2
        queue.receive(0)
        service.stop()
        service.start()
        assert activated(service)[8:] == ["2", "3", "4"]  # what has been received is not there


def test_s0_05_new_messages_of_equal_priority_go_to_the_end(at: MsmqSite) -> None:
    """S0.5: with equal priorities, new messages always go to the end of the queue."""
    queue = at.create()
    for count in range(1, 6):
        send(queue, str(count))
        assert labels(queue) == [str(number) for number in range(1, count + 1)]


def test_s0_06_each_arrival_activates_the_trigger_once(at: MsmqSite) -> None:
    """S0.6: after the backlog the trigger is activated each time a new message arrives at the end:
    exactly one activation for each."""
    queue = at.create()
    send(queue, "1")
    with running(at.home, trigger(queue)) as service:
        for count in range(2, 6):
            send(queue, str(count))
            assert activated(service) == [str(number) for number in range(1, count + 1)]


def test_s0_07_the_figure_of_equal_priorities(at: MsmqSite) -> None:
    """S0.7: a peeking trigger on 4 messages has peeked at 1, 2, 3, 4: the queue still has 4; send
    5, and the log adds 5 only."""
    queue = at.create()
    send(queue, "1", "2", "3", "4")
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == ["1", "2", "3", "4"]
        assert queue.count() == 4
        send(queue, "5")
        assert activated(service) == ["1", "2", "3", "4", "5"]
        assert labels(queue) == ["1", "2", "3", "4", "5"]


def test_s0_08_a_new_message_is_placed_by_its_priority(at: MsmqSite) -> None:
    """S0.8: with mixed priorities a new message may be placed anywhere in the queue: the listing
    descends by priority, and is first in, first out within one."""
    queue = at.create()
    for number, priority in enumerate([3, 0, 7, 3, 0, 7, 5]):
        send(queue, f"{priority}.{number}", priority=priority)
    assert labels(queue) == ["7.2", "7.5", "5.6", "3.0", "3.3", "0.1", "0.4"]


@pytest.mark.parametrize("serialized", [True, False])
def test_s0_09_a_message_of_higher_priority_is_next(at: MsmqSite, serialized: bool) -> None:
    """S0.9: a higher-priority arrival is processed next wherever it was placed, then every
    lower-priority message still in the queue. Here it is higher than the message in hand, which
    is behind it then."""
    queue = at.create()
    send(queue, "1", "2", "3")

    def handle(label: str) -> None:
        if label == "1" and len(labels(queue)) == 3:
            send(queue, "new", priority=5)

    with running(at.home, trigger(queue, handle, serialized=serialized)) as service:
        assert activated(service) == ["1", "new", "1", "2", "3"]


@pytest.mark.parametrize("serialized", [True, False])
def test_s0_09_also_in_the_part_that_was_not_read(at: MsmqSite, serialized: bool) -> None:
    """S0.9: also an arrival in the part not yet read is next, and repeats nothing."""
    queue = at.create()
    send(queue, "1", priority=5)
    send(queue, "2", "3", priority=1)

    def handle(label: str) -> None:
        if label == "1":
            send(queue, "new", priority=3)

    with running(at.home, trigger(queue, handle, serialized=serialized)) as service:
        assert activated(service) == ["1", "new", "2", "3"]


def test_s0_09_a_message_of_equal_or_lower_priority_waits_its_turn(at: MsmqSite) -> None:
    """S0.9, the negative: an arrival of equal or lower priority changes nothing."""
    queue = at.create()
    send(queue, "1", "2")

    def handle(label: str) -> None:
        if label == "1":
            send(queue, "equal")
            send(queue, "lower", priority=0)

    with running(at.home, trigger(queue, handle)) as service:
        assert activated(service) == ["1", "2", "equal", "lower"]


def test_s0_10_s0_11_the_figure_of_different_priorities(at: MsmqSite) -> None:
    """S0.10: pass over 1, 2, 3, 4; message 5 of priority 1 lands between 2 and 3: the service goes
    back, peeks at 5, then at 3 and 4 again. S0.11: the trigger is activated twice for 3 and for 4,
    and once for 1, 2 and 5."""
    queue = at.create()
    send(queue, "1", "2", priority=2)
    send(queue, "3", "4", priority=0)
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == ["1", "2", "3", "4"]
        send(queue, "5", priority=1)
        log = activated(service)
    assert labels(queue) == ["1", "2", "5", "3", "4"]
    assert log == ["1", "2", "3", "4", "5", "3", "4"]
    counts = {label: log.count(label) for label in sorted(set(log))}
    assert counts == {"1": 1, "2": 1, "3": 2, "4": 2, "5": 1}


def test_s0_12_a_transactional_queue_avoids_repeated_reads(at: MsmqSite) -> None:
    """S0.12: in a transactional queue every message has priority 0, also if 7 was asked for: the
    same scenario gives one activation each, 5 last."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2", priority=2)
    send_together(at.home, queue, "3", "4", priority=0)
    with running(at.home, trigger(queue)) as service:
        assert activated(service) == ["1", "2", "3", "4"]
        send_together(at.home, queue, "5", priority=7)
        assert activated(service) == ["1", "2", "3", "4", "5"]
    assert {message.priority for message in queue} == {0}
    with MessageQueueTransaction(at.home) as transaction:
        assert queue.receive(0, transaction=transaction).priority == 0
