"""What is logged while Kafka confirms nothing, and when that is over."""

from unittest.mock import Mock, call

import pytest

from adapter.runtime.owner import stall as stall_module
from adapter.runtime.owner.stall import Stall


def test_finding_reliability_d10_that_kafka_works_again_is_said_when_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Mock()
    monkeypatch.setattr(stall_module, "log", log)
    stall = Stall("QM1")
    stall.report(7_000, serves=True)
    stall.report(0, serves=False)  # in doubt: what waited is not counted any more
    stall.unavailable = "no broker answers"
    stall.report(0, serves=False)
    stall.unavailable = ""
    stall.report(0, serves=False)
    log.warning.assert_called_once()
    assert log.info.mock_calls == []
    stall.report(0, serves=True)
    assert log.info.mock_calls == [call("Kafka acknowledges writes again", queue_manager="QM1")]
