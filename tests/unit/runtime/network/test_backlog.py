"""How a backlog is counted: pure bookkeeping, with a clock of the test."""

from adapter.runtime.network.backlog import Backlog

TOPIC = "mq.QMB.in.QMA"


def test_finding_mq_4_a_backlog_waits_from_when_nothing_is_received() -> None:
    backlog = Backlog()
    assert not backlog.is_due("", 0)
    assert backlog.is_due(TOPIC, 0)
    backlog.note(TOPIC, 5, (0, 5), 10.0)
    assert (backlog.records, backlog.waits_s(12.0)) == (5, 2.0)
    backlog.note(TOPIC, 6, (0, 6), 13.0)  # more came, and nothing was received
    assert (backlog.records, backlog.waits_s(14.0)) == (6, 4.0)
    backlog.note(TOPIC, 6, (3, 6), 15.0)
    assert (backlog.records, backlog.waits_s(16.0)) == (3, 1.0)
    assert backlog.is_due(TOPIC, 6)
    backlog.note(TOPIC, 6, (6, 6), 17.0)
    assert (backlog.records, backlog.waits_s(18.0)) == (0, 0.0)
    assert not backlog.is_due(TOPIC, 6)
    assert backlog.is_due(TOPIC, 7)
    backlog.note(TOPIC, 7, (6, 7), 30.0)
    assert backlog.waits_s(31.0) == 1.0
