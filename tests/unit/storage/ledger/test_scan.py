"""A pass over a log insists that nothing is missing and that it is the log it was."""

import pytest

from adapter.storage.ledger.envelope import ENTRY, OWNER_CHANGED, encode
from adapter.storage.ledger.port import LedgerMismatch, Position
from adapter.storage.ledger.scan import Scan
from adapter.storage.ledger.validity import Verdict

A, B = b"a" * 16, b"b" * 16


def test_entries_come_with_their_place() -> None:
    scan = Scan("the ledger")
    assert scan.take(0, 5, encode(OWNER_CHANGED, A, 0, b"")) is None
    entry = scan.take(1, 6, encode(ENTRY, A, 1, b"one"))
    assert entry is not None
    assert (entry.offset, entry.owner, entry.n, entry.time_ms) == (1, A, 1, 6)
    assert entry.payload == b"one"
    assert scan.take(2, 7, encode(ENTRY, A, 1, b"one")) is None
    assert scan.met[Verdict.DUPLICATE] == 1
    taken = scan.taken_over(3)
    assert (taken.offset, taken.entries, taken.last_owner, taken.last_n) == (3, 1, A, 1)


@pytest.mark.parametrize("offset", [0, 2, 7])
def test_a_record_that_is_missing_or_comes_twice_is_fatal(offset: int) -> None:
    scan = Scan("the ledger")
    scan.take(0, 0, encode(OWNER_CHANGED, A, 0, b""))
    with pytest.raises(LedgerMismatch, match=f"no record at offset 1; the next is {offset}"):
        scan.take(offset, 0, encode(ENTRY, A, 1, b""))


def test_a_position_is_confirmed_by_its_record() -> None:
    scan = Scan("the ledger", Position(7, A, 3))
    assert scan.take(7, 0, encode(ENTRY, A, 3, b"")) is None
    assert scan.take(8, 0, encode(ENTRY, A, 4, b"")) is not None


@pytest.mark.parametrize("value", [encode(ENTRY, A, 2, b""), encode(ENTRY, B, 3, b""), b"x", None])
def test_a_position_in_another_log_is_fatal(value: bytes | None) -> None:
    scan = Scan("the ledger", Position(7, A, 3))
    with pytest.raises(LedgerMismatch, match=r"not what was read there before.*saved position"):
        scan.take(7, 0, value)


@pytest.mark.parametrize(
    ("position", "first", "end", "why"),
    [
        (None, 0, 0, ""),
        (None, 0, 9, ""),
        (None, 1, 9, "begins at offset 1"),
        (Position(7, A, 3), 7, 8, ""),
        (Position(7, A, 3), 8, 9, "begins at offset 8"),
        (Position(7, A, 3), 0, 7, "ends at offset 7"),
        (Position(7, A, 3), 0, 0, "ends at offset 0"),
    ],
)
def test_bounds(position: Position | None, first: int, end: int, why: str) -> None:
    scan = Scan("the ledger", position)
    if not why:
        scan.check_bounds(first, end)
        return
    with pytest.raises(LedgerMismatch, match=why):
        scan.check_bounds(first, end)


def test_our_own_record_must_be_where_it_was_written() -> None:
    scan = Scan("the ledger")
    scan.require_own(4, A, encode(OWNER_CHANGED, A, 0, b"me"))
    for value in (encode(OWNER_CHANGED, B, 0, b""), encode(ENTRY, A, 1, b""), b"text", None):
        with pytest.raises(LedgerMismatch, match="does not hold at offset 4"):
            scan.require_own(4, A, value)


def test_an_entry_that_was_confirmed_must_be_in_it() -> None:
    scan = Scan("the ledger")
    scan.take(0, 0, encode(OWNER_CHANGED, A, 0, b""))
    scan.take(1, 0, encode(ENTRY, A, 1, b""))
    scan.require_confirmed(None)
    scan.require_confirmed(Position(0, A, 0))
    scan.require_confirmed(Position(1, A, 1))
    with pytest.raises(LedgerMismatch, match=r"it has n 1, and n 3 was at offset 3.*restore"):
        scan.require_confirmed(Position(3, A, 3))
    with pytest.raises(LedgerMismatch, match=r"it has no entry, and n 0 was at offset 7"):
        scan.require_confirmed(Position(7, B, 0))


def test_what_lies_before_a_known_position_need_not_be_in_it() -> None:
    scan = Scan("the ledger", Position(5, B, 2))
    scan.require_confirmed(Position(4, A, 9))
    scan.require_confirmed(Position(5, B, 2))
    with pytest.raises(LedgerMismatch, match="has lost entries"):
        scan.require_confirmed(Position(6, B, 3))
