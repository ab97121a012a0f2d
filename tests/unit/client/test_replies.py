"""Request and reply, through a temporary queue of the connection."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.client import replies
from adapter.core.contract.answers import (
    DISCARD,
    PASS_CORRELATION_ID,
    PASS_DISCARD_AND_EXPIRY,
    PASS_MESSAGE_ID,
)
from adapter.errors import (
    ConnectionBroken,
    InvalidOption,
    InvalidType,
    NoReply,
    QueueNotFound,
    UnitInProgress,
)
from adapter.testing import TestQueueManager
from tests.drivers import Driver

WAIT_S = 20.0


@pytest.fixture
def manager(driver: Driver) -> Iterator[TestQueueManager]:
    with testing.queue_manager() as one:
        with one.connect() as qm:
            qm.define_queue("SERVICE")
        yield driver.of(one)


@contextmanager
def served(manager: TestQueueManager) -> Iterator[list[adapter.Message]]:
    """A program that answers each request with its body turned round, in the unit of its get."""
    seen: list[adapter.Message] = []
    qm = manager.connect()
    service = qm.queue("SERVICE")

    def serve() -> None:
        for unit in service.units(timeout=None):
            with unit:
                for message in unit.messages:
                    seen.append(message)
                    qm.reply(message, message.body[::-1])

    server = threading.Thread(target=serve)
    server.start()
    try:
        yield seen
    finally:
        service.close()
        server.join(WAIT_S)
        qm.close()


def test_a_request_gets_its_reply(manager: TestQueueManager) -> None:
    with served(manager) as seen, manager.connect() as qm:
        service = qm.queue("SERVICE")
        replies = [service.request(body, timeout=WAIT_S) for body in (b"abc", b"def")]
    assert [reply.body for reply in replies] == [b"cba", b"fed"]
    assert [one.message_type for one in (*seen, *replies)] == [1, 1, 2, 2]
    assert [reply.correlation_id for reply in replies] == [one.message_id for one in seen]
    assert seen[0].reply_to == seen[1].reply_to != ""


def test_a_request_with_a_token_gets_its_reply(manager: TestQueueManager) -> None:
    token = adapter.CancelToken()
    with served(manager), manager.connect() as qm:
        service = qm.queue("SERVICE")
        for timeout in (WAIT_S, None):
            assert service.request(b"abc", timeout=timeout, cancel=token).body == b"cba"


@pytest.mark.parametrize("timeout", [None, WAIT_S])
def test_a_wait_for_a_reply_is_cancelled(manager: TestQueueManager, timeout: float | None) -> None:
    token = adapter.CancelToken()
    told: list[str] = []

    def ask() -> None:
        try:
            service.request(b"x", timeout=timeout, cancel=token)
        except NoReply as error:
            told.append(str(error))

    with manager.connect() as qm, manager.connect() as other:
        service = qm.queue("SERVICE")
        with pytest.raises(InvalidType, match="cancel is"):
            service.request(b"x", timeout=1, cancel=True)  # type: ignore[arg-type]
        asking = threading.Thread(target=ask)
        asking.start()
        request = other.get("SERVICE", timeout=WAIT_S)
        assert request is not None
        token.cancel()
        asking.join(WAIT_S)
        assert len(told) == 1
        assert "the wait for a reply was cancelled" in told[0]
        other.reply(request, b"too late")
        with pytest.raises(NoReply, match="cancelled before the request was put"):
            service.request(b"x", timeout=None, cancel=token)
        assert service.depth() == 0


def test_many_threads_share_the_queue_for_replies(manager: TestQueueManager) -> None:
    answers: dict[int, bytes] = {}

    def ask(number: int) -> None:
        answers[number] = service.request(b"%04d" % number, timeout=WAIT_S).body

    with served(manager), manager.connect() as qm:
        service = qm.queue("SERVICE")
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        assert len(qm.queues("MQK.*")) == 1
    assert answers == {number: (b"%04d" % number)[::-1] for number in range(8)}


def test_no_reply_comes_in_time(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        with pytest.raises(NoReply, match="the program that serves SERVICE runs"):
            qm.queue("SERVICE").request(b"x", timeout=0.05)
        with pytest.raises(TimeoutError):
            qm.queue("SERVICE").request(b"x", timeout=0)


def test_a_request_inside_a_unit_is_refused(manager: TestQueueManager) -> None:
    with manager.connect() as qm, qm.unit():
        with pytest.raises(UnitInProgress, match="outside the unit"):
            qm.queue("SERVICE").request(b"x", timeout=1)
        assert qm.queue("SERVICE").depth() == 0


def test_a_late_reply_has_nowhere_to_go(manager: TestQueueManager) -> None:
    with manager.connect() as qm, pytest.raises(NoReply):
        qm.queue("SERVICE").request(b"x", timeout=0, expiry_s=None)
    with manager.connect() as qm:
        request = qm.get("SERVICE")
        assert request is not None
        with pytest.raises(QueueNotFound):
            qm.reply(request, b"too late")


def test_what_is_no_request_has_no_reply(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.put("SERVICE", b"a datagram")
        message = qm.get("SERVICE")
        assert message is not None
        with pytest.raises(InvalidOption, match="names no queue for a reply"):
            qm.reply(message, b"x")
        with pytest.raises(InvalidType):
            qm.reply(b"x", b"y")  # type: ignore[arg-type]


def test_a_lost_connection_takes_its_replies_with_it(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_replies(manager, monkeypatch, {})


def test_a_lost_connection_takes_replies_with_it_that_a_token_may_end(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    with manager.connect() as qm, pytest.raises(InvalidType, match="cancel is"):
        qm.queue("SERVICE").request(b"x", timeout=0, cancel=True)  # type: ignore[arg-type]
    lose_replies(manager, monkeypatch, {"cancel": adapter.CancelToken()})


def lose_replies(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """Restart the queue manager while a request waits for its reply, and ask again."""
    monkeypatch.setattr(replies, "SLICE_MS", 50)
    told: list[Exception] = []

    def ask() -> None:
        try:
            service.request(b"x", timeout=None, **options)
        except ConnectionBroken as error:
            told.append(error)

    with manager.connect() as qm:
        service = qm.queue("SERVICE")
        asking = threading.Thread(target=ask)
        asking.start()
        while not qm.queue("SERVICE").depth():
            assert asking.is_alive()
        manager.restart()
        asking.join(WAIT_S)
        assert "ask again" in str(told[0])
        with pytest.raises(NoReply):
            service.request(b"again", timeout=0, expiry_s=60)
        last = [message.reply_to for message in service.browse()][-1]
        assert [one.name for one in qm.queues("MQK.*")] == [last], "the queue made in its place"


def test_a_request_expires_with_its_timeout(driver: Driver) -> None:
    with testing.queue_manager(clock="manual") as running, driver.of(running).connect() as qm:
        qm.define_queue("SERVICE")
        service = qm.queue("SERVICE")
        for fields in ({}, {"expiry_s": None}, {"expiry_s": 7}):
            with pytest.raises(NoReply):
                service.request(b"x", timeout=0, **fields)
        with pytest.raises(NoReply):
            service.request(adapter.Message(b"x", expiry_s=8), timeout=0)
        assert [message.expiry_s for message in service.browse()] == [0.001, None, 7, 8]
        running.clock.advance(10)
        assert service.depth() == 1


def answer_next(qm: adapter.Connection, body: bytes) -> adapter.Message:
    """Answer the next request with a body; return the request."""
    request = qm.queue("SERVICE").get(timeout=WAIT_S)
    assert request is not None
    qm.reply(request, body)
    return request


def test_a_request_of_a_message_that_was_got_has_its_reply_here(
    manager: TestQueueManager,
) -> None:
    """A service that asks another one on with what it has got names no queue of its own caller."""
    with served(manager) as seen, manager.connect() as qm:
        qm.define_queue("ASKED")
        asked = qm.queue("ASKED")
        asked.put(b"abc", reply_to="R", reply_to_queue_manager="QM2", report=PASS_CORRELATION_ID)
        got = asked.get()
        assert got is not None
        assert qm.queue("SERVICE").request(got, timeout=WAIT_S).body == b"cba"
    assert seen[0].reply_to_queue_manager in ("", "QM1")
    assert got.reply_to_queue_manager == "QM2", "the message of the program stays as it was"


@pytest.mark.parametrize("is_got", [True, False])
def test_a_late_reply_is_no_reply_to_a_later_request_of_that_id(
    manager: TestQueueManager, is_got: bool
) -> None:
    with manager.connect() as qm, manager.connect() as other:
        service = qm.queue("SERVICE")
        template = adapter.Message(b"first", message_id=b"fixed".ljust(24, b"\0"))
        if is_got:
            service.put(template)
            got = service.get()
            assert got is not None
            template = got
        with pytest.raises(NoReply):
            service.request(template, timeout=0.05, expiry_s=None)
        answer_next(other, b"late")
        with served(manager):
            template.body = b"second"
            assert service.request(template, timeout=WAIT_S).body == b"dnoces"
            assert service.request(template, timeout=WAIT_S).body == b"dnoces"
        assert len(qm.queues("MQK.*")) == 1, "queues for replies that no request waits on are gone"


OWN, ASKED = b"m" * 24, b"c" * 24


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (0, (None, OWN)),
        (PASS_MESSAGE_ID, (OWN, OWN)),
        (PASS_CORRELATION_ID, (None, ASKED)),
        (PASS_MESSAGE_ID | PASS_CORRELATION_ID, (OWN, ASKED)),
    ],
)
def test_a_reply_has_the_ids_that_the_report_options_say(
    manager: TestQueueManager, report: int, expected: tuple[bytes | None, bytes]
) -> None:
    with manager.connect() as qm:
        qm.define_queue("R")
        qm.put("SERVICE", b"x", report=report, reply_to="R", message_id=OWN, correlation_id=ASKED)
        answer_next(qm, b"y")
        reply = qm.get("R")
        assert reply is not None
    passed_id, correlation_id = expected
    assert reply.correlation_id == correlation_id
    assert (reply.message_id == OWN) is (passed_id is not None)


def test_a_reply_lives_as_long_as_its_request_if_that_asks_for_it(
    manager: TestQueueManager,
) -> None:
    with manager.connect() as qm:
        qm.define_queue("R")
        qm.put("SERVICE", b"x", report=PASS_DISCARD_AND_EXPIRY | DISCARD, reply_to="R", expiry_s=60)
        request = answer_next(qm, b"y")
        reply = qm.get("R")
        assert reply is not None
    assert reply.expires_at == request.expires_at
    assert reply.report == DISCARD
