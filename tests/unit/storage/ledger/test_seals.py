"""Which records of a sealed ledger count: whatever a writer without a key adds changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from adapter.storage.ledger.envelope import (
    ENTRY,
    KEY_ID_BYTES,
    NEWER_VERSIONS,
    NO_KEY,
    NOBODY,
    SEAL_BYTES,
    NewerVersion,
    UnknownKey,
    decode,
    encode,
    encode_change,
    encode_entry,
    encode_keyed_change,
    put_seal,
    seal_of,
)
from adapter.storage.ledger.port import Entry, LedgerMismatch, Position
from adapter.storage.ledger.scan import Scan
from adapter.storage.ledger.seals import SealKeys, Seals, id_of
from adapter.storage.ledger.signs import Seen, find_last_record, probe
from adapter.storage.ledger.validity import Validity, Verdict
from tests.unit.storage.ledger.test_signs import seen

LEDGER = "mq.QM1.ledger"
KEYS = tuple(bytes([number]) * 32 for number in range(3))
K, L, M = KEYS
A, B, C, D = (bytes([letter]) * 16 for letter in b"ABCD")
FORGED = {Verdict.FORGED, Verdict.VOID, Verdict.DUPLICATE}


def seals(*keys: bytes, on: bool = True, ledger: str = LEDGER) -> Seals:
    return Seals(ledger, SealKeys(keys, on))


class Writing(Struct):
    """A ledger as its owners write it. first_sealed: the offset of the first sealed record."""

    values: list[bytes] = []
    owner: bytes = NOBODY
    key: bytes = NO_KEY
    n: int = 0
    first_sealed: int = -1

    def take_over(self, owner: bytes, with_seals: Seals) -> None:
        """Let an owner take over from the one in force."""
        self.values.append(with_seals.change(owner, self.owner, self.key, b"who"))
        if self.first_sealed < 0 and seal_of(self.values[-1]):
            self.first_sealed = len(self.values) - 1
        self.owner, self.key, self.n = owner, with_seals.begins_with, 0

    def append(self, payload: bytes, with_seals: Seals, part_bytes: int = 8) -> None:
        """Let it append an entry, in parts if it is long."""
        self.n += 1
        for record in encode_entry(self.owner, self.n, payload, part_bytes):
            self.values.append(with_seals.seal(self.key, record))


def history(terms: list[tuple[int, int]], *, on: bool = True) -> Writing:
    """Write a ledger: an unsealed term, and one for each (number of a key, entries)."""
    told = Writing()
    told.take_over(b"0" * 16, seals())
    told.append(b"in the open", seals())
    for number, (key, entries) in enumerate(terms, 1):
        own = seals(KEYS[key], *(one for one in KEYS if one != KEYS[key]), on=on or not number)
        told.take_over(bytes([number]) * 16, own)
        for at in range(entries):
            told.append(b"x" * (7 * at), own)
    return told


def judge(values: list[bytes], keys: Seals | None = None) -> list[Verdict]:
    validity = Validity(keys or seals(*KEYS))
    return [validity.judge_value(value)[0] for value in values]


def read(
    values: list[bytes], after: Position | None = None, keys: Seals | None = None
) -> list[Entry]:
    scan = Scan(LEDGER, after, keys or seals(*KEYS))
    start = after.offset if after else 0
    taken = (scan.take(at, 0, value) for at, value in enumerate(values[start:], start))
    return [one for one in taken if one is not None]


histories = st.builds(
    history, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=3)
)
KEY_IDS = [*map(id_of, KEYS), b"no such!"]


def forge(random: Random, values: list[bytes]) -> bytes:
    """Make something that can be made without a key, from all that is in the ledger so far."""
    real = random.choice(values)
    owner, other = (bytes([random.randrange(5)]) * 16 for _ in range(2))
    record = random.choice(
        [
            encode(ENTRY, owner, random.randint(1, 5), b"forged"),
            encode_change(owner, other, b"forged"),
            encode_keyed_change(owner, other, random.choice(KEY_IDS), b"forged"),
            encode_keyed_change(owner, other, NO_KEY, b"forged"),
            bytes((NEWER_VERSIONS[-1],)) + real[1:],
            random.randbytes(random.randrange(60)),
        ]
    )
    one = seal_of(real)
    made_up = put_seal(random.choice(KEY_IDS), one.seal if one else b"s" * SEAL_BYTES, record)
    return random.choice([record, made_up, made_up, real])


randoms = st.randoms(use_true_random=False)


@given(histories, randoms)
def test_nothing_that_is_written_without_a_key_counts(told: Writing, random: Random) -> None:
    values = list(told.values)
    for _ in range(random.randint(1, 4)):
        at = random.randint(told.first_sealed + 1, len(values))
        values.insert(at, forge(random, values[:at]))
        assert judge(values)[at] in FORGED
    found, wanted = read(values), read(told.values)
    assert [one.payload for one in found] == [one.payload for one in wanted]
    assert [(one.owner, one.n) for one in found] == [(one.owner, one.n) for one in wanted]


@given(histories, randoms)
def test_a_reader_that_resumes_sees_the_same(told: Writing, random: Random) -> None:
    """As behind a snapshot: the record where it resumes says by which key it is sealed."""
    values = [*told.values]
    values.insert(random.randint(told.first_sealed + 1, len(values)), b"no seal")
    verdicts = judge(values)
    counts = (Verdict.VALID, Verdict.OWNER_CHANGED)
    offset = random.choice([at for at, one in enumerate(verdicts) if one in counts])
    found = decode(values[offset])
    after = Position(offset, found.owner, found.n)
    assert read(values, after) == [one for one in read(values) if one.offset > offset]


def two_terms() -> Writing:
    """An open term, and one that is sealed with K."""
    return history([(0, 2)])


def test_a_ledger_is_sealed_from_the_change_of_its_first_sealing_owner_on() -> None:
    told = two_terms()
    late = encode(ENTRY, b"0" * 16, 2, b"of the owner before")
    assert judge([*told.values, late])[-1] is Verdict.FORGED
    before = told.values[: told.first_sealed]
    assert judge([*before, late])[-1] is Verdict.VALID


def test_the_sealing_ends_by_a_sealed_change() -> None:
    told = two_terms()
    told.take_over(B, seals(K, L, on=False))
    told.append(b"open", seals(K, L, on=False))
    assert seal_of(told.values[-2]) is not None
    assert seal_of(told.values[-1]) is None
    late = seals(K).seal(id_of(K), encode(ENTRY, bytes([1]) * 16, 3, b"of the owner before"))
    verdicts = judge([*told.values, late])
    assert verdicts[-3:] == [Verdict.OWNER_CHANGED, Verdict.VALID, Verdict.VOID]
    after = Position(len(told.values) - 1, B, 1)
    told.append(b"more", seals())
    scan = Scan(LEDGER, after)  # without a key
    for at, value in enumerate([*told.values[-2:], late], after.offset):
        scan.take(at, 0, value)
    assert scan.met[Verdict.VALID] == 1
    told.take_over(C, seals(L))
    told.append(b"again", seals(L))
    assert judge(told.values)[-2:] == [Verdict.OWNER_CHANGED, Verdict.VALID]


def test_an_unsealed_change_does_not_end_the_sealing() -> None:
    told = two_terms()
    for forged in (
        encode_change(B, bytes([1]) * 16, b"who"),
        encode_keyed_change(B, bytes([1]) * 16, NO_KEY, b"who"),
        encode_keyed_change(B, bytes([1]) * 16, id_of(K), b"who"),
    ):
        assert judge([*told.values, forged])[-1] is Verdict.FORGED
        in_the_open = judge([*told.values[:2], forged])[-1]
        assert in_the_open in (Verdict.VOID, Verdict.CORRUPT)


def test_a_key_follows_another_by_a_change_that_both_know() -> None:
    told = two_terms()
    told.take_over(B, seals(L, K))
    told.append(b"new key", seals(L, K))
    assert seal_of(told.values[-2]).key_id == id_of(K)  # type: ignore[union-attr]
    assert seal_of(told.values[-1]).key_id == id_of(L)  # type: ignore[union-attr]
    late = seals(K).seal(id_of(K), encode(ENTRY, bytes([1]) * 16, 3, b"of the owner before"))
    assert judge([*told.values, late])[-1] is Verdict.VOID


@pytest.mark.parametrize(
    ("keys", "named"),
    [((), K), ((L,), K), ((K,), L)],
    ids=["no key", "the new key alone", "the old key alone"],
)
def test_a_reader_without_the_key_refuses(keys: tuple[bytes, ...], named: bytes) -> None:
    told = two_terms()
    told.take_over(B, seals(L, K))
    with pytest.raises(UnknownKey, match=f"key {id_of(named).hex()}.*set ledger_key_file"):
        judge(told.values, seals(*keys))
    with pytest.raises(LedgerMismatch, match="sealed with key"):
        read(told.values, None, seals(*keys))


def test_a_reader_that_resumes_without_the_key_refuses() -> None:
    told = two_terms()
    found = decode(told.values[-1])
    scan = Scan(LEDGER, Position(9, found.owner, found.n), seals(L))
    with pytest.raises(LedgerMismatch, match="at offset 9: the ledger is sealed with key"):
        scan.take(9, 0, told.values[-1])


def test_a_key_that_is_made_up_stops_no_reader() -> None:
    """Else a program that may write could keep a queue manager from starting."""
    told = two_terms()
    made_up = seals(M)
    forged = made_up.change(B, bytes([1]) * 16, id_of(M), b"who")
    assert judge([*told.values, forged], seals(K))[-1] is Verdict.FORGED


def test_a_later_release_is_told_from_a_forger() -> None:
    told = two_terms()
    later = bytes((NEWER_VERSIONS[0],)) + encode(ENTRY, A, 3, b"")[1:]
    assert judge([*told.values, later])[-1] is Verdict.FORGED
    with pytest.raises(NewerVersion, match="use the newer mqk"):
        judge([*told.values, seals(K).seal(id_of(K), later)])
    with pytest.raises(NewerVersion, match="use the newer mqk"):
        judge([*told.values[:2], put_seal(id_of(K), b"s" * 16, later)])


def test_a_record_of_another_ledger_is_forged() -> None:
    told = two_terms()
    record = encode(ENTRY, told.owner, told.n + 1, b"of QM2")
    own, other = seals(K), seals(K, ledger="mq.QM2.ledger")
    assert judge([*told.values, own.seal(id_of(K), record)])[-1] is Verdict.VALID
    assert judge([*told.values, other.seal(id_of(K), record)])[-1] is Verdict.FORGED


@pytest.mark.parametrize("at", range(26 + 16 + 9))
def test_every_byte_is_sealed(at: int) -> None:
    own = seals(K)
    record = encode_keyed_change(B, A, id_of(K), b"w")
    value = own.seal(id_of(K), record)
    assert len(record) == 26 + 16 + 9
    start = len(value) - len(record)
    changed = bytearray(value)
    changed[start + at] ^= 1
    one, other = seal_of(value), seal_of(bytes(changed))
    assert one is not None
    assert other is not None
    assert own.is_genuine(one)
    assert not own.is_genuine(other)


def test_a_probe_of_time_is_no_forgery() -> None:
    assert judge([*two_terms().values, probe(D)])[-1] is Verdict.VOID


def test_forged_records_are_counted_with_where_they_are() -> None:
    values = [*two_terms().values, b"one", b"two"]
    scan = Scan(LEDGER, None, seals(K))
    for at, value in enumerate(values):
        scan.take(at, 0, value)
    assert scan.forged is not None
    found = scan.forged
    assert (found.first, found.last, found.records) == (len(values) - 2, len(values) - 1, 2)


LONG_BEFORE = [b""] * 30
"""Records that say nothing, so many that they are not read at once."""


def signs_of(values: list[bytes], *, keys: Seals | None = None) -> bytes | None:
    return read_signs_of(values, keys)[0]


def read_signs_of(values: list[bytes], keys: Seals | None) -> tuple[bytes | None, int]:
    """Return what the last record says, and how often the log was read."""
    log = seen(*values)
    asked: list[int] = []

    def read(start: int, end: int) -> list[Seen]:
        asked.append(start)
        return log[start:end]

    found = find_last_record(LEDGER, 0, len(log), read, keys)
    return None if found is None else found.payload, len(asked)


@pytest.mark.parametrize("keys", [seals(K), None], ids=["with a key", "without"])
def test_no_sign_is_taken_from_a_forger(keys: Seals | None) -> None:
    told = Writing()
    told.take_over(A, seals())
    told.append(b"open", seals())
    assert signs_of(told.values, keys=keys) == b"open"
    told.take_over(B, seals(K))
    told.append(b"sealed", seals(K))
    forged: list[Callable[[], bytes]] = [
        lambda: encode(ENTRY, B, 2, b"forged"),
        lambda: encode_change(C, B, b"who"),
        lambda: bytes((NEWER_VERSIONS[0],)) + told.values[-1][1:],
        lambda: b"",
    ]
    values = [*told.values, *(make() for make in forged)]
    assert signs_of(values, keys=keys) == b"sealed"
    assert signs_of([*LONG_BEFORE, forged[0](), *values[-5:]], keys=keys) == b"sealed"
    told.take_over(C, seals(K, on=False))
    told.append(b"open", seals())
    assert signs_of(told.values, keys=keys) == b"open"
    assert signs_of([*told.values, told.values[3]], keys=keys) == b"open"


def test_with_keys_more_is_read_to_know_whether_the_ledger_is_sealed() -> None:
    unsealed = [*LONG_BEFORE, *(encode(ENTRY, A, n, b"open") for n in range(7, 7 + 16))]
    assert read_signs_of(unsealed, None) == (b"open", 1)
    assert read_signs_of(unsealed, seals(K)) == (b"open", 2)


def test_a_made_up_seal_is_no_sign() -> None:
    told = two_terms()
    forged = put_seal(id_of(K), b"s" * SEAL_BYTES, encode(ENTRY, told.owner, 9, b"forged"))
    assert signs_of([*told.values, forged], keys=seals(K)) != b"forged"


def test_an_id_says_nothing_of_its_key() -> None:
    assert len({id_of(key) for key in KEYS}) == len(KEYS)
    assert all(len(id_of(key)) == KEY_ID_BYTES for key in KEYS)
    shown = repr(SealKeys(KEYS))
    assert id_of(K).hex() in shown
    assert K.hex() not in shown
    assert repr(K) not in shown
