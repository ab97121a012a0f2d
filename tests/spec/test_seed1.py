"""Seed 1, transactional and nontransactional queues: S1.1-S1.15, on the queues' own computer and on
another one."""

from collections.abc import Iterator
from typing import Any

import pytest

from adapter.msmq import (
    AcknowledgeTypes,
    Acknowledgment,
    Message,
    MessageQueue,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTransaction,
    MessageQueueTransactionStatus,
    MessageQueueTransactionType,
)
from tests.support.msmq_site import MsmqSite, labels, msmq_site, path, send, send_together


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        yield site


def dead_letter(label: str = "1", **properties: Any) -> Message:
    """Make a message that is to be found if it is not delivered."""
    return Message("x", label=label, use_dead_letter_queue=True, **properties)


def test_s1_01_a_transactional_queue_has_only_transactional_messages(at: MsmqSite) -> None:
    """S1.1: a transactional queue contains only transactional messages: no nontransactional message
    is ever listed in one, wherever it was sent from; nor in its subqueues."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    queue.send(dead_letter("2"))
    at.open_away().send(dead_letter("3"))
    queue.send(dead_letter("4"), transaction=MessageQueueTransactionType.NONE)
    queue.send(dead_letter("5"), transaction=MessageQueueTransactionType.SINGLE)
    found = queue.get_all_messages()
    assert [message.label for message in found] == ["1", "5"]
    assert all(message.transaction_id for message in found)
    assert [one.label for one in at.dead_letters(transactional=False)] == ["2", "3", "4"]


def test_s1_02_a_transactional_message_is_one_sent_in_a_transaction(at: MsmqSite) -> None:
    """S1.2: a transactional message is one sent within a transaction: it exposes the transaction's
    id; a message that was sent outside any exposes none."""
    queue = at.create(transactional=True)
    plain = at.create("plain")
    sent = send_together(at.home, queue, "1", "2")
    send(plain, "3")
    assert {message.transaction_id for message in queue} == {sent}
    (message,) = plain
    assert message.transaction_id == ""
    assert not message.is_first_in_transaction
    assert not message.is_last_in_transaction


def test_s1_04_sending_in_a_transaction_works_to_any_transactional_queue(at: MsmqSite) -> None:
    """S1.4: sending in a transaction works to any transactional queue regardless of location: local
    and remote both delivered after the commit, and not before."""
    here, there = at.create("here", transactional=True), at.create("there", transactional=True)
    with MessageQueueTransaction(at.home) as transaction:
        here.send("1", label="local", transaction=transaction)
        there.send("1", label="local", transaction=transaction)
    with MessageQueueTransaction(at.away) as transaction:
        at.open_away("here").send("2", label="remote", transaction=transaction)
        assert labels(here) == ["local"]
    assert labels(here) == ["local", "remote"]
    assert labels(there) == ["local"]


@pytest.mark.parametrize("away", [False, True])
def test_s1_05_only_transactional_queues_accept_messages_sent_in_a_transaction(
    at: MsmqSite, away: bool
) -> None:
    """S1.5: only transactional queues can accept messages sent in a transaction: one that is sent
    to a nontransactional queue is never delivered: it succeeds, and a negative acknowledgment and a
    dead letter say what happened."""
    at.create()
    administration = at.create("admin")
    host = at.away if away else at.home
    message = dead_letter(
        acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE, administration_queue=path("admin")
    )
    with MessageQueueTransaction(host) as transaction:
        host.open(path("orders")).send(message, transaction=transaction)
    assert labels(at.open_home()) == []
    (acknowledgment,) = administration
    assert acknowledgment.acknowledgment is Acknowledgment.NOT_TRANSACTIONAL_QUEUE
    assert acknowledgment.correlation_id == message.id
    if not away:  # the dead letters of another computer are on that one
        (dead,) = at.dead_letters(transactional=True)
        assert (dead.label, dead.acknowledgment) == ("1", Acknowledgment.NOT_TRANSACTIONAL_QUEUE)


def test_s1_05_an_aborted_transaction_leaves_no_trace_of_it(at: MsmqSite) -> None:
    """S1.5, the negative: of a transaction that is aborted there is neither dead letter nor
    acknowledgment."""
    queue = at.create()
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    queue.send(dead_letter(), transaction=transaction)
    transaction.abort()
    assert at.dead_letters(transactional=True) == []


def test_s1_06_nontransactional_queues_accept_only_the_others(at: MsmqSite) -> None:
    """S1.6: nontransactional queues accept only messages sent outside a transaction: such a send is
    delivered, one in a transaction never is."""
    queue = at.create()
    send(queue, "outside")
    send_together(at.home, queue, "inside")
    assert labels(queue) == ["outside"]
    queue.send("x", label="single", transaction=MessageQueueTransactionType.SINGLE)
    assert labels(queue) == ["outside"]


@pytest.mark.parametrize("away", [False, True])
def test_s1_07_a_nontransactional_send_to_a_transactional_queue_is_not_accepted(
    at: MsmqSite, away: bool
) -> None:
    """S1.7: a nontransactional send to a transactional queue is likewise not accepted: the depth of
    the transactional queue is unchanged, and the sender can find out."""
    queue = at.create(transactional=True)
    administration = at.create("admin")
    (at.open_away() if away else queue).send(
        dead_letter(
            acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE, administration_queue=path("admin")
        )
    )
    assert queue.count() == 0
    (acknowledgment,) = administration
    assert acknowledgment.acknowledgment is Acknowledgment.NOT_TRANSACTIONAL_MESSAGE
    assert [one.label for one in at.dead_letters(transactional=False)] == ["1"]


def test_s1_05_s1_07_level_2_refuses_mismatches_at_once() -> None:
    """S1.5, S1.7: with msmq_level 2 a send that does not fit is refused at once."""
    with msmq_site(msmq_level=2) as at:
        transactional, plain = at.create("t", transactional=True), at.create("n")
        with pytest.raises(MessageQueueException) as refused:
            transactional.send("x")
        assert code_of(refused.value) is MessageQueueErrorCode.TRANSACTION_USAGE
        with MessageQueueTransaction(at.home) as transaction:
            with pytest.raises(MessageQueueException) as refused:
                plain.send("x", transaction=transaction)
            assert code_of(refused.value) is MessageQueueErrorCode.TRANSACTION_USAGE
            transactional.send("y", label="y", transaction=transaction)
        assert labels(transactional) == ["y"]


def code_of(error: MessageQueueException) -> MessageQueueErrorCode:
    return error.message_queue_error_code


def test_s1_08_transactional_messages_come_exactly_once_and_in_order(at: MsmqSite) -> None:
    """S1.8: only transactional messages have exactly-once in-order guarantees: whatever crashes and
    is retried between send and acknowledgment, they appear once, in order."""
    queue = at.create(transactional=True)
    sent: list[str] = []
    for number in range(30):
        names = [f"{number}a", f"{number}b"]
        transaction = MessageQueueTransaction(at.home)
        transaction.begin()
        for name in names:
            queue.send(name, label=name, transaction=transaction)
        if number % 3 == 0:
            at.manager.drop_next_reply()
        if number % 10 == 9:
            at.manager.crash()
            at.manager.start()
        try:
            transaction.commit()
        except MessageQueueException:  # the queue manager was gone before it: it was aborted
            assert transaction.status is MessageQueueTransactionStatus.ABORTED
            send_together(at.home, queue, *names)
        sent += names
    assert labels(queue) == sent


def test_s1_09_a_local_transactional_queue_is_read_in_a_transaction(at: MsmqSite) -> None:
    """S1.9: to retrieve in a transaction the queue must be local and transactional: there it
    succeeds, and an abort puts the message back."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    assert queue.receive(0, transaction=transaction).label == "1"
    assert labels(queue) == []
    transaction.abort()
    assert labels(queue) == ["1"]
    with transaction:
        assert queue.receive(0, transaction=transaction).abort_count == 1
    assert labels(queue) == []


def refuses_in_a_transaction(queue: MessageQueue, transaction: MessageQueueTransaction) -> bool:
    """Whether reading in a transaction is refused as its wrong use, not because it is empty."""
    with pytest.raises(MessageQueueException) as refused:
        queue.receive(0, transaction=transaction)
    return code_of(refused.value) is MessageQueueErrorCode.TRANSACTION_USAGE


def test_s1_10_a_remote_transactional_queue_cannot_be_read_in_a_transaction(at: MsmqSite) -> None:
    """S1.10: a remote transactional queue cannot be read in a transaction: a transaction-usage
    error, and the message is untouched."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1")
    with MessageQueueTransaction(at.away) as transaction:
        assert refuses_in_a_transaction(at.open_away(), transaction)
    assert [message.abort_count for message in queue] == [0]


def test_s1_10_level_4_can() -> None:
    """S1.10, the other level: with msmq_level 4 it can, as between computers of MSMQ 4."""
    with msmq_site(msmq_level=4) as at:
        queue = at.create(transactional=True)
        send_together(at.home, queue, "1")
        with MessageQueueTransaction(at.away) as transaction:
            assert at.open_away().receive(0, transaction=transaction).label == "1"
        assert labels(queue) == []


def test_s1_11_a_local_nontransactional_queue_cannot_be_read_in_a_transaction(
    at: MsmqSite,
) -> None:
    """S1.11: a local nontransactional queue cannot be read in a transaction: a transaction-usage
    error, and the message is untouched."""
    queue = at.create()
    send(queue, "1")
    with MessageQueueTransaction(at.home) as transaction:
        assert refuses_in_a_transaction(queue, transaction)
    assert labels(queue) == ["1"]


def test_s1_12_each_queue_has_a_computer_and_each_caller(at: MsmqSite) -> None:
    """S1.12: transactional remote read is unsupported; remote is what happens from a computer other
    than the one hosting the queue: so queues and callers have a computer. Case does not count."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2")
    with MessageQueueTransaction(at.away) as transaction:
        assert refuses_in_a_transaction(at.open_away(), transaction)
    with at.manager.connect_msmq("home") as same:
        with MessageQueueTransaction(same) as transaction:
            theirs = same.open(r".\private$\orders")
            assert theirs.receive(0, transaction=transaction).label == "1"
        assert same.open(path("orders")).receive(0).label == "2"
    with pytest.raises(MessageQueueException):
        at.away.open(r".\private$\orders").receive(0)  # . is the caller's computer: another one


@pytest.mark.parametrize("transactional", [True, False])
@pytest.mark.parametrize("away", [True, False])
def test_s1_14_nontransactional_receive_is_allowed_from_any_queue(
    at: MsmqSite, transactional: bool, away: bool
) -> None:
    """S1.14: nontransactional receive is allowed from any queue: transactional or not, local or
    remote: the 4 combinations succeed."""
    queue = at.create(transactional=transactional)
    if transactional:
        send_together(at.home, queue, "1")
    else:
        send(queue, "1")
    assert (at.open_away() if away else queue).receive(0).label == "1"
    assert queue.count() == 0


def test_s1_15_a_nontransactional_receive_is_a_transaction_of_one_receive(at: MsmqSite) -> None:
    """S1.15: a nontransactional receive from a transactional queue is a transaction of one receive:
    the message is removed atomically on return, nothing is left to abort, and a crash before its
    completion leaves it in the queue."""
    queue = at.create(transactional=True)
    send_together(at.home, queue, "1", "2", "3")
    assert queue.receive(0).label == "1"
    at.manager.crash()
    at.manager.start()
    assert labels(queue) == ["2", "3"]
    at.manager.drop_next_reply()
    assert queue.receive(0).label == "2"  # it is asked again, and was removed once
    assert labels(queue) == ["3"]
    with MessageQueueTransaction(at.home) as transaction:
        transaction.abort()  # there is nothing in it
    assert labels(queue) == ["3"]


def test_s1_15_a_crash_before_its_completion_leaves_it(at: MsmqSite) -> None:
    """S1.15: what a program waited for when the queue manager died is still there afterwards."""
    queue = at.create(transactional=True)
    pending = queue.begin_receive(30)
    at.manager.crash()
    at.manager.start()
    with at.manager.connect_msmq() as other:
        send_together(other, other.open(queue.path), "1", "2")
    assert pending.result(30).label == "1"
    assert labels(queue) == ["2"]
