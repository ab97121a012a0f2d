"""Progress as it is written, and as a mover starts that has none."""

import msgspec
import pytest

from adapter.storage.format import progress
from adapter.storage.format.progress import NOWHERE, CopyProgress, Parked
from adapter.storage.format.schemas import Codec, UnreadableError


def test_it_is_read_as_it_was_written() -> None:
    one = CopyProgress(
        offset=2**40, owner=b"o" * 16, n=7, copied=2**50, records=3, incarnations={"Ä": 2},
        parked={"mq.QM1.q.A": Parked(5, b"p" * 16, 4, 3, 2, 1, "no such topic", True)},
    )  # fmt: skip
    assert progress.decode(progress.encode(one)) == one


def test_before_the_first_entry_there_may_be_records_that_are_copied() -> None:
    """An entry is copied in parts if it is wide."""
    one = CopyProgress(records=3, copied=30)
    assert progress.decode(progress.encode(one)).offset == NOWHERE


def test_a_new_one_shares_nothing() -> None:
    one = CopyProgress()
    one.incarnations["A"] = 1
    assert CopyProgress().incarnations == {}


def test_other_bytes_are_refused() -> None:
    with pytest.raises(UnreadableError):
        progress.decode(b"")
    with pytest.raises(UnreadableError):
        progress.decode(progress.encode(CopyProgress())[:9])


def test_progress_of_the_first_version_is_read() -> None:
    """A mover of a new release goes on from what the old one has written."""
    old = Codec("progress.1").encode(
        {
            "offset": 5,
            "owner": b"o" * 16,
            "n": 4,
            "copied": 3,
            "records": 2,
            "incarnations": {"A": 1},
        }
    )
    assert progress.decode(old) == CopyProgress(5, b"o" * 16, 4, 3, 2, {"A": 1})


def test_progress_of_the_second_version_is_read() -> None:
    one = CopyProgress(5, b"o" * 16, 4, parked={"T": Parked(3, b"p" * 16, 2, why="no")})
    value = msgspec.to_builtins(one, builtin_types=(bytes,))
    del value["parked"]["T"]["unwritten"]
    assert progress.decode(b"\x02" + Codec("progress.2").encode(value)[1:]) == one


def test_progress_of_the_third_version_is_read() -> None:
    parked = Parked(3, b"p" * 16, 2, why="no", unwritten=True, defined=False)
    one = CopyProgress(5, b"o" * 16, 4, parked={"T": parked})
    value = msgspec.to_builtins(one, builtin_types=(bytes,))
    del value["parked"]["T"]["deleted"]
    assert progress.decode(b"\x03" + Codec("progress.3").encode(value)[1:]) == one
