"""Lines, comments, continuation, words and quoted strings."""

import pytest

from adapter.administration.mqsc.text import COMMAND_LENGTH_MAX, NotMqscError, lines_of, tokens_of


def commands(text: str) -> list[str]:
    return [line.text for line in lines_of(text.splitlines())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   \n\n", []),
        ("PING QMGR", ["PING QMGR"]),
        ("  PING QMGR  ;", ["PING QMGR"]),
        ("* a comment\nPING QMGR\n   * another", ["PING QMGR"]),
        ("PING +\n    QMGR", ["PING QMGR"]),
        ("PING QM+\n    GR", ["PING QMGR"]),
        ("PING QM-\nGR", ["PING QMGR"]),
        ("DEF QL(A) DESCR('a-\n  b')", ["DEF QL(A) DESCR('a  b')"]),
        ("DEF QL(A) DESCR('a+\n  b')", ["DEF QL(A) DESCR('ab')"]),
        ("DEF QL(A) +\n* between\n REPLACE", ["DEF QL(A) REPLACE"]),
        ("PING QMGR +", ["PING QMGR"]),
        ("A\nB", ["A", "B"]),
        ("\ufeffPING QMGR", ["PING QMGR"]),
        ("\ufeff* a comment\nPING QMGR", ["PING QMGR"]),
        ("\ufeff\nA", ["A"]),
        ("A\n\ufeffB", ["A", "\ufeffB"]),
    ],
)
def test_a_line_is_a_command_unless_it_goes_on_or_is_a_comment(
    text: str, expected: list[str]
) -> None:
    assert commands(text) == expected


def test_a_command_has_the_number_of_its_first_line() -> None:
    numbers = [line.number for line in lines_of(["*", "A +", "B", "", "C"])]
    assert numbers == [2, 5]


def test_what_is_too_long_is_no_command_to_its_end() -> None:
    text = ["DEF QL(A) DESCR('" + "x" * COMMAND_LENGTH_MAX + "+", "DELETE QL(B)+", "x')", "C"]
    long, short = lines_of(text)
    assert "at most" in long.problem
    assert (short.text, short.problem) == ("C", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def ql(Abc)", ["DEF", "QL", "(", "ABC", ")"]),
        ("DESCR('it''s (a) ''')", ["DESCR", "(", "it's (a) '", ")"]),
        ("A,B ,, C", ["A", "B", "C"]),
        ("''", [""]),
        ("X('a''''b')", ["X", "(", "a''b", ")"]),
    ],
)
def test_words_fold_and_quoted_strings_stay(text: str, expected: list[str]) -> None:
    assert [token.text for token in tokens_of(text)] == expected


@pytest.mark.parametrize("text", ["'", "DESCR('abc)", "DESCR('abc''"])
def test_a_quotation_mark_is_closed(text: str) -> None:
    with pytest.raises(NotMqscError, match="not closed"):
        tokens_of(text)


def test_a_parenthesis_in_quotation_marks_is_text() -> None:
    marks = [token.mark for token in tokens_of("CONNAME('host(1414)')")]
    assert marks == [False, True, False, True]
