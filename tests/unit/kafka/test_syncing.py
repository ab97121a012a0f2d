"""What sync() waits for: everything that was committed before, and nothing that came later."""

import time

import pytest

from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.results import ExportPlaces
from adapter.errors import TableBehind
from adapter.kafka.syncing import PAUSE_S_MAX, ExportsBefore


def at(lowest: int, end: int, name: str = "E", *, is_paused: bool = False) -> ExportPlaces:
    """An export whose queue has these messages."""
    return ExportPlaces(name, "Q", 0, is_paused, [Lowest(0, lowest, 1)], [Lowest(0, end, 0)])


def soon() -> float:
    return time.monotonic() + 30


def test_nothing_to_wait_for() -> None:
    assert ExportsBefore("t", [], soon()).are_written
    assert ExportsBefore("t", [at(5, 5)], soon()).are_written


def test_each_export_is_waited_for() -> None:
    before = ExportsBefore("t", [at(1, 3), at(2, 4, "F"), at(7, 7, "G")], soon())
    seen = []
    for now in (
        [at(2, 9), at(4, 4, "F"), at(7, 9, "G")],
        [at(2, 9), at(4, 9, "F")],  # what the second had then is written: it counts no more
        [at(3, 9), at(4, 9, "F")],
    ):
        before.look(now)
        seen.append(before.are_written)
    assert seen == [False, False, True]


def test_an_export_that_is_gone_is_not_waited_for() -> None:
    before = ExportsBefore("t", [at(1, 3)], soon())
    before.look([])
    assert before.are_written


def test_when_the_time_is_over_it_says_what_it_waits_for() -> None:
    with pytest.raises(TableBehind, match=r"E has not written to topic t .* show E says why"):
        ExportsBefore("t", [at(1, 3)], time.monotonic() - 1)
    before = ExportsBefore("t", [at(1, 3)], time.monotonic() + 0.01)
    time.sleep(before.pause_s())
    time.sleep(0.02)
    assert before.pause_s() == 0
    with pytest.raises(TableBehind, match="it is paused, resume it"):
        before.look([at(1, 3, is_paused=True)])
    assert ExportsBefore("t", [at(3, 3)], time.monotonic() - 1).are_written


def test_pauses_get_longer_and_are_bounded() -> None:
    before = ExportsBefore("t", [at(1, 3)], soon())
    pauses = [before.pause_s() for _ in range(10)]
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] == PAUSE_S_MAX
