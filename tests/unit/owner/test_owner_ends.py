"""What ends an owner unexpectedly ends it by name; pauses grow while doubts follow each other."""

import asyncio
from functools import partial

import pytest

from adapter.core.contract.reasons import Reason
from adapter.ledger.memory import MemoryLog
from adapter.ledger.port import LedgerUnavailable, RefusedByKafka
from adapter.owner import recovery
from adapter.owner.clock import SystemClock
from adapter.owner.lifecycle import OwnerState
from adapter.owner.owner import Owner
from adapter.owner.parts import OwnerSettings
from tests.unit.owner.test_owner import WAIT_S, Bench, Front, Slow, put, raiser, run, until


def test_a_recovery_that_breaks_ends_the_owner_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """No client would ever be served again, and nobody would know."""

    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("lost before durable")
        broken = RuntimeError("Failed to initialize thread local storage")
        monkeypatch.setattr(bench.ledger, "take_over", raiser(broken))
        bench.send(put(), durable=True)
        await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert "the task recovery ended unexpectedly: RuntimeError" in bench.owner.failure

    run(test)


@pytest.mark.parametrize("what", ["turn", "timer", "report"])
def test_a_callback_that_breaks_ends_the_owner_by_name(what: str) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    async def test(bench: Bench) -> None:
        await bench.begin()
        if what == "turn":
            bench.owner.term._soon(broken)
        elif what == "timer":
            bench.owner.term._calls.later("a timer", 0.0, broken)
        else:
            bench.owner._from_ledger(broken, 1, 1)
        await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert bench.front.closed == [(0, Reason.QUEUE_MANAGER_NOT_AVAILABLE)]
        assert "RuntimeError('a bug')" in bench.owner.failure

    run(test)


def test_what_kafka_refuses_ends_the_owner_by_name() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.ledger.on_doubt(RefusedByKafka("set max.message.bytes"))
        await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert bench.owner.failure == "set max.message.bytes"
        assert bench.owner.statistics().terms == 1, "another take-over would not help"

    run(test)


def test_clients_that_cannot_be_closed_do_not_keep_a_failed_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        monkeypatch.setattr(bench.front, "close_all", raiser(RuntimeError("a bug")))
        bench.ledger.on_doubt(RefusedByKafka("set max.message.bytes"))
        await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED

    run(test)


def has_had(bench: Bench, terms: int) -> bool:
    return bench.owner.statistics().terms == terms


def test_pauses_grow_while_doubts_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def pause(delay_s: float) -> None:
        pauses.append(delay_s)
        await sleep(0)

    async def test(bench: Bench) -> None:
        await bench.begin()
        monkeypatch.setattr(asyncio, "sleep", pause)
        for terms in range(1, 9):
            bench.ledger.on_doubt("Kafka did not answer")
            await until(partial(has_had, bench, terms + 1))
        monkeypatch.setattr(recovery, "CALM_S", 0.0)
        bench.ledger.on_doubt("Kafka did not answer")
        await until(partial(has_had, bench, 10))

    run(test)
    assert pauses == [*recovery.RECOVERY_PAUSES_S, 5.0, 5.0, 0.0]


GONE = "has stopped without Kafka"


def test_finding_reliability_kafka_gone_a_stop_gives_a_take_over_up() -> None:
    """It may be in a call that takes half a minute; when it comes back it writes nothing."""

    async def main() -> None:
        ledger = Slow(MemoryLog())
        ledger.go.set()
        owner = Owner("QM1", ledger, SystemClock(), Front())
        await owner.start()
        ledger.go.clear()
        ledger.on_doubt("Kafka did not answer")
        await until(lambda: ledger.taking)
        end = ledger.log.end
        async with asyncio.timeout(WAIT_S / 2):
            await owner.stop()
        assert owner.lifecycle.state is OwnerState.STOPPED
        assert GONE in owner.failure
        assert ledger.place in owner.failure
        assert not ledger.closed_meanwhile
        ledger.go.set()
        await until(lambda: not ledger.taking)
        assert ledger.log.end == end

    asyncio.run(main())


def test_finding_reliability_kafka_gone_a_start_gives_a_take_over_up() -> None:
    async def main() -> None:
        ledger = Slow(MemoryLog())
        owner = Owner("QM1", ledger, SystemClock(), Front())
        starting = asyncio.create_task(owner.start())
        await until(lambda: ledger.taking)
        owner.taking.give_up()
        with pytest.raises(LedgerUnavailable, match="told to stop before"):
            await starting
        assert owner.lifecycle.state is OwnerState.FAILED
        ledger.go.set()

    asyncio.run(main())


def test_finding_reliability_kafka_gone_a_stop_says_what_was_not_written() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("slow durable")
        bench.send(put(), durable=True)
        await bench.owner.stop()
        assert GONE in bench.owner.failure
        assert "requests whose outcome is unknown: 1," in bench.owner.failure

    run(test, settings=OwnerSettings(drain_s=0.05))


def test_finding_reliability_kafka_gone_a_stop_that_wrote_everything_says_nothing() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(), durable=True)
        await bench.owner.stop()
        assert not bench.owner.failure

    run(test)
