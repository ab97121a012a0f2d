"""A take-over in rounds: each has an owner id of its own; the first says who was replaced."""

from __future__ import annotations

import pytest

from adapter.runtime.owner import replay
from adapter.runtime.owner.storage import CopyStatus, Storage
from adapter.runtime.owner.taking_over import note_of
from adapter.storage.ledger.envelope import ENTRY, decode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable
from adapter.storage.ledger.snapshots import MemorySnapshots
from adapter.storage.ledger.validity import Validity, Verdict
from tests.unit.runtime.owner.test_housekeeping import NoPages

A, B = b"A" * 16, b"B" * 16


@pytest.mark.parametrize("failures", [0, 1, 3])
@pytest.mark.parametrize("instead_of", [A, None])
def test_each_round_is_another_owner(
    failures: int, instead_of: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MemoryLog()
    MemoryLedger(log).take_over(A, "first", lambda _entry: None)
    storage = Storage(snapshots=MemorySnapshots(), pages=NoPages(), copied=CopyStatus)
    left = [LedgerUnavailable("topics cannot be read")] * failures

    def complete(*_: object) -> None:
        if left:
            raise left.pop()

    monkeypatch.setattr(replay, "_complete", complete)
    monkeypatch.setattr(replay, "_is_outdated", lambda *_: True)
    replayed = replay.take_over(
        "QM1", B, "second", MemoryLedger(log), None, storage, instead_of=instead_of
    )
    values = [one.value for one in log.read(0, log.end)]
    validity = Validity()
    verdicts = [validity.judge_value(value)[0] for value in values]
    assert verdicts == [Verdict.OWNER_CHANGED] * (2 + failures), "none is a duplicate"
    owners = [decode(value).owner for value in values if decode(value).kind != ENTRY]
    assert len(set(owners)) == 2 + failures
    assert {one[8:] for one in owners[1:]} == {B[8:]}, "of this machine and process"
    assert replayed.owner == owners[-1]
    details = note_of("QM1", replayed).details
    assert (details["owner_before"], details["owner"]) == (A.hex(), owners[-1].hex())
