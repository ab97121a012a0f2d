"""Signs of life: whose record is the last, and what is nobody's."""

from functools import partial

import pytest

from adapter.ledger.envelope import CHANGE_VERSION, ENTRY, OWNER_CHANGED, encode, encode_change
from adapter.ledger.port import LastRecord, LedgerMismatch
from adapter.ledger.signs import Seen, announcement, find_last_record, last_record, probe
from adapter.ledger.validity import Validity, Verdict

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def seen(*values: bytes | None) -> list[Seen]:
    """Records at the times 100, 101, ..."""
    return [Seen(at, 100 + at, value) for at, value in enumerate(values)]


def between(log: list[Seen], start: int, end: int) -> list[Seen]:
    return log[start:end]


def entry(owner: bytes, n: int, payload: bytes = b"p") -> bytes:
    return encode(ENTRY, owner, n, payload)


def change(owner: bytes, who: bytes = b"who") -> bytes:
    return encode(OWNER_CHANGED, owner, 0, who)


@pytest.mark.parametrize(
    ("values", "sign"),
    [
        ([], None),
        ([b"text of another program", None], None),
        ([change(A)], LastRecord(A, 100, b"")),
        ([entry(A, 7)], LastRecord(A, 100, b"p")),
        ([change(A), entry(A, 1, b"x"), probe(B), b"text"], LastRecord(A, 101, b"x")),
        ([change(A), entry(A, 1), change(B)], LastRecord(B, 102, b"")),
        ([change(A), change(B), entry(B, 1, b"y"), entry(A, 1)], LastRecord(B, 102, b"y")),
        ([probe(A)], None),
        ([entry(A, 7), probe(B), entry(B, 3)], LastRecord(A, 100, b"p")),
        ([entry(A, 7), encode_change(B, A, b"who"), entry(B, 1)], LastRecord(B, 102, b"p")),
        ([entry(A, 7), encode_change(B, C, b"who"), entry(B, 1)], LastRecord(A, 100, b"p")),
        ([encode_change(B, A, b"who")], LastRecord(B, 100, b"")),
    ],
)
def test_the_last_sign_is_that_of_the_owner_in_force(
    values: list[bytes | None], sign: LastRecord | None
) -> None:
    assert last_record("t", seen(*values)) == sign


def test_more_is_read_to_know_whether_the_last_change_counts() -> None:
    change = encode_change(B, A, b"who")
    assert last_record("t", seen(change), whole=False) is None
    assert last_record("t", seen(change, entry(B, 1)), whole=False) == LastRecord(B, 101, b"p")
    assert last_record("t", seen(entry(A, 7), change), whole=False) == LastRecord(B, 101, b"")


@pytest.mark.parametrize("late", [1, 2, 4])
def test_what_a_deposed_owner_wrote_late_is_no_sign_of_it(late: int) -> None:
    """Neither where the owner in force is announced among the records that are looked at, nor where
    that was long ago: then more is looked at until it is told, or until there is no more."""
    lives = [encode_change(A, b"", b"who"), entry(A, 1), encode_change(B, A, b"who")]
    lives += [entry(B, n) for n in range(1, 30)]
    behind = [entry(A, 2 + n) for n in range(late)]
    for at in range(3, len(lives) + 1):
        log = seen(*lives[:at], *behind, *lives[at:])
        found = find_last_record("t", 0, len(log), partial(between, log))
        assert found is not None
        assert found.owner == B, at
        cut = log[2 + at // 2 :]
        assert at <= 5 or last_record("t", cut) == found


def test_late_records_alone_do_not_tell_who_is_in_force() -> None:
    late = [entry(A, 7), entry(B, 1)]
    assert last_record("t", seen(*late), whole=False) is None
    assert last_record("t", seen(*late, encode_change(C, A, b"who")), whole=False) is None


def test_a_probe_is_void_for_every_reader() -> None:
    validity = Validity.at(A, 3)
    verdict, _ = validity.judge_value(probe(B))
    assert verdict is Verdict.VOID
    assert validity.judge_value(entry(A, 4))[0] is Verdict.VALID


def test_what_a_later_version_wrote_is_told() -> None:
    newer = bytes((CHANGE_VERSION + 1,)) + entry(A, 1)[1:]
    with pytest.raises(LedgerMismatch, match=r"t at offset 1: .* use the newer mqk that wrote it"):
        last_record("t", seen(change(A), newer))


def test_what_an_owner_announced() -> None:
    records = seen(change(A, b"first"), b"text", entry(A, 1), change(B, b"second"), entry(B, 1))
    assert announcement(records, A) == "first"
    assert announcement(records, B) == "second"
    assert announcement(records, b"c" * 16) == ""
