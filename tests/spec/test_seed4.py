"""Seed 4, trigger events: so far S4.47, the backout count that ends a loop."""

import adapter


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
