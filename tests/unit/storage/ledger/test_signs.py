"""Signs of life: whose record is the last, and what is nobody's."""

import pytest

from adapter.storage.ledger.envelope import (
    ENTRY,
    NEWER_VERSIONS,
    OWNER_CHANGED,
    encode,
    encode_change,
    encode_entry,
)
from adapter.storage.ledger.port import LastRecord, LedgerMismatch
from adapter.storage.ledger.seals import KEY_BYTES, SealKeys, Seals
from adapter.storage.ledger.signs import (
    Seen,
    announcement,
    find_last_record,
    probe,
)
from adapter.storage.ledger.validity import Validity, Verdict

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16


def seen(*values: bytes | None) -> list[Seen]:
    """Records at the times 100, 101, ..."""
    return [Seen(at, 100 + at, value) for at, value in enumerate(values)]


def last_record(*values: bytes | None, trimmed: int = 0) -> tuple[LastRecord | None, int]:
    """Return the last sign in a log, and how often it was read. trimmed: before that offset."""
    log = seen(*values)
    asked: list[int] = []

    def read(start: int, end: int) -> list[Seen]:
        asked.append(start)
        return log[start:end]

    return find_last_record("t", trimmed, len(log), read), len(asked)


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
    assert last_record(*values)[0] == sign


def test_a_few_records_are_enough_where_nothing_is_late() -> None:
    lives = [encode_change(A, b"", b"who"), *(entry(A, n) for n in range(1, 40))]
    assert last_record(*lives) == (LastRecord(A, 139, b"p"), 1)
    assert last_record(*lives, encode_change(B, A, b"who")) == (LastRecord(B, 140, b""), 1)


def test_more_is_read_to_know_whether_the_last_change_counts() -> None:
    lives = [encode_change(A, b"", b"who"), *(entry(A, n) for n in range(1, 40))]
    lives += [encode_change(B, A, b"who"), *[b"text"] * 10, encode_change(C, A, b"frozen")]
    assert last_record(*lives) == (LastRecord(B, 140, b""), 2)


@pytest.mark.parametrize("late", [1, 2, 4, 8])
@pytest.mark.parametrize("parts", [1, 3])
def test_what_a_deposed_owner_wrote_late_is_no_sign_of_it(late: int, parts: int) -> None:
    """Wherever it lies, and whether the owner in force was announced there or long ago; and where
    the ledger was trimmed up to an entry of the owner in force."""
    lives = [encode_change(A, b"", b"who"), entry(A, 1), encode_change(B, A, b"who")]
    lives += [entry(B, n) for n in range(1, 60)]
    behind = [
        value for n in range(late) for value in encode_entry(A, 2 + n, b"x" * parts, part_bytes=1)
    ]
    for at in range(3, len(lives) + 1):
        log = [*lives[:at], *behind, *lives[at:]]
        assert sign_owner(last_record(*log)) == B, at
        for trimmed in range(2, at):
            assert sign_owner(last_record(*log, trimmed=trimmed)) == B, (at, trimmed)


def sign_owner(found: tuple[LastRecord | None, int]) -> bytes:
    assert found[0] is not None
    return found[0].owner


def test_a_probe_is_void_for_every_reader() -> None:
    validity = Validity.at(A, 3)
    verdict, _ = validity.judge_value(probe(B))
    assert verdict is Verdict.VOID
    assert validity.judge_value(entry(A, 4))[0] is Verdict.VALID


def test_what_a_later_version_wrote_is_told() -> None:
    newer = bytes((NEWER_VERSIONS[0],)) + entry(A, 1)[1:]
    with pytest.raises(LedgerMismatch, match=r"t at offset 1: .* use the newer mqk that wrote it"):
        last_record(change(A), newer)


def test_what_an_owner_announced() -> None:
    records = seen(change(A, b"first"), b"text", entry(A, 1), change(B, b"second"), entry(B, 1))
    assert announcement(records, A) == ("first", True)
    assert announcement(records, B) == ("second", True)
    assert announcement(records, b"c" * 16) == ("", False)


def test_what_an_owner_announced_again_when_the_first_one_is_gone() -> None:
    records = seen(entry(A, 1), probe(A, b"again"), probe(A), probe(B), entry(A, 2), entry(B, 1))
    assert announcement(records, A) == ("again", True)
    assert announcement(records, B) == ("", False)


def test_a_forged_announcement_is_none_where_a_sealed_one_is() -> None:
    seals = Seals("t", SealKeys((b"k" * KEY_BYTES,)))
    sealed = seals.seal(seals.begins_with, probe(A, b"sealed"))
    stranger = Seals("t", SealKeys((b"s" * KEY_BYTES,)))
    others = stranger.seal(stranger.begins_with, probe(A, b"by another key"))
    forged = probe(A, b"forged")
    assert announcement(seen(forged, sealed, forged, others), A, seals) == ("sealed", True)
    assert announcement(seen(forged, others), A, seals) == ("forged", False)
