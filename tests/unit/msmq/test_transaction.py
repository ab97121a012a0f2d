"""MessageQueueTransaction: its states, and how operations find it."""

import pytest

from adapter.connection.channel.unit import Unit
from adapter.errors import InDoubt
from adapter.msmq import (
    InvalidOperationError,
    Message,
    MessageQueue,
    MessageQueueException,
    MessageQueueTransaction,
    MessageQueueTransactionStatus,
    MessageQueueTransactionType,
    ObjectDisposedError,
    transaction_scope,
)
from tests.support.msmq_site import MsmqSite, labels, msmq_site

INITIALIZED, PENDING, COMMITTED, ABORTED = (
    MessageQueueTransactionStatus.INITIALIZED,
    MessageQueueTransactionStatus.PENDING,
    MessageQueueTransactionStatus.COMMITTED,
    MessageQueueTransactionStatus.ABORTED,
)
AUTOMATIC = MessageQueueTransactionType.AUTOMATIC


def test_a_transaction_that_is_disposed_of_is_not_used(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    transaction.dispose()
    transaction.dispose()
    for call in (transaction.begin, transaction.commit, transaction.abort):
        with pytest.raises(ObjectDisposedError):
            call()
    with pytest.raises(ObjectDisposedError):
        queue.send("x", transaction=transaction)


def test_its_states(at: MsmqSite) -> None:
    transaction = MessageQueueTransaction(at.home)
    assert (transaction.status, transaction.id) == (INITIALIZED, "")
    for call in (transaction.commit, transaction.abort):
        with pytest.raises(InvalidOperationError):
            call()
    transaction.begin()
    first = transaction.id
    assert transaction.status is PENDING
    with pytest.raises(InvalidOperationError):
        transaction.begin()
    transaction.commit()
    assert transaction.status is COMMITTED
    transaction.begin()
    assert transaction.id != first
    transaction.abort()
    assert transaction.status is ABORTED
    transaction.begin()
    transaction.dispose()
    assert transaction.status is ABORTED
    with pytest.raises(ObjectDisposedError):
        transaction.begin()


def fail_in(transaction: MessageQueueTransaction, queue: MessageQueue) -> None:
    with transaction:
        queue.send("x", label="2", transaction=transaction)
        raise KeyboardInterrupt


def fail_in_a_scope(at: MsmqSite, queue: MessageQueue) -> None:
    with transaction_scope(at.home):
        queue.send("x", label="2", transaction=AUTOMATIC)
        raise ZeroDivisionError


def test_as_a_context_manager(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    with MessageQueueTransaction(at.home) as transaction:
        transaction.begin()  # accepted once
        with pytest.raises(InvalidOperationError):
            transaction.begin()
        queue.send("x", label="1", transaction=transaction)
    assert transaction.status is COMMITTED
    with pytest.raises(KeyboardInterrupt):
        fail_in(transaction, queue)
    with transaction:
        queue.send("x", label="3", transaction=transaction)
        transaction.abort()
    assert labels(queue) == ["1"]


def test_an_interrupted_commit_aborts(at: MsmqSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    queue = at.create(transactional=True)
    transaction = MessageQueueTransaction(at.home)
    with monkeypatch.context() as patch:
        patch.setattr(Unit, "commit", interrupt)
        with pytest.raises(KeyboardInterrupt), transaction:
            queue.send("x", label="1", transaction=transaction)
    assert transaction.status is ABORTED
    assert labels(queue) == []


def test_after_an_unknown_outcome_it_is_begun_again(
    at: MsmqSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Unit.commit

    def commit_in_doubt(unit: Unit) -> None:
        commits(unit)
        raise InDoubt("no answer", "", unit.id)

    transaction = MessageQueueTransaction(at.home)
    with monkeypatch.context() as patched:
        patched.setattr(Unit, "commit", commit_in_doubt)
        for _ in range(2):
            with pytest.raises(MessageQueueException) as doubt, transaction:
                first = transaction.id
            assert doubt.value.transaction_id == first
            assert (transaction.status, transaction.id) == (PENDING, first)
    with transaction:
        assert transaction.id != first
    assert transaction.status is COMMITTED
    monkeypatch.setattr(Unit, "commit", commit_in_doubt)
    with pytest.raises(MessageQueueException), transaction:
        pass
    transaction.dispose()


def test_two_transactions_at_a_time(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    with MessageQueueTransaction(at.home) as one, MessageQueueTransaction(at.home) as other:
        queue.send("x", label="1", transaction=one)
        queue.send("x", label="2", transaction=other)
        queue.send("x", label="3", transaction=one)
    assert labels(queue) == ["2", "1", "3"]


def test_a_transaction_that_is_not_pending_is_refused(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    transaction = MessageQueueTransaction(at.home)
    for _ in range(2):
        with pytest.raises(InvalidOperationError, match="begin"):
            queue.send("x", transaction=transaction)
        transaction.begin()
        transaction.commit()
    with pytest.raises(TypeError):
        queue.send("x", transaction="single")  # type: ignore[arg-type]


def test_a_transaction_of_another_host_is_refused(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    with MessageQueueTransaction(at.away) as transaction, pytest.raises(ValueError, match="host"):
        queue.send("x", transaction=transaction)


def test_the_ambient_transaction(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    plain = at.create("plain")
    with transaction_scope(at.home) as scope:
        queue.send("x", label="1", transaction=AUTOMATIC)
        plain.send("x", label="outside")
        with pytest.raises(InvalidOperationError), transaction_scope(at.home):
            pass
        assert (labels(queue), labels(plain)) == ([], ["outside"])
    assert scope.status is COMMITTED
    with pytest.raises(ZeroDivisionError):
        fail_in_a_scope(at, queue)
    plain.send("x", label="without a scope", transaction=AUTOMATIC)
    assert (labels(queue), len(labels(plain))) == (["1"], 2)


def test_its_outcome_can_be_asked_for(at: MsmqSite) -> None:
    queue = at.create(transactional=True)
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    queue.send("x", transaction=transaction)
    assert at.away.outcome(transaction.id) == "in flight"
    transaction.commit()
    assert at.away.outcome(transaction.id) == "committed"
    transaction.begin()
    queue.send("x", transaction=transaction)
    transaction.abort()
    assert at.away.outcome(transaction.id) in ("backed out", "unknown")
    with pytest.raises(ValueError, match="GUID"):
        at.home.outcome("x")


def test_the_first_message_says_how_long_all_of_a_transaction_may_wait() -> None:
    with msmq_site(clock="manual") as at:
        queue = at.create(transactional=True)
        for lifetimes in ((5, None, 60), (None, 5)):
            with MessageQueueTransaction(at.home) as transaction:
                for lifetime in lifetimes:
                    label = f"{lifetimes[0]} {lifetime}"
                    message = Message("x", label=label, time_to_be_received=lifetime)
                    queue.send(message, transaction=transaction)
        assert len(labels(queue)) == 5
        at.manager.clock.advance(6)
        assert labels(queue) == ["None None", "None 5"]
        assert {message.time_to_be_received for message in queue} == {None}
