"""What is put on a dead-letter queue says why, where it was to go, and when that was."""

import pytest

import adapter
from adapter.services.dead_letter_header import NoDeadLetterQueue, dead_letter_queue, with_header

NOW_MS = 1_775_034_487_065  # 2026-04-01, 09:08:07.065


def test_the_header_says_everything_and_the_message_stays_as_it_is() -> None:
    message = adapter.Message(b"body", format="MQTRIG", priority=3, correlation_id=b"c" * 24)
    buried = with_header(
        message, 265, queue="INITQ", queue_manager="QM1", application="monitor", now_ms=NOW_MS
    )
    assert buried.dead_letter == adapter.DeadLetter(
        reason=265,
        destination="INITQ",
        destination_queue_manager="QM1",
        application_type=6,
        application="monitor",
        put_date="20260401",
        put_time="09080706",
    )
    assert (buried.body, buried.format, buried.feedback) == (b"body", "MQTRIG", 265)
    assert (buried.priority, buried.correlation_id) == (3, b"c" * 24)
    assert (message.dead_letter, message.feedback) == (None, 0)


def test_the_queue_manager_says_which_queue_it_is(qm: adapter.Connection) -> None:
    with pytest.raises(NoDeadLetterQueue, match=r"QM1 has no dead-letter queue: name one"):
        dead_letter_queue(qm)
    qm.alter_queue_manager(dead_letter_queue="DEAD")
    assert dead_letter_queue(qm) == "DEAD"


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_names_and_formats_that_have_no_room_are_cut(qm: adapter.Connection, letter: str) -> None:
    qm.define_queue("CUT")
    message = adapter.Message(b"body", format=letter * 9)
    told = {"queue": letter * 49, "queue_manager": letter * 49, "application": letter * 29}
    qm.put("CUT", with_header(message, 2085, **told, now_ms=NOW_MS))
    found = qm.get("CUT")
    assert found is not None
    assert found.dead_letter is not None
    header, size = found.dead_letter, len(letter.encode())
    assert header.destination == header.destination_queue_manager == letter * (48 // size)
    assert (header.application, header.format) == (letter * (28 // size), letter * (8 // size))
