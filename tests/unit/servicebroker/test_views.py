"""SELECT shows all rows, however many answers they take."""

import pytest

from adapter.servicebroker import DEFAULT
from adapter.servicebroker.inspection import raw
from tests.support.broker_site import EXPENSES, broker_site

LONG = 100_000
MANY = 700
"""More rows than one answer has."""


def test_browse_shows_more_bytes_than_one_answer_takes() -> None:
    with broker_site() as at:
        for number in range(60):
            at.submit(bytes([number]) * LONG)
        bodies = [row.message_body for row in at.admin.browse(EXPENSES)]
        assert bodies == [bytes([number]) * LONG for number in range(60)]


def test_browse_shows_more_retained_rows_than_one_answer_has() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, retention=True)
        handle = at.submit(*(f"old {number}" for number in range(MANY)))
        assert len(at.program.receive(EXPENSES)) == MANY
        with at.form.transaction() as t:
            for number in range(MANY):
                t.send(handle, body=f"new {number}")
        rows = at.admin.browse(EXPENSES)
        assert [row.status for row in rows] == [1] * MANY + [0] * MANY
        assert [row.text for row in rows[:MANY]] == [f"new {number}" for number in range(MANY)]
        assert [row.text for row in rows[MANY:]] == [f"old {number}" for number in range(MANY)]


def test_endpoints_are_listed_once_each_while_others_come_and_go() -> None:
    with broker_site() as at:
        for _ in range(MANY // 2):
            at.submit("one")
        endpoints = at.admin.conversation_endpoints()
        assert len({one.conversation_handle for one in endpoints}) == len(endpoints) == MANY
        listed = at.admin._all("endpoints")
        first = next(listed)
        gone = max(one.conversation_handle.hex for one in endpoints)
        at.admin.end_conversation(gone, cleanup=True)
        assert len([first, *listed]) == MANY - 1


def test_what_is_in_transmission_is_shown_whole() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, status=False)
        handle = at.form.begin_dialog("//expenses/Submission", "//expenses/Approval")
        for first in range(0, 3 * MANY, MANY):
            with at.form.transaction() as t:
                for number in range(first, first + MANY):
                    t.send(handle, message_type=DEFAULT, body=str(number))
        rows = at.admin.transmission_queue()
        assert [row.message_sequence_number for row in rows] == list(range(3 * MANY))


def test_a_long_body_in_transmission_is_left_out_and_its_length_is_shown() -> None:
    with broker_site() as at:
        at.admin.alter_queue(EXPENSES, status=False)
        at.submit(None, b"x" * 8_000, b"x" * 8_001)
        rows = at.admin.transmission_queue()
        assert [row.message_body_length for row in rows] == [0, 8_000, 8_001]
        assert [row.message_body for row in rows] == [None, b"x" * 8_000, None]


@pytest.mark.parametrize("digits", ["0102", "004e014e", "e29059bb9922"])
def test_finding_servicebroker_d7_bytes_that_happen_to_be_letters(digits: str) -> None:
    assert raw(bytes.fromhex(digits)).startswith(f"0x{digits.upper()}")
    assert raw("Größe 7".encode("utf-16-le")) == "Größe 7"
    assert raw(b"plain") == "plain"
