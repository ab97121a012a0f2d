"""Seed 0, S0.13-S0.22: cursors and transactions, and triggers whose component fails."""

from collections.abc import Iterator

import pytest

from adapter.msmq import MessageQueueTransaction, PeekAction
from adapter.msmq.triggers import TriggerService
from tests.support.msmq_site import (
    Failing,
    MsmqSite,
    activated,
    labels,
    msmq_site,
    running,
    send_together,
    trigger,
)


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        yield site


def test_s0_13_an_abort_does_not_roll_the_cursor_back(at: MsmqSite) -> None:
    """S0.13: a message retrieved inside a transaction: aborting does not roll the cursor back: its
    position before and after the abort is the same."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2", "3")
    cursor = queue.create_cursor()
    assert queue.peek(0, cursor=cursor).label == "1"
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    assert queue.receive(0, cursor=cursor, transaction=transaction).label == "1"
    before = queue.peek(0, cursor=cursor).lookup_id
    transaction.abort()
    assert queue.peek(0, cursor=cursor).lookup_id == before
    assert queue.peek(0, cursor=cursor, action=PeekAction.NEXT).label == "3"


def test_s0_13_a_commit_neither(at: MsmqSite) -> None:
    """S0.13, the other outcome: nor does a commit move it."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2")
    cursor = queue.create_cursor()
    with MessageQueueTransaction(at.home) as transaction:
        queue.receive(0, cursor=cursor, transaction=transaction)
        assert queue.peek(0, cursor=cursor).label == "2"
    assert queue.peek(0, cursor=cursor).label == "2"


def test_s0_14_removing_a_message_moves_the_cursor_to_the_next(at: MsmqSite) -> None:
    """S0.14: queue [1,2]; removing 1 inside a transaction moves the cursor to 2: peek-current is 2
    before the outcome."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2")
    cursor = queue.create_cursor()
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    assert queue.receive(0, cursor=cursor, transaction=transaction).label == "1"
    assert queue.peek(0, cursor=cursor).label == "2"
    transaction.abort()


def test_s0_15_after_the_abort_the_message_is_back_and_the_cursor_is_not(at: MsmqSite) -> None:
    """S0.15: if that transaction aborts for any reason, 1 is put back in the queue but the cursor
    stays at 2: listing [1,2], the old cursor's peek-current is 2, a new cursor's is 1."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2")
    cursor = queue.create_cursor()
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    queue.receive(0, cursor=cursor, transaction=transaction)
    assert labels(queue) == ["2"]
    transaction.abort()
    assert labels(queue) == ["1", "2"]
    assert queue.peek(0, cursor=cursor).label == "2"
    assert queue.peek(0, cursor=queue.create_cursor()).label == "1"


def test_s0_15_for_any_reason(at: MsmqSite) -> None:
    """S0.15: also if the transaction ends because the program of the transaction is gone."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2")
    cursor = queue.create_cursor()
    other = at.manager.connect_msmq()
    transaction = MessageQueueTransaction(other)
    transaction.begin()
    theirs = other.open(queue.path)
    assert queue.peek(0, cursor=cursor).label == "1"
    assert theirs.receive(0, transaction=transaction).label == "1"
    assert queue.peek(0, cursor=cursor, action=PeekAction.NEXT).label == "2"
    other.close()
    assert labels(queue) == ["1", "2"]
    assert queue.peek(0, cursor=cursor).label == "2"


def test_s0_16_the_component_receives_the_message_that_invoked_it(at: MsmqSite) -> None:
    """S0.16: a peeking trigger, one message: the component receives it in a transaction of its own;
    it aborts, and the message returns: depth 0 during, 1 after the abort."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    component = Failing(at.home, at.open_home())
    with running(at.home, trigger(queue, component, serialized=True)) as service:
        assert activated(service) == ["1"]
    assert component.depths == [0]
    assert queue.count() == 1
    assert queue.peek(0).abort_count == 1


def test_s0_17_a_serialized_service_waits_until_the_work_ends(at: MsmqSite) -> None:
    """S0.17: serialized: the service waits until the component's work ends before it processes a
    message again: no peek is outstanding while the handler runs."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2")
    seen = []
    services: list[TriggerService] = []

    def look(label: str) -> None:
        service = services[0]
        waiting = service.pending_peeks("PrivateTrigger"), at.waiting_reads()
        seen.append((label, *waiting, len(service.peeks)))

    watched = trigger(queue, look, serialized=True)
    with running(at.home) as service:
        services.append(service)
        service.add(watched)
        activated(service)
    assert seen == [("1", 0, 0, 1), ("2", 0, 0, 2)]


def test_s0_18_a_serialized_service_does_not_invoke_again(at: MsmqSite) -> None:
    """S0.18: serialized: the cursor then moves on to wait for the next message, and the component
    is NOT invoked again for the same message: 1 invocation, the message still queued, idle."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    component = Failing(at.home, at.open_home())
    with running(at.home, trigger(queue, component, serialized=True)) as service:
        assert activated(service) == ["1"]
        assert labels(queue) == ["1"]
        assert service.pending_peeks("PrivateTrigger") == 1
        assert activated(service) == ["1"]
    assert component.calls == ["1"]


def test_s0_19_s0_20_a_peek_is_pending_when_the_component_is_invoked(at: MsmqSite) -> None:
    """S0.19: non-serialized: as soon as the peek returns, the service issues a peek for the next
    message: the second request is recorded before the handler returns, and at its entry. S0.20: so
    when the component is invoked a pending peek already exists in the system: 1 at its entry."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    seen: list[tuple[object, ...]] = []
    services: list[TriggerService] = []

    def look(label: str) -> None:
        service = services[0]
        seen.append((label, len(service.peeks), service.pending_peeks("PrivateTrigger")))
        seen.append((label, at.waiting_reads()))

    with running(at.home) as service:
        services.append(service)
        service.add(trigger(queue, look))
        activated(service)
    assert seen == [("1", 2, 1), ("1", 1)]


def test_s0_21_the_returned_message_satisfies_the_pending_peek(at: MsmqSite) -> None:
    """S0.21: the message returned by the abort to the (empty) queue arrives at the position the
    cursor points at: the pending peek is satisfied by the returned message."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    component = Failing(at.home, at.open_home(), until=1)
    with running(at.home, trigger(queue, component)) as service:
        activated(service)
        first, second, *_ = service.peeks
    assert first.message_id == second.message_id
    assert first.message_id != ""
    assert component.calls == ["1", "1"]


def test_s0_22_a_perpetual_loop_until_everything_can_be_completed(at: MsmqSite) -> None:
    """S0.22: the component is invoked again and again while its transaction aborts, without bound;
    the loop stops (b) when all operations in the transaction can be completed."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    component = Failing(at.home, at.open_home(), until=25)
    with running(at.home, trigger(queue, component)) as service:
        assert activated(service) == ["1"] * 26
        assert service.statistics()["activations"] == 26
    assert labels(queue) == []


def test_s0_22_a_perpetual_loop_until_a_new_message_arrives(at: MsmqSite) -> None:
    """S0.22: (a) the loop on the old message stops when another message arrives: the pending peek
    is satisfied by that one."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "old")
    sent: list[str] = []

    def entered() -> None:
        if len(component.calls) == 5 and not sent:
            sent.append(send_together(at.home, queue, "new"))

    component = Failing(at.home, at.open_home(), entered=entered)
    calls = []

    def handle(label: str) -> None:
        calls.append(label)
        if label == "old":
            component(label)

    with running(at.home, trigger(queue, handle)) as service:
        log = activated(service)
    assert log == calls == [*["old"] * 6, "new"]
    assert labels(queue) == ["old", "new"]


def test_s0_22_only_a_guard_that_is_asked_for_bounds_it(at: MsmqSite) -> None:
    """S0.22: the loop is bounded only by a guard that the administrator asks for."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    component = Failing(at.home, at.open_home())
    with running(at.home, trigger(queue, component), max_repeats=4) as service:
        assert activated(service) == ["1"] * 4
        assert service.statistics()["repeats_stopped"] == 1
        assert labels(queue) == ["1"]
    unbounded = Failing(at.home, at.open_home())
    with running(at.home, trigger(queue, unbounded)):
        unbounded.wait_for(50)
