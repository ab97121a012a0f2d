"""What is logged while Kafka confirms nothing, and when that is over."""

from structlog.testing import capture_logs

from adapter.owner.stall import Stall


def test_finding_reliability_d10_that_kafka_works_again_is_said_when_it_does() -> None:
    stall = Stall("QM1")
    with capture_logs() as logged:
        stall.report(7_000, serves=True)
        stall.report(0, serves=False)  # in doubt: what waited is not counted any more
        stall.unavailable = "no broker answers"
        stall.report(0, serves=False)
        stall.unavailable = ""
        stall.report(0, serves=False)
        assert [one["event"] for one in logged] == ["Kafka acknowledges no writes"]
        stall.report(0, serves=True)
    assert logged[-1]["event"] == "Kafka acknowledges writes again"
