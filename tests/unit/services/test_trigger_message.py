"""A started program learns from its command line what it was started for."""

import os

import pytest

from adapter.errors import Error, InvalidValue
from adapter.mqi import TriggerMessage

EXAMPLE = TriggerMessage(
    queue="ORDERS", process="P", trigger_data="grün", appl_type=6, queue_manager="QM1"
)


def test_the_first_argument_is_read() -> None:
    argument = os.fsdecode(EXAMPLE.to_tmc2())
    assert TriggerMessage.from_argv(["worker", argument, "-v"]) == EXAMPLE


def test_bytes_are_read_and_written() -> None:
    read = TriggerMessage.from_bytes(EXAMPLE.to_bytes())
    assert read.queue_manager == ""
    assert read.of_queue_manager("QM1") == EXAMPLE


@pytest.mark.parametrize("argv", [["worker"], ["worker", "-v"], ["worker", "x" * 732]])
def test_a_program_that_no_trigger_monitor_started_is_told_so(argv: list[str]) -> None:
    with pytest.raises(InvalidValue, match=r"trigger monitor|not a trigger message") as caught:
        TriggerMessage.from_argv(argv)
    assert isinstance(caught.value, Error)
    assert isinstance(caught.value, ValueError)


def test_a_body_that_is_no_mqtm_is_refused() -> None:
    with pytest.raises(InvalidValue, match="684 bytes, not 3"):
        TriggerMessage.from_bytes(b"abc")
