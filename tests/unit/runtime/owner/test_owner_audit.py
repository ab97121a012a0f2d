"""What is to be on record is written once, whatever becomes of the entry that it is in first."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from adapter.core import dispatch, inputs
from adapter.core.contract.audit import FORGED, STEP_FAILED, TAKEN_OVER, AuditNote
from adapter.core.contract.records import EventRaised
from adapter.runtime.owner import recovery
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.parts import OwnerSettings
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedgerReader
from tests.support.examples import examples
from tests.unit.runtime.owner.test_owner import Bench, put, raiser, run, until

NOTES = 20
FAULTS = ("lost before durable", "lost after durable", "doubtful", "duplicate")


def events_of(bench: Bench) -> list[EventRaised]:
    read = MemoryLedgerReader(bench.log).read(0)
    records = [one for entry in read for one in entries.decode(entry.payload)]
    return [one for one in records if isinstance(one, EventRaised)]


def numbers_of(bench: Bench) -> list[int]:
    return [int(one.details["number"]) for one in events_of(bench) if one.kind == FORGED]


def is_settled(bench: Bench) -> bool:
    return bench.owner.running and not bench.owner.loop.ended and bench.owner.loop.idle


@pytest.mark.parametrize("seed", range(examples(30)))
def test_what_is_on_record_is_there_once_whatever_fails(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "RECOVERY_PAUSES_S", (0.0,))
    random = Random(seed)
    planted = random.sample(range(NOTES), 2)  # a third one would end the process

    async def test(bench: Bench) -> None:
        await bench.begin()
        for number in range(NOTES):
            await until(lambda: bench.owner.running and not bench.owner.loop.has_failed)
            if random.random() < 0.5:
                bench.log.arm(random.choice(FAULTS))
            bench.owner.term.note_audit([AuditNote(FORGED, "QM1", {"number": str(number)})])
            if random.random() < 0.3:
                bench.owner.loop.heartbeat()
            if random.random() < 0.3:
                await until(partial(is_settled, bench))
            if number in planted:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setitem(dispatch.STEPS, inputs.Tick, raiser(KeyError("planted")))
                    bench.owner.loop.take(inputs.Tick())
                    bench.owner.term.note_audit([])
        await until(lambda: bench.owner.running and not bench.owner.loop.has_failed)
        bench.owner.loop.heartbeat()
        await until(partial(is_settled, bench))
        await bench.owner.stop()
        assert numbers_of(bench) == list(range(NOTES))

    run(test)


def test_a_take_over_is_on_record_though_its_first_entry_is_in_doubt() -> None:
    async def test(bench: Bench) -> None:
        bench.log.arm("lost before durable")
        await bench.owner.start()
        await until(lambda: bench.owner.statistics().terms == 2)
        await until(partial(is_settled, bench))
        kinds = [one.kind for one in events_of(bench)]
        assert kinds.count(TAKEN_OVER) == 2

    run(test, settings=OwnerSettings(audits=True))


def test_what_is_noted_when_core_has_failed_is_written_by_the_next_term() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(dispatch.STEPS, inputs.Tick, raiser(KeyError("planted")))
            bench.owner.loop.take(inputs.Tick())
        assert bench.owner.loop.has_failed
        bench.send(put(), durable=True)
        bench.owner.term.note_audit([AuditNote(FORGED, "QM1", {"number": "7"})])
        assert bench.owner.lifecycle.state is OwnerState.RUNNING
        await until(lambda: bench.owner.statistics().terms == 2)
        await until(partial(is_settled, bench))
        assert numbers_of(bench) == [7]
        assert [one.kind for one in events_of(bench)].count(STEP_FAILED) == 1

    run(test)
