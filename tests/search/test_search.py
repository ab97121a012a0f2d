"""Every state that the searches reach is as it must be, and what they are about does happen.

`python -m tests.search` prints what is covered. If something does not hold, the failure names the
actions that lead there; planted bugs are in tests/simulation/bugs, those `Found by search`.
"""

import gc
from pathlib import Path

import pytest

from adapter.storage.ledger.envelope import ENTRY, encode, encode_change
from tests.search import oracle
from tests.search.searching import SEARCHES, Search, told
from tests.search.transcripts import TRANSCRIPTS, played

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16
TIMEOUT_S = 600.0


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("name", SEARCHES)
def test_everything_holds_in_every_state(name: str) -> None:
    gc.disable()  # nothing of it is garbage before the end
    try:
        covered = Search(SEARCHES[name]).run()
    finally:
        gc.enable()
    print(told(name, covered))
    happened = covered.actions + covered.met
    assert {what for what in SEARCHES[name].meets if not happened[what]} == set()


def entries_of(*values: bytes) -> list[tuple[bytes, int]]:
    return [(one.owner, one.n) for one in oracle.judge(values).entries]


def test_the_oracle_knows_which_records_count() -> None:
    first, second = encode_change(A, b"", b"who"), encode_change(B, A, b"who")
    rival = encode_change(C, A, b"who")
    one, two, three = (encode(ENTRY, A, n, b"p") for n in (1, 2, 3))
    of_b = encode(ENTRY, B, 1, b"p")
    assert entries_of(first, one, two) == [(A, 1), (A, 2)]
    assert entries_of(first, one, one, two) == [(A, 1), (A, 2)], "a duplicate"
    assert entries_of(first, one, three, two) == [(A, 1)], "a skip"
    assert entries_of(first, one, second, two, of_b) == [(A, 1), (B, 1)], "a late record"
    assert entries_of(first, second, rival, of_b) == [(B, 1)], "the second of two at once"
    assert oracle.judge((first, second, rival)).in_force == B
    assert entries_of(of_b, first, of_b) == [], "an owner that has not announced itself"


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_is_what_happens(path: Path) -> None:
    text = path.read_text()
    assert played(text) == text
