"""What the read-response server takes for a request; what it does with one is in tests/spec."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from adapter.msmq import (
    AcknowledgeTypes,
    Message,
    MessageQueue,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTransaction,
    QueueAccessMode,
    read_response,
)
from adapter.msmq.read_response import ReadResponseServer
from tests.support.backlog import until
from tests.support.msmq_site import MsmqSite, labels, msmq_site, path, send_together

QUEUES = ("input", "requests", "one", "other")


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    """A server's computer with an input queue and a read-request queue, and queues of receivers."""
    with msmq_site() as site:
        for name in QUEUES:
            site.create(name, transactional=True)
        yield site


def test_a_dead_letter_is_no_request(at: MsmqSite) -> None:
    """It may name any response queue, and is rejected, even on the read-request queue."""
    send_together(at.home, at.open_home("input"), "1")
    with MessageQueueTransaction(at.home) as transaction:
        letter = Message("x", response_queue=path("one"), dead_letter_queue=path("requests"))
        letter.use_dead_letter_queue = True
        letter.time_to_be_received = 0
        at.home.open(path("other")).send(letter, transaction=transaction)
    assert at.open_home("requests").count() == 1
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert not server.run_once(0)
    assert server.statistics() == {"requests_served": 0, "requests_rejected": 1}
    depths = {name: at.open_home(name).count() for name in QUEUES}
    assert depths == {"input": 1, "requests": 0, "one": 0, "other": 0}


@pytest.mark.parametrize("name", [" ", path("other"), path("one;journal"), "PUBLIC=x"])
def test_a_request_whose_response_queue_takes_nothing_holds_up_no_other(
    at: MsmqSite, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may not open one of these: other."""
    opens = at.home.open

    def refuse(queue: str, **options: Any) -> MessageQueue:
        if queue == path("other"):
            raise MessageQueueException(MessageQueueErrorCode.ACCESS_DENIED, "not you", queue)
        return opens(queue, **options)

    at.open_home("one").use_journal_queue = True
    send_together(at.home, at.open_home("input"), "1")
    with MessageQueueTransaction(at.home) as transaction:
        bad = Message()
        vars(bad)["response_queue"] = name  # as another client may write it
        at.open_home("requests").send(bad, transaction=transaction)
    send_together(at.home, at.open_home("requests"), "good", response_queue=path("one"))
    monkeypatch.setattr(at.home, "open", refuse)
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert server.run_once(10)
    assert server.statistics() == {"requests_served": 1, "requests_rejected": 1}
    assert labels(at.open_home("one")) == ["1"]


def test_it_waits_until_the_computer_has_room_for_an_answer(
    at: MsmqSite, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_response, "PAUSE_S", 0.01)
    with MessageQueueTransaction(at.home) as transaction:
        long = Message(b"x" * 3_000, label="1")
        at.open_home("input").send(long, transaction=transaction)
    send_together(at.home, at.open_home("requests"), "r", response_queue=path("one"))
    at.manager.mqsc("ALTER QMGR MSMQQTA(3)")
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: "read requests wait" in caplog.text)
        at.manager.mqsc("ALTER QMGR MSMQQTA(1000)")
        until(lambda: server.statistics()["requests_served"] == 1)
        assert labels(at.open_home("one")) == ["1"]
    finally:
        server.stop()
        thread.join(10)


def test_a_bad_request_that_another_server_has_is_left_to_that_one(
    at: MsmqSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is received between the look at it and its rejection, and there again later, or gone."""
    reject = ReadResponseServer._reject
    outcomes = iter([False, True])

    def late(server: ReadResponseServer, request: Message, why: str) -> None:
        transaction = MessageQueueTransaction(at.away)
        transaction.begin()
        at.open_away("requests").receive(0, transaction=transaction)
        try:
            reject(server, request, why)
        finally:
            if next(outcomes):
                transaction.commit()
            else:
                transaction.abort()

    monkeypatch.setattr(ReadResponseServer, "_reject", late)
    at.manager.mqsc("ALTER QMGR MSMQLVL(4)")
    send_together(at.home, at.open_home("requests"), "bad")
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert not server.run_once(0)
    assert server.statistics() == {"requests_served": 0, "requests_rejected": 0}
    assert at.open_home("requests").count() == 0


def test_a_message_is_sent_to_one_response_queue(at: MsmqSite) -> None:
    send_together(at.home, at.open_home("input"), "1")
    both = f"{path('one')},{path('other')}"
    send_together(at.home, at.open_home("requests"), "r", response_queue=both)
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert not server.run_once(0)
    assert server.statistics() == {"requests_served": 0, "requests_rejected": 1}
    assert labels(at.open_home("input")) == ["1"]
    assert labels(at.open_home("one")) == labels(at.open_home("other")) == []


def test_queues_that_a_message_names_are_those_of_its_first_sender(at: MsmqSite) -> None:
    acks = at.create("acks")
    with MessageQueueTransaction(at.away) as transaction:
        message = Message(
            "x",
            label="1",
            response_queue=r"localhost\private$\back",
            administration_queue=r".\private$\acks",
            acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE,
        )
        to_input = at.open_away("input", access=QueueAccessMode.SEND)
        to_input.send(message, transaction=transaction)
    send_together(at.home, at.open_home("requests"), "r", response_queue=r".\private$\one")
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert server.run_once(10)
    answer = at.open_home("one").receive(0)
    assert answer.response_queue == r"AWAY\private$\back"
    assert answer.administration_queue == r"AWAY\private$\acks"
    assert acks.count() == 0


@pytest.mark.parametrize("name", [r".\private$\one", r"localhost\private$\one"])
def test_a_response_queue_is_one_of_the_computer_of_the_request(at: MsmqSite, name: str) -> None:
    send_together(at.home, at.open_home("input"), "secret")
    with MessageQueueTransaction(at.away) as transaction:
        request = Message("r", response_queue=name)
        to_requests = at.open_away("requests", access=QueueAccessMode.SEND)
        to_requests.send(request, transaction=transaction)
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert server.run_once(10)
    assert labels(at.open_home("one")) == []
