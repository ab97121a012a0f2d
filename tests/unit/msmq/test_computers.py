"""Queues of a computer that is another queue manager: read over a connection to that one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter import msmq, testing
from adapter.connection.channel.link.port import Dialer
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.results import ComputerFound
from adapter.core.inputs import QueueManagersKnown
from adapter.msmq import (
    AcknowledgeTypes,
    Message,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTimeout,
    MessageQueueTransaction,
    MessageQueueTransactionType,
    PeekAction,
    QueueAccessMode,
)
from adapter.msmq.computers import ComputerChannel
from tests.support.certificates import Authority
from tests.support.msmq_computers import WAIT_S, Computers, computers, own
from tests.support.msmq_site import labels, send_together
from tests.support.plain_listener import PlainListener

REMOTE = r"SERVER\private$\orders"


@pytest.fixture
def at() -> Iterator[Computers]:
    with computers() as both:
        yield both


def code_of(error: pytest.ExceptionInfo[MessageQueueException]) -> MessageQueueErrorCode:
    return error.value.message_queue_error_code


def test_a_queue_of_another_computer_is_read(at: Computers) -> None:
    queue = own(at.server, "orders")
    remote = at.client.open(REMOTE)
    remote.send("1", label="1")
    remote.send("2", label="2")
    assert remote.receive(WAIT_S).label == "1"
    assert remote.peek(WAIT_S).source_computer == "CLIENT"
    cursor = remote.create_cursor()
    assert remote.peek(0, cursor=cursor).label == "2"
    queue.send("3", label="3")
    assert remote.peek(0, cursor=cursor, action=PeekAction.NEXT).label == "3"
    cursor.close()
    assert labels(remote) == ["2", "3"]
    assert remote.count() == 2
    future = remote.begin_receive(WAIT_S)
    assert future.result(WAIT_S).body == "2"
    assert remote.purge() == 1
    with pytest.raises(MessageQueueTimeout):
        remote.receive(0)


def test_finding_msmq_page_3_sending_to_another_computer(at: Computers) -> None:
    queue = own(at.server, "orders", transactional=True)
    orders = at.client.open(r"DIRECT=OS:SERVER\private$\orders", access=QueueAccessMode.SEND)
    orders.send("one sack of flour", transaction=MessageQueueTransactionType.SINGLE)
    assert queue.receive(WAIT_S).body == "one sack of flour"


def test_one_connection_serves_all_queues_of_a_computer(at: Computers) -> None:
    own(at.server, "orders")
    own(at.server, "other")
    for name in ("orders", "other", "ORDERS"):
        with at.client.open(rf"server\private$\{name}", access=QueueAccessMode.RECEIVE) as queue:
            assert queue.count() == 0
    assert len(at.client.computers.channels) == 2
    at.client.close()
    assert all(channel.is_closed for channel in at.client.computers.channels)


def test_queues_of_another_computer_are_managed(at: Computers) -> None:
    created = at.client.create(REMOTE, transactional=True, label="x")
    assert (created.transactional, created.label) == (True, "x")
    created.maximum_queue_size_kb = 7
    assert at.client.exists(REMOTE)
    assert [one.path for one in at.client.get_private_queues("SERVER")] == [REMOTE]
    assert [one.maximum_queue_size_kb for one in at.server.get_private_queues()] == [7]
    assert at.client.get_private_queues() == []
    at.client.delete(REMOTE)
    assert not at.client.exists(REMOTE)
    with pytest.raises(MessageQueueException) as unknown:
        at.client.get_private_queues("NOWHERE")
    assert code_of(unknown) is MessageQueueErrorCode.MACHINE_NOT_FOUND


def test_a_computer_that_nobody_knows(at: Computers) -> None:
    with pytest.raises(MessageQueueException) as unknown:
        at.client.open(r"NOWHERE\private$\q", access=QueueAccessMode.RECEIVE)
    assert code_of(unknown) is MessageQueueErrorCode.MACHINE_NOT_FOUND
    assert "no queue manager in the directory" in str(unknown.value)


def test_finding_msmq_d10_a_computer_may_have_the_name_of_this_machine(
    at: Computers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "server")
    queue = own(at.server, "orders")
    at.client.open(REMOTE, access=QueueAccessMode.SEND).send("x")
    assert queue.receive(WAIT_S).body == "x"
    assert [one.path for one in at.client.get_private_queues("SERVER")] == [REMOTE]


def test_finding_msmq_d10_an_error_names_computers_that_are_known(at: Computers) -> None:
    with pytest.raises(MessageQueueException, match="known computers: CLIENT, SERVER: check"):
        at.client.get_private_queues("NOWHERE")
    with pytest.raises(MessageQueueException, match=r"known computers: CLIENT, SERVER\): check"):
        at.client.open(r"NOWHERE\private$\q", access=QueueAccessMode.RECEIVE)


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("older", [0, 1])
def test_both_computers_must_be_of_level_4_to_read_in_a_transaction(
    older: int, single: bool
) -> None:
    with computers(msmq_level=4) as at:
        own(at.server, "orders", transactional=True).send(
            "x", transaction=MessageQueueTransactionType.SINGLE
        )
        (at.at_client, at.at_server)[older].mqsc("ALTER QMGR MSMQLVL(3)")
        remote = at.client.open(REMOTE)
        with MessageQueueTransaction(at.client) as transaction:
            used = MessageQueueTransactionType.SINGLE if single else transaction
            with pytest.raises(MessageQueueException) as refused:
                remote.receive(0, transaction=used)
        assert code_of(refused) is MessageQueueErrorCode.TRANSACTION_USAGE
        assert remote.receive(WAIT_S).body == "x"


def test_finding_msmq_d8_the_level_of_the_own_queue_manager_may_be_altered() -> None:
    with computers() as at:
        own(at.server, "orders", transactional=True).send(
            "x", transaction=MessageQueueTransactionType.SINGLE
        )
        single = MessageQueueTransactionType.SINGLE
        with pytest.raises(MessageQueueException):
            at.client.open(REMOTE).receive(WAIT_S, transaction=single)
        for manager in (at.at_client, at.at_server):
            manager.mqsc("ALTER QMGR MSMQLVL(4)")
        assert at.client.open(REMOTE).receive(WAIT_S, transaction=single).body == "x"
        at.at_client.mqsc("ALTER QMGR MSMQLVL(3)")
        with pytest.raises(MessageQueueException) as refused:
            at.client.open(REMOTE).receive(0, transaction=single)
        assert code_of(refused) is MessageQueueErrorCode.TRANSACTION_USAGE


def test_a_remote_receive_in_a_transaction() -> None:
    with computers(msmq_level=4) as at:
        queue = own(at.server, "orders", transactional=True)
        local = own(at.client, "done", transactional=True)
        send_together(at.server, queue, "1", "2", "3")
        remote = at.client.open(REMOTE)
        transaction = MessageQueueTransaction(at.client)
        transaction.begin()
        remote.receive(WAIT_S, transaction=transaction)
        local.send(Message("lost", label="lost"), transaction=transaction)
        transaction.abort()
        transaction.begin()
        got = remote.receive(WAIT_S, transaction=transaction)
        local.send(Message(got.body, label=got.label), transaction=transaction)
        assert local.count() == 0
        transaction.commit()
        assert at.client.outcome(transaction.id) == "committed"
        assert local.receive(WAIT_S).label == "1"
        with msmq.transaction_scope(at.client):
            automatic = MessageQueueTransactionType.AUTOMATIC
            assert remote.receive(WAIT_S, transaction=automatic).label == "2"
        single = MessageQueueTransactionType.SINGLE
        assert remote.receive(WAIT_S, transaction=single).label == "3"
        assert (queue.count(), local.count()) == (0, 0)


def test_a_transaction_is_one_of_a_single_queue_manager() -> None:
    with computers(msmq_level=4) as at:
        queue = own(at.server, "orders", transactional=True)
        local = own(at.client, "done", transactional=True)
        send_together(at.server, queue, "1")
        remote = at.client.open(REMOTE)
        with MessageQueueTransaction(at.client) as transaction:
            local.send("first", transaction=transaction)
            with pytest.raises(MessageQueueException) as refused:
                remote.receive(WAIT_S, transaction=transaction)
        assert code_of(refused) is MessageQueueErrorCode.TRANSACTION_ENLIST
        assert "CLIENT" in str(refused.value)
        assert (queue.count(), local.count()) == (1, 1)


def test_a_computer_that_is_away() -> None:
    with computers() as at:
        own(at.server, "orders")
        host = msmq.connect(at.at_client.address, connect_timeout_s=0.5, reconnect_timeout_s=0.2)
        with host:
            at.at_server.stop()
            to_server = host.open(REMOTE, access=QueueAccessMode.SEND)
            to_server.send("later", label="later")
            with pytest.raises(MessageQueueException) as away:
                host.open(REMOTE, access=QueueAccessMode.RECEIVE)
            assert code_of(away) is MessageQueueErrorCode.REMOTE_MACHINE_NOT_AVAILABLE
            assert "SERVER" in str(away.value)
            at.at_server.start()
            remote = host.open(REMOTE, access=QueueAccessMode.RECEIVE)
            assert remote.receive(WAIT_S).label == "later"
            at.at_server.stop()
            with pytest.raises(MessageQueueException) as gone:
                remote.peek(WAIT_S)
            assert code_of(gone) is MessageQueueErrorCode.REMOTE_MACHINE_NOT_AVAILABLE
            at.at_server.start()
            with pytest.raises(MessageQueueTimeout):
                remote.receive(0)


def test_a_host_that_is_closed_while_it_connects_to_a_computer_leaves_no_connection(
    at: Computers, monkeypatch: pytest.MonkeyPatch
) -> None:
    own(at.server, "orders")
    others = at.client.computers
    connect = others._connect
    made: list[ComputerChannel] = []

    def close_and_connect(dialer: Dialer, found: ComputerFound) -> ComputerChannel:
        channel = connect(dialer, found)
        made.append(channel)
        at.client.close()
        return channel

    monkeypatch.setattr(others, "_connect", close_and_connect)
    with pytest.raises(MessageQueueException):
        at.client.open(REMOTE, access=QueueAccessMode.RECEIVE)
    assert [channel.is_closed for channel in made] == [True]


@pytest.mark.parametrize("lists_tls", [False, True])
def test_a_program_with_tls_sends_no_password_in_the_clear_to_another_computer(
    tmp_path: Path, lists_tls: bool
) -> None:
    """Wherever the directory says that the other queue manager is."""
    authority, other = Authority(tmp_path), PlainListener()
    with testing.queue_manager(tls=authority.server()) as manager:
        computer = KnownComputer("QM2", other.address, other.address if lists_tls else "")
        known = QueueManagersKnown(frozenset({"QM2"}), {"qm2": computer})
        owner = manager._running().owner
        manager._run(testing._call(lambda: owner.loop.take(known)))
        host = msmq.connect(
            manager.tls_address,
            tls=authority.path,
            user="ann",
            password="TOP-SECRET",
            connect_timeout_s=2.0,
        )
        with host, pytest.raises(MessageQueueException) as refused:
            host.open(r"QM2\private$\orders", access=QueueAccessMode.RECEIVE).receive(0)
    other.close()
    assert not any(b"TOP-SECRET" in one for one in other.heard)
    assert bool(other.heard) is lists_tls
    if not lists_tls:
        assert "set its listen_tls" in str(refused.value)


def test_what_is_sent_to_a_former_name_of_a_computer_reaches_it(at: Computers) -> None:
    """So do acknowledgments of what it had sent before."""
    queue, plain = own(at.server, "orders", transactional=True), own(at.server, "plain")
    admin = own(at.client, "admin")
    asks = Message(
        "1",
        administration_queue=r".\private$\admin",
        acknowledge_type=AcknowledgeTypes.FULL_RECEIVE,
    )
    at.client.open(REMOTE, access=QueueAccessMode.SEND).send(
        asks, transaction=MessageQueueTransactionType.SINGLE
    )
    assert queue.peek(WAIT_S).body == "1"
    at.at_server.mqsc("ALTER QMGR MSMQCOMP(SERVER2)")
    at.at_client.mqsc("ALTER QMGR MSMQCOMP(CLIENT2)")
    assert queue.receive(WAIT_S).body == "1"
    assert admin.receive(WAIT_S).acknowledgment.name == "RECEIVE"
    for name in ("SERVER", "SERVER2"):
        sender = at.client.open(rf"{name}\private$\plain", access=QueueAccessMode.SEND)
        sender.send(name)
        assert plain.receive(WAIT_S).body == name


def test_what_became_of_a_transaction_of_another_computer_is_asked_there() -> None:
    with computers(msmq_level=4) as at:
        own(at.server, "orders", transactional=True)
        at.server.open(REMOTE).send("x", transaction=MessageQueueTransactionType.SINGLE)
        remote, local = at.client.open(REMOTE), own(at.client, "local", transactional=True)
        with MessageQueueTransaction(at.client) as transaction:
            assert transaction.computer == ""
            remote.receive(WAIT_S, transaction=transaction)
        assert transaction.computer == "SERVER"
        with at.at_client.connect_msmq() as host:
            assert host.outcome(transaction.id) == "unknown"
            assert host.outcome(transaction.id, transaction.computer) == "committed"
            assert host.outcome(transaction.id) == "committed"
            with pytest.raises(MessageQueueException) as unknown:
                host.outcome(transaction.id, "NOWHERE")
            assert code_of(unknown) is MessageQueueErrorCode.MACHINE_NOT_FOUND
            with MessageQueueTransaction(at.client) as transaction:
                local.send("x", transaction=transaction)
            assert host.outcome(transaction.id, transaction.computer) == "committed"
