"""The rule of which records count, against a second, slower implementation of the same sentence."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.storage.ledger.envelope import (
    ENTRY,
    OWNER_CHANGED,
    Envelope,
    NewerVersion,
    decode,
    encode,
    encode_change,
    encode_entry,
)
from adapter.storage.ledger.port import Position
from adapter.storage.ledger.scan import Scan
from adapter.storage.ledger.validity import Assembly, Validity, Verdict
from tests.support.examples import examples

A, B, C = (bytes([letter]) * 16 for letter in b"ABC")

records = st.builds(
    Envelope,
    st.sampled_from([OWNER_CHANGED, ENTRY, ENTRY, ENTRY]),
    st.sampled_from([A, B, C]),
    st.integers(0, 5),
    st.just(b""),
    replaces=st.sampled_from([None, None, b"", A, B, C]),
)
parts = st.integers(1, 3).flatmap(
    lambda count: st.builds(
        Envelope,
        st.just(ENTRY),
        st.sampled_from([A, A, B]),
        st.integers(1, 3),
        st.just(b""),
        st.integers(0, count - 1),
        st.just(count),
    )
)
any_records = st.one_of(records, parts)


def orderly(owners: list[int]) -> list[Envelope]:
    """A log where each owner in turn writes so many entries."""
    log: list[Envelope] = []
    for index, count in enumerate(owners):
        owner = bytes([index]) * 16
        log.append(Envelope(OWNER_CHANGED, owner, 0, b""))
        for n in range(1, count + 1):
            log += [Envelope(ENTRY, owner, n, b"", part, n) for part in range(n)]
    return log


def verdict_by_the_book(log: list[Envelope], index: int) -> Verdict:
    """Judge one record by looking back over the whole log, as the sentence is worded."""
    record = log[index]
    if record.kind == OWNER_CHANGED and record.n != 0:
        return Verdict.CORRUPT
    changes = changes_by_the_book(log, index)
    owner = log[changes[-1]].owner if changes else None
    if record.kind == OWNER_CHANGED:
        if record.owner == owner:
            return Verdict.DUPLICATE
        is_named = record.replaces is None or record.replaces == (owner or b"")
        return Verdict.OWNER_CHANGED if is_named else Verdict.VOID
    if record.owner != owner:
        return Verdict.VOID
    expected = (1, 0)
    for one in log[changes[-1] : index]:
        if (one.kind, one.owner) != (ENTRY, owner):
            continue
        if (one.n, one.part) > expected:
            return Verdict.DUPLICATE if (record.n, record.part) < expected else Verdict.VOID
        if (one.n, one.part) == expected:
            expected = (one.n + 1, 0) if one.part + 1 == one.parts else (one.n, one.part + 1)
    if (record.n, record.part) != expected:
        return Verdict.DUPLICATE if (record.n, record.part) < expected else Verdict.VOID
    return Verdict.VALID if record.part + 1 == record.parts else Verdict.PART


def changes_by_the_book(log: list[Envelope], index: int) -> list[int]:
    """The places before index where the owner really changed."""
    found: list[int] = []
    for place, record in enumerate(log[:index]):
        owner = log[found[-1]].owner if found else b""
        is_change = record.kind == OWNER_CHANGED and record.n == 0 and owner != record.owner
        if is_change and record.replaces in (None, owner):
            found.append(place)
    return found


@given(st.lists(any_records, max_size=30))
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
    assert verdicts <= {Verdict.VALID, Verdict.OWNER_CHANGED, Verdict.PART}


@given(st.lists(any_records, max_size=20), st.lists(any_records, max_size=20))
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


def test_finding_reliability_d2_a_change_that_replaces_who_is_replaced_already_is_void() -> None:
    validity = Validity()
    log = [
        (encode_change(A, b"", b"the first"), Verdict.OWNER_CHANGED),
        (encode_change(B, A, b"its successor"), Verdict.OWNER_CHANGED),
        (encode_change(C, A, b"the first, that was frozen"), Verdict.VOID),
        (encode(ENTRY, C, 1, b""), Verdict.VOID),
        (encode(ENTRY, B, 1, b""), Verdict.VALID),
        (encode_change(C, b"", b"one that saw nobody"), Verdict.VOID),
        (encode(OWNER_CHANGED, C, 0, b"of an earlier release"), Verdict.OWNER_CHANGED),
    ]
    assert [validity.judge_value(value)[0] for value, _ in log] == [one for _, one in log]


def test_a_trimmed_log_that_begins_with_a_change() -> None:
    change = encode_change(B, A, b"who")
    validity = Validity.of_trimmed(change)
    assert validity.judge_value(change)[0] is Verdict.OWNER_CHANGED
    assert validity.judge_value(encode(ENTRY, B, 1, b""))[0] is Verdict.VALID


def written(random: Random) -> list[bytes]:
    """A log of some owners, entries of some parts, and what failures leave between them."""
    log: list[bytes] = []
    owners = [A, B, C]
    for before, owner in zip([b"", *owners], owners, strict=False):
        log.append(encode_change(owner, before, b"who"))
        for n in range(1, random.randint(2, 5)):
            log += encode_entry(owner, n, b"x" * random.randrange(7), part_bytes=2)
            log += random.choices([b"text", *log], k=random.choice([0, 0, 1, 2]))
    return log


def judge_all(validity: Validity, log: list[bytes]) -> list[tuple[Verdict, bytes | None]]:
    """Judge the records of a log, and put entries together."""
    assembly, found = Assembly(), []
    for value in log:
        verdict, envelope = validity.judge_value(value)
        found.append((verdict, assembly.take(verdict, envelope)))
    return found


@pytest.mark.parametrize("seed", range(examples(100)))
def test_wherever_reading_begins_the_rest_is_the_same(seed: int) -> None:
    """At a position, within an entry, and at the first record of a log that was trimmed."""
    log = written(Random(seed))
    whole = judge_all(Validity(), log)
    for at, (verdict, _) in enumerate(whole):
        record = decode(log[at]) if log[at] != b"text" else None
        if record is None or verdict not in (Verdict.VALID, Verdict.PART, Verdict.OWNER_CHANGED):
            continue
        trimmed = judge_all(Validity.of_trimmed(log[at]), log[at:])
        end = next(
            (at + 1 + n for n, one in enumerate(whole[at:]) if one[0] is Verdict.VALID), len(log)
        )
        assert [one for one, _ in trimmed] == [one for one, _ in whole[at:]]
        assert trimmed[end - at :] == whole[end:]
        if record.part:
            assert not any(payload for _, payload in trimmed[: end - at]), "only a part is left"
        if verdict is Verdict.PART:
            resumed = Validity.at(record.owner, record.n - 1, record.part + 1)
        else:
            resumed = Validity.at(record.owner, record.n)
        assert [resumed.judge_value(value)[0] for value in log[at + 1 :]] == [
            one for one, _ in whole[at + 1 :]
        ]
        if verdict is Verdict.VALID:
            scan = Scan("t", Position(at, record.owner, record.n))
            read = [scan.take(n, 0, value) for n, value in enumerate(log[at:], at)][1:]
            assert [one and one.payload for one in read] == [
                payload if one is Verdict.VALID else None for one, payload in whole[at + 1 :]
            ]


def test_bytes_that_are_no_record_change_nothing() -> None:
    validity = Validity.at(A, 1)
    assert validity.judge_value(b"text") == (Verdict.CORRUPT, None)
    assert validity.judge_value(None) == (Verdict.CORRUPT, None)
    assert validity.judge_value(encode(ENTRY, A, 2, b""))[0] is Verdict.VALID


def test_a_newer_versions_record_is_not_judged() -> None:
    with pytest.raises(NewerVersion):
        Validity().judge_value(b"\x1e" + encode(ENTRY, A, 2, b"")[1:])


def test_a_long_entry_is_put_together_once_it_is_whole() -> None:
    validity, assembly = Validity(), Assembly()

    def take(value: bytes) -> bytes | None:
        return assembly.take(*validity.judge_value(value))

    assert take(encode(OWNER_CHANGED, A, 0, b"")) is None
    first, second, third = encode_entry(A, 1, b"abcde", part_bytes=2)
    assert [take(first), take(first), take(second), take(first), take(third)] == [
        None,
        None,
        None,
        None,
        b"abcde",
    ]
    assert take(encode(ENTRY, A, 2, b"short")) == b"short"


def test_a_long_entry_that_its_owner_did_not_finish_never_counts() -> None:
    validity, assembly = Validity(), Assembly()
    log = [
        encode(OWNER_CHANGED, A, 0, b""),
        *[*encode_entry(A, 1, b"abcde", part_bytes=2)][:2],
        encode(OWNER_CHANGED, B, 0, b""),
        *[*encode_entry(A, 1, b"abcde", part_bytes=2)][2:],
        *encode_entry(B, 1, b"xyz", part_bytes=2),
    ]
    payloads = [assembly.take(*validity.judge_value(value)) for value in log]
    assert [payload for payload in payloads if payload is not None] == [b"xyz"]


def test_an_entry_behind_an_unfinished_one_of_its_owner_is_void() -> None:
    validity = Validity.at(A, 0)
    log = [*[*encode_entry(A, 1, b"abcde", part_bytes=2)][:1], encode(ENTRY, A, 2, b"")]
    assert [validity.judge_value(value)[0] for value in log] == [Verdict.PART, Verdict.VOID]
    assert validity.judge_value(encode(ENTRY, A, 1, b""))[0] is Verdict.DUPLICATE
