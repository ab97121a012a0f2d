"""Dead letters of clients within a queue manager's process: with which fields, and if none is."""

from collections.abc import Iterator

import pytest

import adapter
from adapter.connection.channel.unit import AnyUnit
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.core.rules.objects import definitions
from adapter.runtime.own_clients.dead_letters import NoDeadLetterError, put_letter
from adapter.testing import TestQueueManager
from tests.support.own_client import connected

NOW_MS = 1_700_000_000_000


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager() as running:
        assert "No command failed" in running.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)")
        yield running


def bury(manager: TestQueueManager, expires_at_ms: int = 0, *, commits: bool = True) -> None:
    """Put a dead letter that has all that one must not have."""
    letter = MessageData(
        body=b"\xff",
        persistence=1,
        report=0x3F00 | 0x40,
        delay_ms=60_000,
        deliver_at_ms=NOW_MS,
        transmission=Transmission("Q", "QM2"),
        correlation_id=b"c" * 24,
        user="other user",
    )
    with connected(manager) as channel:
        unit = AnyUnit(channel, ahead=True)
        unit.begin()
        put_letter(channel, unit, "SOURCE", letter, NOW_MS, expires_at_ms)
        if commits:
            unit.commit()
        else:
            unit.backout()


def test_a_letter_keeps_its_context_and_asks_for_no_confirmation(
    manager: TestQueueManager,
) -> None:
    bury(manager)
    with manager.connect() as qm:
        letter = qm.get("DEAD")
    assert letter is not None
    assert (letter.body, letter.report, letter.expiry_s) == (b"\xff", 0x40, None)
    assert (letter.correlation_id, letter.user) == ((b"c" * 24), "other user")


@pytest.mark.parametrize(("left_ms", "wanted_s"), [(60_000, 60.0), (0, 0.1), (-5_000, 0.1)])
def test_a_letter_expires_when_its_message_would_have(
    manager: TestQueueManager, left_ms: int, wanted_s: float
) -> None:
    with connected(manager) as channel:
        unit = AnyUnit(channel, ahead=True)
        unit.begin()
        put_letter(channel, unit, "SOURCE", MessageData(body=b"1"), NOW_MS, NOW_MS + left_ms)
        unit.commit()
    with manager.connect() as qm:
        letter = qm.get("DEAD")
        if letter is None:  # it has expired by now
            assert left_ms <= 0
            return
    assert letter.expiry_s is not None
    assert 0 < letter.expiry_s <= wanted_s


def test_a_letter_comes_with_the_commit_of_its_unit(manager: TestQueueManager) -> None:
    bury(manager, commits=False)
    with manager.connect() as qm:
        assert qm.get("DEAD") is None


@pytest.mark.parametrize(
    ("mqsc", "text"),
    [
        ("ALTER QMGR DEADQ(' ')", "queue manager QM1 has no dead-letter queue: name one by"),
        ("DELETE QLOCAL(DEAD)", "the dead-letter queue does not take it: queue DEAD"),
        ("DEFINE QLOCAL(SOURCE)\nALTER QMGR DEADQ(SOURCE)", "the dead-letter queue SOURCE is the"),
        (
            "DEFINE QLOCAL(SOURCE)\nALTER QMGR DEADQ(ALSO)\nDEFINE QALIAS(ALSO) TARGET(SOURCE)",
            "ALSO, which DEADQ names, is not a local queue: name one by ALTER QMGR DEADQ",
        ),
        (
            "ALTER QMGR DEADQ(ALSO)\nDEFINE QALIAS(ALSO) TARGET(DEAD)",
            "ALSO, which DEADQ names, is not a local queue: name one by ALTER QMGR DEADQ",
        ),
        (
            (
                "ALTER QMGR DEADQ(ALSO)\n"
                "DEFINE TOPIC(T) TOPICSTR(ALSO)\nDEFINE QALIAS(ALSO) TARGET(T) TARGTYPE(TOPIC)"
            ),
            "ALSO, which DEADQ names, is not a local queue: name one by ALTER QMGR DEADQ",
        ),
        (
            (
                "ALTER QLOCAL(DEAD) USAGE(XMITQ)\nALTER QMGR DEADQ(FAR)\n"
                "DEFINE QREMOTE(FAR) RNAME(R) RQMNAME(QM2) XMITQ(DEAD)"
            ),
            "FAR, which DEADQ names, is not a local queue: name one by ALTER QMGR DEADQ",
        ),
        ("ALTER QLOCAL(DEAD) PUT(DISABLED)", "the dead-letter queue does not take it: puts are"),
        ("ALTER QLOCAL(DEAD) MAXMSGL(0)", "the dead-letter queue does not take it: "),
    ],
)
def test_without_a_queue_that_takes_it(
    manager: TestQueueManager, mqsc: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in definitions.QUEUES_BUT_LOCAL:  # releases before took any queue of that name
        monkeypatch.delitem(definitions.CHECKS_OF_NEW, kind)
    assert "No command failed" in manager.mqsc(mqsc)
    with pytest.raises(NoDeadLetterError) as caught:
        bury(manager)
    assert str(caught.value).startswith(text)
    assert manager.is_running


def test_a_lost_connection_says_so(manager: TestQueueManager) -> None:
    with connected(manager) as channel:
        unit = AnyUnit(channel, ahead=True)
        unit.begin()
        manager.crash()
        with pytest.raises(adapter.ConnectionBroken):
            put_letter(channel, unit, "SOURCE", MessageData(body=b"1"), NOW_MS, 0)
