"""Signs of life in a sealed ledger: another writer's records say nothing, however many they are."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.storage.ledger import signs
from adapter.storage.ledger.envelope import ENTRY, NEWER_VERSIONS, encode, encode_change, seal_of
from adapter.storage.ledger.port import LastRecord
from adapter.storage.ledger.signs import WINDOWS, Seen, find_last_record
from adapter.storage.ledger.validity import Validity, Verdict
from tests.unit.storage.ledger.test_seals import (
    KEYS,
    LEDGER,
    A,
    C,
    K,
    Writing,
    forge,
    histories,
    seals,
)

ALL_KEYS = seals(*KEYS)


def last_of(values: list[bytes], first: int = 0) -> LastRecord | None:
    def read(start: int, end: int) -> list[Seen]:
        return [Seen(at, 1_000 + at, values[at]) for at in range(start, end)]

    return find_last_record(LEDGER, first, len(values), read, ALL_KEYS)


def is_genuine(value: bytes) -> bool:
    seal = seal_of(value)
    return seal is not None and ALL_KEYS.is_genuine(seal)


def last_valid(values: list[bytes]) -> int:
    """Return the offset of the last record that counts, by the rule of validity."""
    validity, last = Validity(ALL_KEYS), -1
    for at, value in enumerate(values):
        if validity.judge_value(value)[0] in (Verdict.VALID, Verdict.PART, Verdict.OWNER_CHANGED):
            last = at
    return last


@given(histories, st.integers(0, 2**32), st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_forged_records_hide_no_sign_and_are_none(
    told: Writing, seed: int, runs: list[int]
) -> None:
    """Runs of them, shorter and longer than what is looked at in one go, anywhere behind the first
    seal, and in a ledger that was trimmed up to any genuine record behind that."""
    random = Random(seed)
    values, sealed = list(told.values), told.first_sealed
    for count in runs:
        at = random.randint(sealed + 1, len(values))
        made = (forge(random, values) for _ in range(count))
        values[at:at] = [one for one in made if not is_genuine(one)]
    last = last_valid(values)
    assert is_genuine(values[last])
    trimmed = [at for at in range(sealed, last + 1) if is_genuine(values[at])]
    with patch.object(signs, "WINDOWS", (2, 4, 8)):
        for first in (0, random.choice(trimmed)):
            found = last_of(values, first)
            assert found is not None
            assert found.time_ms == 1_000 + last


@pytest.mark.parametrize(
    "forged",
    [
        bytes((NEWER_VERSIONS[0],)) + b"x" * 40,
        encode(ENTRY, C, 7, b"forged"),
        encode_change(C, A, b"forged"),
        b"no record of a ledger",
    ],
)
def test_more_forged_records_than_are_looked_at_in_one_go(forged: bytes) -> None:
    told = Writing()
    told.take_over(A, seals(K))
    for n in range(20):
        told.append(b"%d" % n, seals(K))
    last = len(told.values) - 1
    values = [*told.values, *[forged] * (2 * WINDOWS[-1] + 100)]
    assert last_of(values) == LastRecord(A, 1_000 + last, b"19")


def test_with_keys_a_ledger_without_any_seal_says_what_it_does_without_keys() -> None:
    """As at the first start with keys."""
    told = Writing()
    told.take_over(A, seals())
    for n in range(WINDOWS[-1] + 300):
        told.append(b"%d" % n, seals())
    last = len(told.values) - 1
    assert last_of(told.values) == LastRecord(A, 1_000 + last, b"%d" % (WINDOWS[-1] + 299))


@pytest.mark.parametrize("behind", [3, 300, WINDOWS[-1] + 300])
def test_where_the_sealing_has_ended_records_without_a_seal_count(behind: int) -> None:
    told = Writing()
    told.take_over(A, seals(K))
    for n in range(30):
        told.append(b"%d" % n, seals(K))
    told.take_over(C, seals(K, on=False))
    for n in range(behind):
        told.append(b"%d" % n, seals())
    last = len(told.values) - 1
    assert last_of(told.values) == LastRecord(C, 1_000 + last, b"%d" % (behind - 1))
