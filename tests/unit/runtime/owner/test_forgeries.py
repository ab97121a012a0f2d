"""Records of another writer in a sealed ledger: what the owner says of them, and how often."""

from __future__ import annotations

import asyncio

from structlog.testing import capture_logs

from adapter.core.contract.audit import FORGED, AuditNote
from adapter.core.contract.records import EventRaised
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.forgeries import Forgeries
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.parts import OwnerSettings
from adapter.storage.format import entries
from adapter.storage.ledger.envelope import ENTRY, encode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Forged
from adapter.storage.ledger.seals import SealKeys
from tests.unit.runtime.owner.test_owner import Front

KEYS = SealKeys((b"k" * 32,))
HEARTBEAT_S = 0.01
WAIT_S = 20.0


def test_the_log_repeats_itself_less_and_less() -> None:
    forgeries = Forgeries("QM1")
    with capture_logs() as said:
        for offset in range(500):
            forgeries.found(Forged(offset, offset))
    assert len(said) == 1
    assert said[0]["event"] == "forged ledger records"
    assert "1 records from offset 0 to 0 of the ledger have no genuine seal" in said[0]["reason"]


def test_one_note_has_all_that_were_found_since_the_last() -> None:
    forgeries = Forgeries("QM1")
    assert forgeries.take_note() is None
    forgeries.found(Forged(7, 9, 2))
    forgeries.found(Forged(12, 12))
    details = {"first_offset": "7", "last_offset": "12", "records": "3"}
    assert forgeries.take_note() == AuditNote(FORGED, "QM1", details)
    assert forgeries.take_note() is None


def noted(log: MemoryLog) -> list[EventRaised]:
    """The events of forged records, as a reader with the keys finds them."""
    reader = MemoryLedgerReader(log, None, KEYS)
    records = [one for entry in reader.read(0) for one in entries.decode(entry.payload)]
    return [one for one in records if isinstance(one, EventRaised) and one.kind == FORGED]


async def until_noted(log: MemoryLog, records: int) -> None:
    async with asyncio.timeout(WAIT_S):
        while sum(int((one.details or {})["records"]) for one in noted(log)) < records:
            await asyncio.to_thread(log.wait, log.end, WAIT_S)


def test_the_owner_notes_what_it_finds_while_it_serves_and_when_it_starts() -> None:
    """What is written while there is no owner too, and nothing twice by one that goes on."""

    async def main() -> None:
        log = MemoryLog()
        settings = OwnerSettings(heartbeat_s=HEARTBEAT_S, audits=True)

        def forge(owner: bytes, n: int) -> None:
            log.write(encode(ENTRY, owner, n, b"forged"))

        for starts in range(2):
            ledger = MemoryLedger(log, keys=KEYS)
            owner = Owner("QM1", ledger, SystemClock(), Front(), None, settings)
            await owner.start()
            assert ledger.statistics()["forged"] == 2 * starts
            await until_noted(log, 3 * starts)
            forge(ledger.durable().owner, ledger.durable().n + 1)
            await until_noted(log, 3 * starts + 1)
            assert owner.running
            assert owner.statistics().term is not None
            await owner.abandon()
            forge(b"nobody".ljust(16), 1)

    asyncio.run(main())
