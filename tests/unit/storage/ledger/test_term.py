"""Which delivery reports may be promised, and what ends a term."""

import pytest

from adapter.storage.ledger.envelope import (
    ENTRY,
    OWNER_CHANGED,
    RecordNumber,
    encode,
    encode_change,
    encode_entry,
)
from adapter.storage.ledger.port import Deposed, Position
from adapter.storage.ledger.term import Term

ME, RIVAL = b"m" * 16, b"r" * 16


@pytest.fixture
def term() -> Term:
    """A term that began at offset 10 and whose n 1 lies at offset 11."""
    term = Term("the ledger", ME, 10)
    assert term.follows(RecordNumber(1), 11)
    return term


def mine(n: int) -> bytes:
    return encode(ENTRY, ME, n, b"")


def test_reports_that_follow_are_promised_without_reading(term: Term) -> None:
    assert all(term.follows(RecordNumber(n), 10 + n) for n in range(2, 50))
    assert (term.durable_n, term.next_offset) == (49, 60)


@pytest.mark.parametrize(("n", "offset"), [(2, 13), (3, 12), (1, 11), (2, 11), (3, 13)])
def test_anything_else_must_be_judged(term: Term, n: int, offset: int) -> None:
    assert not term.follows(RecordNumber(n), offset)
    assert term.durable_n == 1


@pytest.mark.parametrize(
    "between",
    [
        [mine(1)],
        [encode(ENTRY, RIVAL, 7, b"")],
        [encode(OWNER_CHANGED, ME, 0, b"")],
        [b"text", None],
        [mine(2)],
    ],
    ids=[
        "duplicate",
        "a deposed owner's",
        "our own change again",
        "other programs'",
        "written twice",
    ],
)
def test_a_gap_of_void_records_is_passed(term: Term, between: list[bytes | None]) -> None:
    offset = 12 + len(between)
    assert not term.follows(RecordNumber(2), offset)
    assert term.gap(offset) == range(12, offset + 1)
    assert term.judge_gap(RecordNumber(2), offset, [*between, mine(2)]) == ""
    assert term.follows(RecordNumber(3), offset + 1)


def test_a_rivals_change_deposes(term: Term) -> None:
    change = encode(OWNER_CHANGED, RIVAL, 0, b"the rival")
    doubt = term.judge_gap(RecordNumber(2), 13, [change, mine(2)])
    assert isinstance(doubt, Deposed)
    assert "the rival" in doubt
    assert "offset 12" in doubt
    assert term.durable_n == 1


def test_a_change_behind_ours_deposes_even_if_the_entry_lies_before_it(term: Term) -> None:
    """The report is of a copy behind the change; the next term finds the first one valid."""
    change = encode(OWNER_CHANGED, RIVAL, 0, b"the rival")
    assert isinstance(term.judge_gap(RecordNumber(2), 14, [mine(2), change, mine(2)]), Deposed)
    assert term.durable_n == 1


def test_a_change_that_replaces_another_owner_is_passed(term: Term) -> None:
    """As an attempt of our own is that was given up, and is written late."""
    late = encode_change(b"e" * 16, b"d" * 16, b"me")
    assert term.judge_gap(RecordNumber(2), 13, [late, mine(2)]) == ""


@pytest.mark.parametrize(
    ("n", "offset", "values"),
    [
        (3, 12, [mine(3)]),  # n 2 was rejected
        (2, 13, [mine(3), mine(2)]),  # behind a hole
        (2, 9, []),  # before our own change: another topic
        (2, 13, [b"text"]),  # read less than was reported
        (3, 13, [mine(3), mine(2)]),
    ],
)
def test_a_hole_or_an_impossible_report_is_a_doubt(
    term: Term, n: int, offset: int, values: list[bytes | None]
) -> None:
    doubt = term.judge_gap(RecordNumber(n), offset, values)
    assert f"entry n {n} was reported at offset {offset}" in doubt
    assert term.durable_n == 1


def test_a_newer_versions_record_is_a_doubt(term: Term) -> None:
    doubt = term.judge_gap(RecordNumber(2), 13, [b"\x1e" + mine(5)[1:], mine(2)])
    assert "offset 12" in doubt
    assert "newer mqk" in doubt


def test_an_entry_may_be_promised_when_its_last_part_is_durable() -> None:
    term = Term("topic", ME, 10)
    steps = [RecordNumber(1, part, 3) for part in range(3)]
    assert [term.follows(step, 11 + step.part) for step in steps[:2]] == [True, True]
    assert (term.durable_n, term.at.n) == (0, 0)
    assert term.follows(steps[2], 13)
    assert (term.durable_n, term.at) == (1, Position(13, ME, 1))
    assert term.follows(RecordNumber(2), 14)


def test_a_part_that_is_missing_is_never_promised() -> None:
    term = Term("topic", ME, 10)
    first, second, third = encode_entry(ME, 1, b"abcde", part_bytes=2)
    assert term.follows(RecordNumber(1, 0, 3), 11)
    assert not term.follows(RecordNumber(1, 2, 3), 12)
    assert "something else" in term.judge_gap(RecordNumber(1, 2, 3), 12, [third])
    late = Term("topic", ME, 10)
    assert late.judge_gap(RecordNumber(1, 2, 3), 14, [first, second, first, third]) == ""
    assert (late.durable_n, late.next_offset) == (1, 15)


def test_a_gap_between_the_parts_of_an_entry() -> None:
    term = Term("topic", ME, 10)
    first, second, _ = encode_entry(ME, 1, b"abcde", part_bytes=2)
    assert term.follows(RecordNumber(1, 0, 3), 11)
    assert term.judge_gap(RecordNumber(1, 1, 3), 13, [first, second]) == ""
    assert (term.durable_n, term.parts) == (0, 2)
    assert term.follows(RecordNumber(1, 2, 3), 14)
