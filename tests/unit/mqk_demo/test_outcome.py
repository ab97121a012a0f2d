"""What came of a run: any figure that is off makes it fail."""

from typing import Any

import msgspec
import pytest

from mqk_demo.outcome import Outcome

RIGHT: dict[str, Any] = {
    "flights": 1000, "never_departed": 20, "put": 1000, "done": 980, "backed_out": 20, "left": 0,
    "lost": 0, "duplicated": 0, "out_of_order": 0, "other_faults": 0, "commits_unanswered": 2,
    "units_lost": 1, "units_failed": 40, "put_per_s": 5000.0, "handled_per_s": 1000.0,
    "back_by": "restart", "restart_s": 0.5, "elapsed_s": 12.0, "examples": [],
}  # fmt: skip


def test_a_right_outcome_is_ok() -> None:
    outcome = msgspec.convert(RIGHT, Outcome)
    assert outcome.ok
    assert outcome.problems == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("put", 999, "put: 999, not 1,000"),
        ("done", 979, "done: 979, not 980"),
        ("done", 981, "done: 981, not 980"),
        ("backed_out", 21, "backed out: 21, not 20"),
        ("left", 1, "left: 1, not 0"),
        ("lost", 1, "lost: 1, not 0"),
        ("duplicated", 1, "duplicated: 1, not 0"),
        ("out_of_order", 1, "out of order: 1, not 0"),
        ("other_faults", 1, "other faults: 1, not 0"),
        ("commits_unanswered", 0, "no commit was unanswered"),
    ],
)
def test_any_figure_that_is_off_is_a_problem(name: str, value: int, words: str) -> None:
    outcome = msgspec.convert(RIGHT | {name: value, "examples": ["lost: line 7"]}, Outcome)
    assert not outcome.ok
    assert words in outcome.problems[0]
    assert outcome.problems[-1] == "lost: line 7"


def test_the_table_has_every_figure() -> None:
    rows = {what: shown for what, shown, _ in msgspec.convert(RIGHT, Outcome).rows()}
    assert rows["put"] == "1,000"
    assert rows["backed out"] == "20"
    assert rows["handling rate"] == "1,000/s"
    assert rows["restart"] == "0.50 s"
    assert {"done", "left", "lost", "duplicated", "out of order", "in all"} <= set(rows)
