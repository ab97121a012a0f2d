"""Replay of a ledger that an error of a release wrote: what is gone is gone, what came must be."""

from collections import Counter
from random import Random

import pytest

from adapter.core import dispatch
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.limits import Limits
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.model.manager import QueueManager
from adapter.core.rules.drive.fitting import UnfitError
from adapter.runtime.owner import replay as owner_replay
from adapter.runtime.owner.replay import LedgerUnreadableError
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from tests.golden import story
from tests.support.core import client_on
from tests.support.examples import examples

CREATING = (r.QueueDefined, r.ObjectDefined, r.SessionOpened, UnitCommitted)
TRIED = 60
REPLACED = 90


def records_of(payloads: list[bytes]) -> list[bytes]:
    """Each record as an entry of its own."""
    return [entries.encode([one]) for payload in payloads for one in entries.decode(payload)]


def read(payload: bytes) -> r.Record:
    (record,) = entries.decode(payload)
    return record


def replayed(ledger: list[bytes]) -> tuple[QueueManager, list[str]]:
    """Replay records; the queue manager, and what of them did not fit."""
    qm = QueueManager("QM1", bytes(16), Limits())
    unfit = [why for payload in ledger if (why := dispatch.replay(qm, read(payload)))]
    return qm, unfit


def check_state(qm: QueueManager) -> None:
    """The state can be written, and read again as it is."""
    again = QueueManager(qm.name, bytes(16), qm.limits)
    for record in list(dispatch.snapshot(qm)):
        assert dispatch.replay(again, read(entries.encode([record]))) == ""
    known, restored = (Counter(map(type, dispatch.snapshot(one))) for one in (qm, again))
    for counts in (known, restored):
        counts.pop(r.HeadsRestored, None)  # an estimate, which pages make better
    assert restored == known


def some(ledger: list[bytes]) -> list[int]:
    """Which records are tried."""
    return Random(len(ledger)).sample(range(len(ledger)), min(examples(TRIED), len(ledger)))


@pytest.fixture(scope="module")
def ledger() -> list[bytes]:
    """Something of everything."""
    return records_of(story.tell())


def test_a_ledger_that_is_right_fits(ledger: list[bytes]) -> None:
    assert replayed(ledger)[1] == []


def test_a_record_that_is_missing_is_not_missed_unless_something_came_by_it(
    ledger: list[bytes],
) -> None:
    for at in some(ledger):
        record = read(ledger[at])
        try:
            qm, _ = replayed(ledger[:at] + ledger[at + 1 :])
        except UnfitError:
            assert isinstance(record, CREATING), record
        else:
            check_state(qm)


def test_a_record_that_comes_twice_counts_once_or_is_told(ledger: list[bytes]) -> None:
    for at in some(ledger):
        record = read(ledger[at])
        try:
            qm, _ = replayed([*ledger[: at + 1], *ledger[at:]])
        except UnfitError:
            assert isinstance(record, UnitCommitted), record
            assert record.puts
        else:
            check_state(qm)


@pytest.mark.parametrize("part", range(3))
def test_a_record_in_the_place_of_another_is_void_or_told(ledger: list[bytes], part: int) -> None:
    chance = Random(part)
    for _ in range(examples(REPLACED) // 3):
        changed = list(ledger)
        at, other = chance.randrange(len(ledger)), chance.randrange(len(ledger))
        changed[at] = ledger[other]
        try:
            qm, _ = replayed(changed)
        except UnfitError:
            kinds = type(read(ledger[at])), type(read(ledger[other]))
            assert any(kind in CREATING for kind in kinds), kinds
        else:
            check_state(qm)


def test_a_queue_that_was_deleted_twice_does_not_keep_a_queue_manager_from_starting() -> None:
    client = client_on("Q")
    client.do(c.Close(1))
    client.do(c.DeleteQueue("Q"))
    log = MemoryLog()
    ledger = MemoryLedger(log)
    ledger.take_over(b"a" * 16, "test", lambda _entry: None)
    deleted = entries.encode([r.QueueDeleted("Q")])
    for payload in [*client.core.entries, deleted]:
        ledger.append(payload)
    taken = owner_replay.take_over("QM1", b"b" * 16, "test", MemoryLedger(log), None)
    assert "Q" not in taken.qm.queues


def test_a_message_without_a_queue_keeps_it_from_starting_and_says_what_to_do() -> None:
    client = client_on("Q")
    client.put("a program was told that it is safe", persistence=1)
    without = [one for one in records_of(client.core.entries)
               if not isinstance(read(one), r.QueueDefined)]  # fmt: skip
    log = MemoryLog()
    ledger = MemoryLedger(log)
    ledger.take_over(b"a" * 16, "test", lambda _entry: None)
    for payload in without:
        ledger.append(payload)
    with pytest.raises(LedgerUnreadableError, match=r"queue Q, which is not there.*restore a back"):
        owner_replay.take_over("QM1", b"b" * 16, "test", MemoryLedger(log), None)
