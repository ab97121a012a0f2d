"""Messages that are rejected: where they go when the queue that is meant for them refuses them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import adapter
from adapter import testing
from adapter.errors import BackedOut, InvalidExpiry, NotAuthorized
from adapter.frameworks.rejected import end_rejected
from adapter.server.access import credentials
from adapter.testing import TestQueueManager
from tests.support.passwords import hash_cheaply
from tests.support.ways_back import WAYS, define_ways, way

DEAD = "SYSTEM.DEAD.LETTER.QUEUE"
REFUSALS = {
    "missing": (None, 2085),
    "full": ({"max_depth": 1}, 2053),
    "inhibited": ({"inhibit_put": True}, 2051),
    "too long": ({"max_message_length": 1}, 2030),
}


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture
def qm(manager: TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        connection.define_queue("Q")
        connection.alter_queue_manager(dead_letter_queue=DEAD)
        yield connection


def held(qm: adapter.Connection, body: str = "bad") -> tuple[adapter.Unit, adapter.Message]:
    qm.put("Q", body, user="ann", application="shop")
    unit = qm.unit()
    unit.begin()
    message = qm.get("Q", unit=unit)
    assert message is not None
    return unit, message


def refusing(qm: adapter.Connection, refusal: str) -> int:
    """Have queue T take no message of these tests, and return why, as a number."""
    attributes, reason = REFUSALS[refusal]
    if attributes is not None:
        qm.define_queue("T", **attributes)
    if refusal == "full":
        qm.put("T", "x")
    return reason


def is_gone(qm: adapter.Connection) -> bool:
    status = qm.queue("Q").status()
    return (status.current_depth, status.uncommitted_gets) == (0, 0)


def test_it_goes_where_it_is_meant_to(qm: adapter.Connection) -> None:
    qm.define_queue("T")
    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", "T", expiry_s=100)
    assert is_gone(qm)
    moved = qm.get("T")
    assert moved is not None
    assert (moved.body, moved.user, moved.application) == (b"bad", "ann", "shop")
    assert moved.expiry_s is not None
    assert qm.queue(DEAD).depth() == 0


def test_it_is_discarded_if_it_is_meant_for_no_queue(qm: adapter.Connection) -> None:
    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", "")
    assert is_gone(qm)
    assert qm.queue(DEAD).depth() == 0


@pytest.mark.parametrize("refusal", REFUSALS)
def test_what_is_refused_is_a_dead_letter_with_the_reason(
    qm: adapter.Connection, refusal: str, caplog: pytest.LogCaptureFixture
) -> None:
    reason = refusing(qm, refusal)
    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", "T", expiry_s=0.001)
    assert is_gone(qm)
    letter = qm.get(DEAD)
    assert letter is not None
    assert letter.dead_letter is not None
    assert (letter.dead_letter.reason, letter.dead_letter.destination) == (reason, "T")
    assert (letter.body, letter.message_id, letter.expiry_s) == (b"bad", message.message_id, None)
    assert "was not moved to T" in caplog.text


@pytest.mark.parametrize("target", ["Q", "T"])
@pytest.mark.parametrize("dead", ["", "T", "Q", "GONE", "FULL"])
def test_what_no_queue_takes_is_discarded_and_logged(
    qm: adapter.Connection, target: str, dead: str, caplog: pytest.LogCaptureFixture
) -> None:
    qm.define_queue("FULL", max_depth=1)
    qm.put("FULL", "x")
    if target == "T" or dead == "T":
        qm.define_queue("T", inhibit_put=True)
    qm.alter_queue_manager(dead_letter_queue=dead)
    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", target)
    assert is_gone(qm)
    assert f"message {message.message_id.hex()} of queue Q is discarded" in caplog.text


def test_a_queue_that_is_to_take_what_it_rejects_does_not(qm: adapter.Connection) -> None:
    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", "Q")
    assert is_gone(qm)
    assert qm.queue(DEAD).depth() == 1


@pytest.mark.parametrize("source", ["Q", "WAYS.ALIAS"])
@pytest.mark.parametrize("label", [label for label, (_, there, _) in WAYS.items() if not there])
def test_a_rejected_message_comes_again_by_no_name(
    qm: adapter.Connection, label: str, source: str
) -> None:
    define_ways(qm, "Q")
    target, _, is_reached = way(label, "Q", "QM1")
    unit, message = held(qm)
    end_rejected(qm, unit, message, source, target)
    assert is_gone(qm)
    assert qm.queue(DEAD).depth() == is_reached


def test_a_target_that_is_missing_is_defined(qm: adapter.Connection) -> None:
    def define() -> None:
        qm.define_queue("T")

    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", "T", define=define)
    assert is_gone(qm)
    assert (qm.queue("T").depth(), qm.queue(DEAD).depth()) == (1, 0)


def test_a_target_that_cannot_be_defined_is_a_dead_letters_reason(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    def define() -> None:
        raise NotAuthorized("may not define T")

    unit, message = held(qm)
    end_rejected(qm, unit, message, "Q", "T", define=define)
    letter = qm.get(DEAD)
    assert letter is not None
    assert letter.dead_letter is not None
    assert letter.dead_letter.reason == REFUSALS["missing"][1]
    assert "may not define T" in caplog.text


def test_a_mistake_of_the_caller_is_no_refusal_of_the_target(qm: adapter.Connection) -> None:
    qm.define_queue("T")
    unit, message = held(qm)
    with pytest.raises(InvalidExpiry):
        end_rejected(qm, unit, message, "Q", "T", expiry_s=0)
    assert [qm.queue(name).depth() for name in ("Q", "T", DEAD)] == [1, 0, 0]


@pytest.mark.parametrize("target", ["T", "MISSING"])
def test_a_worker_that_may_not_say_for_whom_it_puts_moves_it_all_the_same(
    tmp_path: Path, target: str
) -> None:
    credentials.write(tmp_path / "users", {"ann": hash_cheaply("secret")})
    secured = testing.queue_manager(
        "QM1",
        credentials_file=tmp_path / "users",
        authorities=True,
        unix_path=tmp_path / "socket",
        dead_letter_queue=DEAD,
    )
    with secured as manager, adapter.connect(f"unix:{tmp_path / 'socket'}") as operator:
        for name in ("Q", "T"):
            operator.define_queue(name)
        operator.set_authority("SELF", "qmgr", users=["ann"], add=["connect"])
        operator.set_authority("Q", users=["ann"], add=["put", "get"])
        operator.set_authority("T", users=["ann"], add=["put"])
        with adapter.connect(manager.address, user="ann", password="secret") as worker:
            worker.put("Q", "bad")
            unit = worker.unit()
            unit.begin()
            message = worker.get("Q", unit=unit)
            assert message is not None
            end_rejected(worker, unit, message, "Q", target)
        assert operator.queue("Q").depth() == 0
        assert operator.queue("T").depth() == (target == "T")  # it sees no dead-letter queue


def test_what_is_lost_with_its_connection_is_back(
    qm: adapter.Connection, manager: TestQueueManager
) -> None:
    unit, message = held(qm)
    manager.crash()
    manager.start()
    with pytest.raises(BackedOut):
        end_rejected(qm, unit, message, "Q", "T")
    assert qm.queue("Q").depth() == 1
    assert qm.queue(DEAD).depth() == 0
