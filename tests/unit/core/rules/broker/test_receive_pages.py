"""How many pages are read to receive from a queue that is longer than memory."""

import pytest

from adapter.core.rules.broker.receive import ROWS_ENOUGH
from tests.support.dialogs import Dialogs

WINDOW = 200


def test_a_long_conversation_is_received_in_parts_of_what_is_in_memory() -> None:
    at = Dialogs(window_messages=WINDOW)
    session = at.session()
    sent = [f"m{number}" for number in range(6 * WINDOW)]
    session.dialog(*sent)
    session.commit()
    before = at.core.pages
    received: list[str] = []
    parts = 0
    while more := session.receive("Answers"):
        received += more
        parts += 1
        assert len(more) >= ROWS_ENOUGH or received == sent
    assert received == sent
    assert parts <= 2 * 6 + 1
    assert at.core.pages - before <= 2 * 6
    at.check()


@pytest.mark.parametrize("top", [2, ROWS_ENOUGH])
def test_as_many_rows_as_top_says_are_received_up_to_a_hundred(top: int) -> None:
    at = Dialogs(window_messages=2)
    session = at.session()
    sent = [f"m{number}" for number in range(ROWS_ENOUGH)]
    session.dialog(*sent)
    session.commit()
    assert session.receive("Answers", top=top) == sent[:top]


def test_many_dialogs_of_a_message_are_read_page_by_page() -> None:
    at = Dialogs(window_messages=WINDOW)
    session = at.session()
    count = 5 * WINDOW
    for number in range(count):
        session.dialog(f"m{number}")
        if number % WINDOW == WINDOW - 1:
            session.commit()
    before = at.core.pages
    received: list[str] = []
    while more := session.receive("Answers"):
        received += more
        session.commit()
    assert received == [f"m{number}" for number in range(count)]
    assert at.core.pages - before <= 3 * 5
