"""What the report options of a message say of the ids of its answers."""

import pytest

from adapter.core.contract.answers import (
    DISCARD,
    PASS_CORRELATION_ID,
    PASS_DISCARD_AND_EXPIRY,
    PASS_MESSAGE_ID,
    ids_of_answer,
)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (0, (b"", b"own")),
        (DISCARD | PASS_DISCARD_AND_EXPIRY, (b"", b"own")),
        (PASS_MESSAGE_ID, (b"own", b"own")),
        (PASS_CORRELATION_ID, (b"", b"theirs")),
        (PASS_MESSAGE_ID | PASS_CORRELATION_ID, (b"own", b"theirs")),
    ],
)
def test_the_ids_are_as_the_options_say(report: int, expected: tuple[bytes, bytes]) -> None:
    assert ids_of_answer(report, b"own", b"theirs") == expected
