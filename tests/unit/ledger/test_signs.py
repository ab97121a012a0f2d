"""Signs of life: whose record is the last, and what is nobody's."""

import pytest

from adapter.ledger.envelope import ENTRY, NEWER_VERSIONS, OWNER_CHANGED, encode, encode_change
from adapter.ledger.port import LastRecord, LedgerMismatch
from adapter.ledger.signs import Seen, announcement, last_record, probe
from adapter.ledger.validity import Validity, Verdict

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def seen(*values: bytes | None) -> list[Seen]:
    """Records at the times 100, 101, ..."""
    return [Seen(at, 100 + at, value) for at, value in enumerate(values)]


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


def test_a_probe_is_void_for_every_reader() -> None:
    validity = Validity.at(A, 3)
    verdict, _ = validity.judge_value(probe(B))
    assert verdict is Verdict.VOID
    assert validity.judge_value(entry(A, 4))[0] is Verdict.VALID


def test_what_a_later_version_wrote_is_told() -> None:
    newer = bytes((NEWER_VERSIONS[0],)) + entry(A, 1)[1:]
    with pytest.raises(LedgerMismatch, match=r"t at offset 1: .* use the newer mqk that wrote it"):
        last_record("t", seen(change(A), newer))


def test_what_an_owner_announced() -> None:
    records = seen(change(A, b"first"), b"text", entry(A, 1), change(B, b"second"), entry(B, 1))
    assert announcement(records, A) == "first"
    assert announcement(records, B) == "second"
    assert announcement(records, b"c" * 16) == ""
