"""Progress as it is written, and as a mover starts that has none."""

import pytest

from adapter.format import progress
from adapter.format.progress import NOWHERE, Progress
from adapter.format.schemas import UnreadableError


def test_it_is_read_as_it_was_written() -> None:
    one = Progress(
        offset=2**40, owner=b"o" * 16, n=7, copied=2**50, records=3, incarnations={"Ä": 2}
    )
    assert progress.decode(progress.encode(one)) == one


def test_before_the_first_entry_there_may_be_records_that_are_copied() -> None:
    """An entry is copied in parts if it is wide."""
    one = Progress(records=3, copied=30)
    assert progress.decode(progress.encode(one)).offset == NOWHERE


def test_a_new_one_shares_nothing() -> None:
    one = Progress()
    one.incarnations["A"] = 1
    assert Progress().incarnations == {}


def test_other_bytes_are_refused() -> None:
    with pytest.raises(UnreadableError):
        progress.decode(b"")
    with pytest.raises(UnreadableError):
        progress.decode(progress.encode(Progress())[:9])
