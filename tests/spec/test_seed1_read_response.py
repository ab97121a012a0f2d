"""Seed 1, S1.13, S1.16-S1.24: the read-response application."""

import threading
from collections.abc import Iterator

import pytest

from adapter.msmq import (
    Host,
    Message,
    MessageQueue,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTransaction,
)
from adapter.msmq.read_response import ReadResponseServer
from tests.support.msmq_site import MsmqSite, labels, msmq_site, path, send_together

WAIT_S = 20.0


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    """A server's computer with an input queue and a read-request queue, and queues of receivers."""
    with msmq_site() as site:
        for name in ("input", "requests", "one", "other"):
            site.create(name, transactional=True)
        yield site


def request(host: Host, name: str) -> None:
    """Ask for a message, to be sent to a queue of the receiver, in a transaction."""
    with MessageQueueTransaction(host) as transaction:
        message = Message("please", response_queue=path(name))
        host.open(path("requests")).send(message, transaction=transaction)


def server_of(at: MsmqSite) -> ReadResponseServer:
    return ReadResponseServer(at.home, path("input"), path("requests"))


def depths(at: MsmqSite) -> dict[str, int]:
    return {name: at.open_home(name).count() for name in ("input", "requests", "one", "other")}


def test_s1_13_a_read_response_application_receives_in_a_transaction(at: MsmqSite) -> None:
    """S1.13: the same functionality is obtainable through a transactional read-response
    application: a receiver gets a message of the remote queue in a transaction."""
    send_together(at.home, at.open_home("input"), "1")
    request(at.home, "one")
    assert server_of(at).run_once(0)
    with MessageQueueTransaction(at.home) as transaction:
        assert at.open_home("one").receive(0, transaction=transaction).label == "1"
    assert depths(at) == {"input": 0, "requests": 0, "one": 0, "other": 0}


def test_s1_17_what_a_message_says_survives_the_hop(at: MsmqSite) -> None:
    """S1.17: it uses transactions to redirect messages from remote queues on the sending computer
    to local queues on the receiving computer: payload, label and correlation survive the hop."""
    queue = at.open_home("input")
    with MessageQueueTransaction(at.home) as transaction:
        send_together(at.home, at.open_home("other"), "x")
        sent = Message(
            "payload ü",
            label="label",
            correlation_id=at.open_home("other").receive(0).id,
            app_specific=42,
            response_queue=path("other"),
            extension=b"\0x",
        )
        queue.send(sent, transaction=transaction)
    request(at.home, "one")
    assert server_of(at).run_once(0)
    found = at.open_home("one").receive(0)
    assert found.body == "payload ü"
    for name in ("label", "correlation_id", "app_specific", "response_queue", "extension"):
        assert getattr(found, name) == getattr(sent, name)


@pytest.mark.parametrize("plain", ["input", "requests"])
def test_s1_18_it_refuses_nontransactional_queues(at: MsmqSite, plain: str) -> None:
    """S1.18: it resides on a server that holds two transactional queues, an input queue and a
    read-request queue: it refuses to start if either is nontransactional."""
    at.home.delete(path(plain))
    at.create(plain)
    with pytest.raises(MessageQueueException) as refused:
        server_of(at)
    assert refused.value.message_queue_error_code is MessageQueueErrorCode.TRANSACTION_USAGE
    assert path(plain) in str(refused.value)


@pytest.mark.parametrize("step", ["request", "message", "forward"])
def test_s1_19_an_abort_after_any_step_leaves_everything(
    at: MsmqSite, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1.19: in ONE transaction it takes a request, takes a message and forwards that message: an
    abort after any step leaves request and message in their queues and nothing at the receiver; a
    commit moves exactly one message."""
    send_together(at.home, at.open_home("input"), "1", "2")
    request(at.home, "one")
    before = depths(at)
    server = server_of(at)
    receive, send, counts = MessageQueue.receive, MessageQueue.send, {"receive": 0}

    def failing_receive(queue: MessageQueue, *given: object, **named: object) -> Message:
        message = receive(queue, *given, **named)  # type: ignore[arg-type]
        counts["receive"] += 1
        if (step, counts["receive"]) in (("request", 1), ("message", 2)):
            raise RuntimeError("power failure")
        return message

    def failing_send(queue: MessageQueue, *given: object, **named: object) -> str:
        identifier = send(queue, *given, **named)  # type: ignore[arg-type]
        if step == "forward":
            raise RuntimeError("power failure")
        return identifier

    with monkeypatch.context() as patch:
        patch.setattr(MessageQueue, "receive", failing_receive)
        patch.setattr(MessageQueue, "send", failing_send)
        with pytest.raises(RuntimeError, match="power failure"):
            server.run_once(0)
    assert depths(at) == before == {"input": 2, "requests": 1, "one": 0, "other": 0}
    assert server.run_once(0)
    assert depths(at) == {"input": 1, "requests": 0, "one": 1, "other": 0}


def test_s1_20_each_receiver_gets_only_what_it_asked_for(at: MsmqSite) -> None:
    """S1.20: the forward goes to the requester: two receivers, each gets only what it asked for."""
    send_together(at.home, at.open_home("input"), "1", "2", "3", "4")
    for name in ("one", "other", "one"):
        request(at.home, name)
    server = server_of(at)
    while server.run_once(0):
        pass
    assert labels(at.open_home("one")) == ["1", "3"]
    assert labels(at.open_home("other")) == ["2"]
    assert labels(at.open_home("input")) == ["4"]


def test_s1_21_the_receiver_receives_in_a_transaction_on_its_own_queue(at: MsmqSite) -> None:
    """S1.21: the receiver gets its messages in a transaction without a transactional remote read:
    on its own local transactional queue, where an abort puts them back."""
    send_together(at.home, at.open_home("input"), "1")
    request(at.home, "one")
    server_of(at).run_once(0)
    own = at.open_home("one")
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    own.receive(0, transaction=transaction)
    transaction.abort()
    assert labels(own) == ["1"]
    assert labels(at.open_home("input")) == []


def test_s1_22_the_response_queue_of_the_request_says_where(at: MsmqSite) -> None:
    """S1.22: the receiver sends the request to the server's read-request queue, naming the response
    queue: this property drives the routing. A request that names none is rejected, and holds up no
    other."""
    send_together(at.home, at.open_home("input"), "1")
    send_together(at.home, at.open_home("requests"), "names no queue")
    request(at.home, "other")
    server = server_of(at)
    assert server.run_once(0)
    assert depths(at) == {"input": 0, "requests": 0, "one": 0, "other": 1}
    assert server.statistics() == {"requests_served": 1, "requests_rejected": 1}


def test_s1_23_a_request_in_a_transaction_is_served_after_its_commit(at: MsmqSite) -> None:
    """S1.23: the request may be sent within the receiver's own transaction: it is invisible to the
    server until that commits; after an abort it is never served."""
    send_together(at.home, at.open_home("input"), "1", "2")
    server = server_of(at)
    for aborts in (True, False):
        transaction = MessageQueueTransaction(at.home)
        transaction.begin()
        message = Message("please", response_queue=path("one"))
        at.open_home("requests").send(message, transaction=transaction)
        assert not server.run_once(0)
        (transaction.abort if aborts else transaction.commit)()
        assert server.run_once(0) is not aborts
    assert labels(at.open_home("one")) == ["1"]


def test_s1_24_the_transactions_are_independent(at: MsmqSite) -> None:
    """S1.24: that transaction is independent of the one that sends the message back: an abort of
    the forward does not undo the request; an abort of the receiver's later work does not undo the
    forward."""
    request(at.home, "one")
    server = server_of(at)
    assert not server.run_once(0)  # there is no message to forward
    assert depths(at)["requests"] == 1
    send_together(at.home, at.open_home("input"), "1")
    assert server.run_once(0)
    later = MessageQueueTransaction(at.home)
    later.begin()
    at.open_home("one").receive(0, transaction=later)
    later.abort()
    assert depths(at) == {"input": 0, "requests": 0, "one": 1, "other": 0}


def test_s1_16_s1_13_a_server_runs_until_it_is_stopped(at: MsmqSite) -> None:
    """S1.16: a read-response application serves the need to retrieve transactional messages from a
    remote queue. S1.13: as a server it waits for requests and for messages, until it is stopped."""
    server = server_of(at)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        request(at.home, "one")
        send_together(at.home, at.open_home("input"), "1")
        assert at.open_home("one").receive(WAIT_S).label == "1"
    finally:
        server.stop()
        thread.join(WAIT_S)
    assert not thread.is_alive()
