"""docs/from-msmq.md shows the table that a test tries."""

from tests.docs.msmq_matrix import BEGIN, END, PAGE, table, written
from tests.support.msmq_matrix import cases, expected


def test_the_page_shows_the_table() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert text == written(text), "write it again: python -m tests.docs.msmq_matrix"


def test_every_case_is_in_it() -> None:
    made = table()
    for case in cases():
        assert f"| {case.operation} | {case.kind} | {case.place} | {case.transaction} |" in made
        assert expected(case) in made
