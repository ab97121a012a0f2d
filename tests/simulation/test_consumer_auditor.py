"""The auditor of durable consumers must be able to say no, and yes to what is right."""

import pytest

from tests.simulation.consumer_auditor import ConsumerAuditor, Letter

A, B = (4, 1), (0, 1)
"""The places of the two messages that there are: the first has the higher priority."""


@pytest.fixture
def auditor() -> ConsumerAuditor:
    """Ann has consumer X open, and two messages are on their topic."""
    return opened(threshold=2)


def opened(threshold: int = 0, requeue: str = "B", requeue_max: int = 0) -> ConsumerAuditor:
    auditor = ConsumerAuditor(threshold, requeue, requeue_max)
    auditor.put(Letter("b", 0, hard=True), "")
    auditor.put(Letter("soft", 4, hard=False), "")
    auditor.put(Letter("a", 4, hard=True), "")
    auditor.copied()
    assert auditor.open("ann", "X", 10_000) == ("state", 1, 0, 0)
    return auditor


def test_a_batch_is_in_one_hand_until_it_is_consumed(auditor: ConsumerAuditor) -> None:
    assert auditor.claim("X", 5, 0) == ("state", 1, 0, 1)
    assert auditor.read("X", 1, 0, 1) == ("batches", [(1, [A, B], {})])
    assert auditor.listing()["Q"] == [("soft", 0)]
    assert auditor.get("Q", "") == ("soft", 0)
    assert auditor.get("Q", "") is None
    assert auditor.purge() == (0, 0)
    auditor.crashed(keeps_soft=False)
    auditor.open("bob", "X", 10_000)
    assert auditor.read("X", 1, 0, 1) == ("batches", [(1, [A, B], {})])
    assert auditor.consume("X", 1, 1) == ("state", 1, 1, 1)
    assert auditor.main.letters == []


@pytest.mark.parametrize("answer", [("state", 1, 0, 0), ("state", 2, 0, 1), ("refused", "NO")])
def test_what_is_not_due_is_refused(auditor: ConsumerAuditor, answer: object) -> None:
    with pytest.raises(AssertionError, match="due is"):
        auditor.check(auditor.claim("X", 5, 0), answer, "claim")


def test_what_is_not_copied_waits_with_all_that_lies_behind_it(auditor: ConsumerAuditor) -> None:
    auditor.main.letters[1].copied = False
    auditor.put(Letter("c", 4, hard=True), "")
    auditor.main.letters[2].copied = True
    auditor.claim("X", 5, 0)
    assert auditor.read("X", 1, 0, 1) == ("batches", [(1, [B], {})])


def test_who_stays_away_loses_what_he_has(auditor: ConsumerAuditor) -> None:
    auditor.claim("X", 1, 0)
    auditor.read("X", 1, 0, 1)
    auditor.lost("ann")
    auditor.passes(9_999)
    assert ("a", 0) not in auditor.listing()["Q"]
    auditor.passes(10_000)
    assert auditor.listing()["Q"] == [("soft", 0), ("a", 1), ("b", 0)]
    assert auditor.open("bob", "X", 10_000) == ("state", 2, 1, 1)
    assert auditor.read("X", 1, 0, 1) == ("refused", "CLAIM_LOST")
    assert auditor.consume("X", 1, 1) == ("refused", "CLAIM_LOST")
    auditor.claim("X", 1, 1)
    assert auditor.read("X", 2, 1, 2) == ("batches", [(2, [A], {A: 1})])


def test_what_may_be_done_comes_back_uncounted(auditor: ConsumerAuditor) -> None:
    assert auditor.claim("X", 1, 0, only_ask=True) == ("state", 1, 0, 1)
    assert auditor.read("X", 1, 0, 1, 1) == ("batches", [(1, [A], {})])
    auditor.close("X")
    auditor.passes(10_000)
    assert auditor.listing()["Q"] == [("soft", 0), ("a", 0), ("b", 0)]


def test_what_spoils_a_batch_is_found_and_set_aside(auditor: ConsumerAuditor) -> None:
    auditor.claim("X", 2, 0)
    for number in (1, 2):
        for _ in range(2):
            assert auditor.read("X", 1, number - 1, number)[1][0][1], "it is handed out"
            auditor.lost("ann")
            auditor.open("ann", "X", 10_000)
        assert auditor.read("X", 1, number - 1, number) == ("batches", [(number, [], {})])
        auditor.claim("X", 2, number)
    assert auditor.listing() == {"Q": [("soft", 0)], "B": [("a", 0)]}


def test_another_consumer_and_the_bounds_of_batches(auditor: ConsumerAuditor) -> None:
    assert auditor.open("bob", "X", 10_000) == ("refused", "CONSUMER_IN_USE")
    assert auditor.read("X", 1, 0, 1) == ("refused", "BATCH_NOT_FOUND")
    auditor.open("bob", "Y", 10_000)
    auditor.claim("X", 1, 0)
    auditor.claim("Y", 5, 0)
    assert auditor.read("Y", 2, 0, 1) == ("batches", [(1, [B], {})])
    auditor.close("Y")
    assert auditor.delete("Y") == ("done", 1)
    assert auditor.listing()["Q"] == [("soft", 0), ("b", 0)]
