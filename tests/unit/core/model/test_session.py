"""Session: outcomes kept until they are seen, and what the ledger is told of that."""

from adapter.core.contract.results import Done, PutDone
from adapter.core.model.session import UNIT_RANGES_MAX, Session


def test_an_outcome_is_kept_until_it_is_seen() -> None:
    session = Session(b"s", 0)
    session.record(1, Done(1), written=True)
    session.record(2, PutDone([], 0))
    assert session.issued == 2
    assert session.outcomes == {1: Done(1), 2: PutDone([], 0)}
    session.acknowledge([1])
    assert session.outcomes == {2: PutDone([], 0)}


def test_the_ledger_is_told_only_of_what_it_holds() -> None:
    session = Session(b"s", 0)
    session.record(1, Done(), written=True)
    session.record(2, Done())
    session.acknowledge([1, 2])
    assert session.seen == [1]


def test_numbers_that_have_no_outcome_are_not_passed_on() -> None:
    """What a client claims to have seen must neither pile up nor reach the ledger."""
    session = Session(b"s", 0)
    session.record(1, Done(), written=True)
    session.acknowledge([1, 1, 2**64, -5, 99])
    assert session.seen == [1]


def test_what_the_ledger_was_told_is_not_told_again() -> None:
    session = Session(b"s", 0)
    for number in (1, 2, 3):
        session.record(number, Done(), written=True)
    session.acknowledge([1, 2])
    session.told([1])
    assert session.seen == [2]
    assert list(session.outcomes) == [3]


def test_a_replayed_session_drops_what_was_seen() -> None:
    session = Session(b"s", 0)
    session.record(1, Done(), written=True)
    session.told([1])
    session.record(2, Done(), written=True)
    assert list(session.outcomes) == [2]
    assert session.seen == []
    assert session.written == {2}


def test_committed_units_are_remembered() -> None:
    session = Session(b"s", 0)
    session.unit_committed(5)
    assert session.is_committed(5) is True
    assert session.is_committed(4) is False
    assert session.is_committed(6) is False


def test_with_too_many_gaps_the_oldest_units_are_forgotten() -> None:
    session = Session(b"s", 0)
    for number in range(0, 2 * (UNIT_RANGES_MAX + 2), 2):
        session.unit_committed(number)
    assert session.is_committed(0) is None
    assert session.is_committed(1) is None
    assert session.is_committed(2) is None
    assert session.is_committed(3) is False
    assert session.is_committed(4) is True


def test_a_late_commit_brings_no_forgotten_unit_back() -> None:
    session = Session(b"s", 0)
    for number in range(100, 100 + 2 * (UNIT_RANGES_MAX + 2), 2):
        session.unit_committed(number)
    assert session.is_committed(101) is None
    session.unit_committed(5)
    assert session.is_committed(101) is None, "it may have been committed, who knows"
