"""The page shows the rights of the table, and names each role."""

from tests.docs.acls import BEGIN, END, PAGE, written


def test_the_page_shows_the_rights_of_the_table() -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert text == written(text), "if the new rights are meant: python -m tests.docs.acls"
