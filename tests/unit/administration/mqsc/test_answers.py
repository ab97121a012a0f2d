"""Numbered messages, and columns."""

from adapter.administration.kinds import DEFINED, FoundObject
from adapter.administration.mqsc import answers

ALIAS = DEFINED["QALIAS"]


def found(target: str, description: str = "") -> FoundObject:
    values: dict[str, object] = {
        "queue_type": "QALIAS",
        "target": target,
        "description": description,
    }
    return FoundObject(ALIAS, "A", values)


def test_two_columns_of_forty_characters() -> None:
    lines = answers.shown(found("B", "text"), frozenset(("queue_type", "target", "description")))
    assert lines == [
        "AMQ8409I: queue details:",
        "   QUEUE(A)                                TYPE(QALIAS)",
        "   DESCR(text)                             TARGET(B)",
    ]


def test_what_does_not_fit_has_a_line_of_its_own() -> None:
    lines = answers.shown(found("B", "x" * 40), frozenset(("target", "description")))
    assert lines[1:] == ["   QUEUE(A)", f"   DESCR({'x' * 40})", "   TARGET(B)"]


def test_a_cell_that_fills_its_column_leaves_no_room_beside_it() -> None:
    cell = "x" * (answers.COLUMN - len("DESCR()"))
    lines = answers.shown(found("B", cell), frozenset(("target", "description")))
    assert lines[2:] == [f"   DESCR({cell})", "   TARGET(B)"]


def test_what_would_move_the_cursor_is_a_dot() -> None:
    lines = answers.shown(found("B", "a\n\x1b[2Jb"), frozenset(("description",)))
    assert lines[1].endswith("DESCR(a..[2Jb)")


def test_python_words_become_mqsc() -> None:
    said = answers.spoken("raise its max_depth, alter it with inhibit_get=False, or purge=True")
    assert said == "raise its MAXDEPTH, alter it with GET(ENABLED), or PURGE"
    assert answers.spoken("an off_beat text") == "an off_beat text"
