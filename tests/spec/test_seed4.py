"""Seed 4, S4.47: the backout count that ends a loop, seen without triggers."""

import pytest

import adapter
import adapter.testing

THRESHOLD = 3
ROUNDS = 10


def test_s4_47_the_backout_count_rises_by_one_per_rollback(qm: adapter.Connection) -> None:
    """S4.47: prevent the loop with MQMD.BackoutCount: it rises by 1 per rollback and is readable on
    get. A program that reads it ends the loop of a message that always fails."""
    qm.define_queue("ASIDE")
    qm.put("Q", "fails always")
    qm.put("Q", "innocent")
    counts: list[int] = []
    while counts != [0, 1, 2]:
        with qm.unit() as unit:
            message = qm.get("Q")
            assert message is not None
            counts.append(message.backout_count)
            unit.backout()
    with qm.unit():
        message = qm.get("Q")
        assert message is not None
        assert message.backout_count == 3
        qm.put("ASIDE", message)
    innocent = qm.get("Q")
    assert innocent is not None
    assert innocent.body == b"innocent"
    assert innocent.backout_count == 0
    assert qm.queue("Q").depth() == 0
    aside = qm.get("ASIDE")
    assert aside is not None
    assert aside.backout_count == 0  # the count belongs to the place, and does not carry over


def test_s4_47_a_commit_does_not_count(qm: adapter.Connection) -> None:
    """S4.47, the negative: only rollbacks count; a browse and a committed unit beside it do not."""
    qm.put("Q", "first")
    qm.put("Q", "second")
    with qm.unit():
        qm.get("Q")
    list(qm.queue("Q").browse())
    second = qm.get("Q")
    assert second is not None
    assert second.backout_count == 0


def serve(qm: adapter.Connection, reads_the_count: bool) -> int:
    """A server that cannot process its message: how often it starts until the queue is empty."""
    for rounds in range(ROUNDS):
        try:
            with qm.unit():
                message = qm.get("Q")
                if message is None:
                    return rounds
                if not reads_the_count or message.backout_count < THRESHOLD:
                    raise ValueError("the part is not in stock")
                qm.put("ASIDE", message)
        except ValueError:
            continue
    return ROUNDS


@pytest.mark.parametrize("reads_the_count", [True, False])
def test_s4_47_a_program_that_reads_the_count_ends_the_loop(
    qm: adapter.Connection, reads_the_count: bool
) -> None:
    """S4.47: the loop in which a server rolls its get back and is started again (S4.45, S4.46) ends
    because the program reads the count; one that does not read it goes on for ever."""
    qm.define_queue("ASIDE")
    qm.put("Q", "poison")
    rounds = serve(qm, reads_the_count)
    assert rounds == (THRESHOLD + 1 if reads_the_count else ROUNDS)
    assert qm.queue("ASIDE").depth() == (1 if reads_the_count else 0)
    assert qm.queue("Q").depth() == (0 if reads_the_count else 1)


def test_s4_47_a_restart_does_not_reset_the_count(
    manager: adapter.testing.TestQueueManager, qm: adapter.Connection
) -> None:
    """S4.47: what fails repeatedly is detected also if the queue manager died in between."""
    qm.put("Q", "poison")
    with qm.unit() as unit:
        qm.get("Q")
        unit.backout()
    manager.crash()
    manager.start()
    message = qm.get("Q")
    assert message is not None
    assert message.backout_count == 1
