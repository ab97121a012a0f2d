"""mqk ledger verify: everything that is wrong in a ledger is found, and nothing else."""

import pytest

from adapter.cli.verify import Observation, Verifier
from adapter.core import dispatch
from adapter.core.contract import records as r
from adapter.core.model.manager import QueueManager
from adapter.storage.format import entries
from adapter.storage.ledger.envelope import ENTRY, OWNER_CHANGED, encode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import Raw
from adapter.storage.ledger.signs import probe
from adapter.storage.ledger.snapshots import Snapshot
from tests.support.core import client_on

OWNER = bytes(range(16))
OTHER = bytes(16)


def changed(owner: bytes = OWNER) -> bytes:
    return encode(OWNER_CHANGED, owner, 0, b"somebody")


def entry(n: int, *records: r.Record, owner: bytes = OWNER) -> bytes:
    return encode(ENTRY, owner, n, entries.encode(records))


def found(*values: bytes | None) -> list[Observation]:
    verifier = Verifier("QM1")
    return [
        one for offset, value in enumerate(values) for one in verifier.take(Raw(offset, 0, value))
    ]


def test_a_ledger_of_every_day_is_in_order() -> None:
    client = client_on("A", "B")
    client.put("a")
    client.put("b")
    client.get()
    unit = client.begin()
    client.put("x", "y", unit=unit, handle=2)
    verifier = Verifier("QM1")
    values = [
        changed(),
        *(encode(ENTRY, OWNER, n, e) for n, e in enumerate(client.core.entries, 1)),
    ]
    assert [verifier.take(Raw(offset, 0, value)) for offset, value in enumerate(values)] == [
        [] for _ in values
    ]
    assert (verifier.owners, verifier.entries) == (1, len(client.core.entries))
    assert {name: queue.depth for name, queue in verifier.qm.queues.items()} == {"A": 1, "B": 0}


def test_what_failures_leave_behind_is_told_and_harmless() -> None:
    told = found(changed(), entry(1), entry(1), entry(3), entry(1, owner=OTHER))
    assert [(one.offset, one.anomaly) for one in told] == [(2, False), (3, False), (4, False)]
    assert told[0].text.startswith("duplicate: ")


DEFINED = r.QueueDefined("Q", 0, {})
CHANGED = r.QueueAltered("NONE", {})
"""Of a queue that is not there."""


def lost(puts: int = 1) -> r.Record:
    """Return the record of the last of some messages put on a queue that is not there."""
    client = client_on("NONE")
    for _ in range(puts):
        client.put("a")
    (record,) = entries.decode(client.core.entries[-1])
    return record


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"hello", "corrupt: not a record of a ledger"),
        (None, "corrupt: not a record of a ledger"),
        (bytes([9]) + entry(2)[1:], "the record has version 9 and this mqk reads up to version 5"),
        (encode(ENTRY, OWNER, 2, b"\x01\x02\x44"), "unreadable: entry: "),
        (encode(ENTRY, OWNER, 2, b"\x07"), "unreadable: entry: schema version 7"),
        (entry(2, lost()), "UnitCommitted cannot be applied: UnfitError('a message was put on qu"),
        (entry(2, CHANGED), "QueueAltered does not fit the records before it: it is about someth"),
    ],
)
def test_what_must_not_be_is_an_anomaly(value: bytes | None, words: str) -> None:
    (one,) = found(changed(), entry(1, DEFINED), value)
    assert (one.offset, one.anomaly) == (2, True)
    assert words in one.text


def test_the_rest_is_judged_all_the_same() -> None:
    told = found(changed(), entry(1, lost()), b"x", entry(2, lost(2)), encode(ENTRY, OWNER, 3, b""))
    assert [one.offset for one in told] == [1, 2, 4], "replay ends with the first that fails"


def test_a_record_that_is_missing_is_an_anomaly() -> None:
    verifier = Verifier("QM1")
    verifier.take(Raw(0, 0, changed()))
    (one,) = verifier.take(Raw(3, 0, entry(1)))
    assert one == Observation(
        1, anomaly=True, text="the records from offset 1 on are missing: 3 comes next"
    )
    assert verifier.anomalies == 1


def test_messages_are_numbered_densely() -> None:
    client = client_on("Q")
    for body in "abc":
        client.put(body)
    kept = [entries.decode(one) for one in client.core.entries]
    units = [one[0] for one in kept if isinstance(one[0], r.UnitCommitted)]
    kept.remove([units[1]])
    told = found(changed(), *(entry(n, *one) for n, one in enumerate(kept, 1)))
    assert [one.text for one in told if one.anomaly] == [
        f"a message on Q, lane {units[1].puts[0].lane}, has seq 3, and 2 comes next"
    ]


def trimmed(part_bytes: int, *payloads: bytes) -> tuple[Verifier, list[Raw]]:
    """A ledger that was trimmed up to its first entry, of which a snapshot has the state."""
    log = MemoryLog("mq.QM.ledger")
    ledger = MemoryLedger(log, part_bytes=part_bytes)
    ledger.take_over(OWNER, "who", lambda _entry: None)
    ledger.append(entries.encode([DEFINED]))
    snapshot_at = ledger.durable()
    ledger.trim(snapshot_at.offset)
    for payload in payloads:
        ledger.append(payload)
    core = QueueManager("QM", bytes(16))
    snapshot = Snapshot(snapshot_at, snapshot_at.n, [entries.encode(list(dispatch.snapshot(core)))])
    found = log.read(log.first, log.end)
    raws = [Raw(at, one.time_ms, one.value) for at, one in enumerate(found, log.first)]
    return Verifier("QM", snapshot), raws


@pytest.mark.parametrize("part_bytes", [5, 1_000])
def test_a_ledger_that_was_trimmed_up_to_a_long_entry_is_verified(part_bytes: int) -> None:
    """Only the last part of that entry is left."""
    verifier, raws = trimmed(
        part_bytes, entries.encode([]), b"\x01 no entry", entries.encode([CHANGED])
    )
    told = [one.text for raw in raws for one in verifier.take(raw)] + verifier.finish()
    assert len(told) == verifier.anomalies == 2
    assert "unreadable" in str(told[0])
    assert "does not fit" in str(told[1])
    assert verifier.entries == 4


def test_a_ledger_of_which_nothing_counts_is_an_anomaly() -> None:
    verifier, raws = trimmed(1_000)
    assert [verifier.take(raw) for raw in raws] == [[]]
    assert verifier.finish() == []
    verifier, raws = trimmed(1_000)
    assert not any(one.anomaly for one in verifier.take(Raw(raws[0].offset, 0, probe(OTHER))))
    (said,) = verifier.finish()
    assert said.anomaly
    assert verifier.anomalies == 1


def test_the_end_of_an_entry_for_which_no_snapshot_stands_is_an_anomaly() -> None:
    verifier, raws = trimmed(5, entries.encode([DEFINED]))
    late = raws[-1]
    (said,) = verifier.take(late)
    assert said.anomaly
    assert "whose beginning was deleted" in said.text
