"""What the read-response server takes for a request; what it does with one is in tests/spec."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from adapter.msmq import (
    Message,
    MessageQueue,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTransaction,
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
