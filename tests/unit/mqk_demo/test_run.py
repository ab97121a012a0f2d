"""How a run's figures are put together, and how the checker is listened to."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from mqk_demo import checker, run
from mqk_demo.errors import DemoError
from mqk_demo.screen import Screen
from mqk_demo.stage import Depths, Restart, Stage
from tests.unit.mqk_demo.flight_lines import Topics, make_archive, table

LINES = table(200)
PLAYED = {
    "restart": Restart(commits_held=2, seconds=0.75), "units_lost": 1, "units_failed": 60,
    "back_by": "restart",
    "put_per_s": 5000.0, "handled_per_s": 900.0, "left": 0,
}  # fmt: skip


def test_the_figures_of_a_right_run_are_ok() -> None:
    report = checker.check(LINES, Topics(LINES).records)
    outcome = run.judge(LINES, report, PLAYED, 12.0)
    assert outcome.ok, outcome.problems
    assert outcome.flights == 200
    assert outcome.backed_out == outcome.never_departed == 28
    assert (outcome.commits_unanswered, outcome.restart_s) == (2, 0.75)


@pytest.mark.parametrize("kind", checker.KINDS)
def test_every_fault_that_the_checker_finds_makes_it_wrong(kind: str) -> None:
    report = checker.check(LINES, Topics(LINES).records) | {kind: 3}
    outcome = run.judge(LINES, report, PLAYED, 12.0)
    assert not outcome.ok
    assert len(outcome.problems) == 1
    assert "3, not 0" in outcome.problems[0]


def listen(program: str) -> tuple[dict[str, object] | None, str]:
    """Follow a program as if it were the checker."""
    file = io.StringIO()
    with (
        Screen(file=file) as screen,
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        return run.follow(process, 100, screen), file.getvalue()


def test_the_last_word_of_the_checker_is_its_report() -> None:
    words = [{"read": 10}, {"read": 20}, {"ok": True, "lost": 0}]
    report, _ = listen(f"for line in {list(map(json.dumps, words))!r}: print(line)")
    assert report == words[-1]


def test_a_checker_that_says_nothing_has_no_report() -> None:
    assert listen("pass") == (None, "")


def test_a_check_that_is_not_possible_is_a_sentence(tmp_path: Path) -> None:
    archive = tmp_path / "no.tar.gz"
    with Screen(quiet=True) as screen, pytest.raises(DemoError) as failure:
        run.check("127.0.0.1:1", archive, 200, screen)
    assert "the checker ended with status 2: the check is not possible" in str(failure.value)


def test_what_is_handled_is_done_or_backed_out() -> None:
    assert Depths(waiting=5, done=7, backed_out=3, open=False).handled == 10


class Copying:
    """A stage whose mover copies so many messages from one look to the next."""

    def __init__(self, *copies: int) -> None:
        self.is_stopped = False
        self._copies = [*copies]

    def depths(self) -> Depths:
        assert not self.is_stopped
        return Depths(waiting=3, done=7, backed_out=0, open=False)

    def copies(self) -> int:
        assert not self.is_stopped
        return self._copies.pop(0) if len(self._copies) > 1 else self._copies[0]

    def close_manager(self) -> None:
        assert len(self._copies) == 1, "not all is copied"
        self.is_stopped = True


@pytest.mark.parametrize(
    ("copies", "stall_s"), [((20,), 60.0), ((0, 0, 7, 19, 20), 60.0), ((7,), 0.05)]
)
def test_it_stops_the_queue_manager_when_all_is_copied_or_no_more_comes(
    copies: tuple[int, ...], stall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LOOK_S", 0.01)
    monkeypatch.setattr(run, "STALL_S", stall_s)
    stage = Copying(*copies)
    with Screen(quiet=True) as screen:
        assert run.settle(cast(Stage, stage), 10, screen) == 3
    assert stage.is_stopped


def test_the_table_of_the_tests_is_one_for_the_checker(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "small.tar.gz", LINES)
    assert checker.read_table(path, None) == LINES
