"""The rule of which records count, against a second, slower implementation of the same sentence."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.ledger.envelope import ENTRY, OWNER_CHANGED, Envelope, NewerVersion, encode
from adapter.ledger.validity import Validity, Verdict

A, B, C = (bytes([letter]) * 16 for letter in b"ABC")

records = st.builds(
    Envelope,
    st.sampled_from([OWNER_CHANGED, ENTRY, ENTRY, ENTRY]),
    st.sampled_from([A, B, C]),
    st.integers(0, 5),
    st.just(b""),
)


def orderly(owners: list[int]) -> list[Envelope]:
    """A log where each owner in turn writes so many entries."""
    log: list[Envelope] = []
    for index, count in enumerate(owners):
        owner = bytes([index]) * 16
        log.append(Envelope(OWNER_CHANGED, owner, 0, b""))
        log += [Envelope(ENTRY, owner, n, b"") for n in range(1, count + 1)]
    return log


def verdict_by_the_book(log: list[Envelope], index: int) -> Verdict:
    """Judge one record by looking back over the whole log, as the sentence is worded."""
    record = log[index]
    if record.kind == OWNER_CHANGED and record.n != 0:
        return Verdict.CORRUPT
    changes = changes_by_the_book(log, index)
    owner = log[changes[-1]].owner if changes else None
    if record.kind == OWNER_CHANGED:
        return Verdict.DUPLICATE if record.owner == owner else Verdict.OWNER_CHANGED
    if record.owner != owner:
        return Verdict.VOID
    own = [one.n for one in log[changes[-1] : index] if (one.kind, one.owner) == (ENTRY, owner)]
    reached = 0
    for n in own:
        if n > reached + 1:
            return Verdict.DUPLICATE if record.n <= reached else Verdict.VOID
        reached = max(reached, n)
    if record.n <= reached:
        return Verdict.DUPLICATE
    return Verdict.VALID if record.n == reached + 1 else Verdict.VOID


def changes_by_the_book(log: list[Envelope], index: int) -> list[int]:
    """The places before index where the owner really changed."""
    found: list[int] = []
    for place, record in enumerate(log[:index]):
        is_change = record.kind == OWNER_CHANGED and record.n == 0
        if is_change and (not found or log[found[-1]].owner != record.owner):
            found.append(place)
    return found


@given(st.lists(records, max_size=30))
def test_the_rule_as_worded(log: list[Envelope]) -> None:
    validity = Validity()
    verdicts = [validity.judge(record) for record in log]
    assert verdicts == [verdict_by_the_book(log, index) for index in range(len(log))]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_a_disturbed_log(owners: list[int], random: Random) -> None:
    log = orderly(owners)
    log.pop(random.randrange(len(log)))
    log.insert(random.randrange(len(log) + 1), random.choice(log))
    validity = Validity()
    verdicts = [validity.judge(record) for record in log]
    assert verdicts == [verdict_by_the_book(log, index) for index in range(len(log))]


@given(st.lists(st.integers(0, 9), max_size=5))
def test_an_orderly_log_is_valid_throughout(owners: list[int]) -> None:
    validity = Validity()
    verdicts = {validity.judge(record) for record in orderly(owners)}
    assert verdicts <= {Verdict.VALID, Verdict.OWNER_CHANGED}


@given(st.lists(records, max_size=20), st.lists(records, max_size=20))
def test_resuming_after_a_valid_record_changes_nothing(
    before: list[Envelope], after: list[Envelope]
) -> None:
    straight = Validity()
    verdicts = [straight.judge(record) for record in before]
    if not verdicts or verdicts[-1] is not Verdict.VALID:
        return
    resumed = Validity.at(before[-1].owner, before[-1].n)
    for record in after:
        assert resumed.judge(record) is straight.judge(record)


def test_a_skip_voids_only_that_owner() -> None:
    validity = Validity()
    log = [
        (OWNER_CHANGED, A, 0, Verdict.OWNER_CHANGED),
        (ENTRY, A, 1, Verdict.VALID),
        (ENTRY, A, 3, Verdict.VOID),
        (ENTRY, A, 2, Verdict.VOID),
        (ENTRY, A, 1, Verdict.DUPLICATE),
        (OWNER_CHANGED, A, 0, Verdict.DUPLICATE),
        (ENTRY, A, 2, Verdict.VOID),
        (OWNER_CHANGED, B, 0, Verdict.OWNER_CHANGED),
        (ENTRY, A, 2, Verdict.VOID),
        (ENTRY, B, 1, Verdict.VALID),
    ]
    assert [validity.judge(Envelope(k, o, n, b"")) for k, o, n, _ in log] == [v for *_, v in log]


def test_bytes_that_are_no_record_change_nothing() -> None:
    validity = Validity.at(A, 1)
    assert validity.judge_value(b"text") == (Verdict.CORRUPT, None)
    assert validity.judge_value(None) == (Verdict.CORRUPT, None)
    assert validity.judge_value(encode(ENTRY, A, 2, b""))[0] is Verdict.VALID


def test_a_newer_versions_record_is_not_judged() -> None:
    with pytest.raises(NewerVersion):
        Validity().judge_value(b"\x02" + encode(ENTRY, A, 2, b"")[1:])
