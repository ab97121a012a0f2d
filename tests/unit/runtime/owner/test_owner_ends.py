"""What ends an owner unexpectedly ends it by name; pauses grow while doubts follow each other."""

import asyncio
from functools import partial
from typing import Any

import pytest

from adapter.core import dispatch, inputs
from adapter.core.contract.reasons import Reason
from adapter.runtime.owner import liveness, recovery
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.parts import OwnerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable, RefusedByKafka, TakenOver
from tests.unit.runtime.owner.test_owner import WAIT_S, Bench, Front, Slow, put, raiser, run, until


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
            bench.owner._calls.from_thread("what the ledger reports", broken, 1)
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
        settings = OwnerSettings(drain_s=0.05)
        owner = Owner("QM1", ledger, SystemClock(), Front(), settings=settings)
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


class DoubtfulAtOnce(MemoryLedger):
    """A ledger whose producer fails as soon as the first take-over has ended."""

    def take_over(self, *given: Any, **options: Any) -> TakenOver:
        taken = super().take_over(*given, **options)
        if not self.statistics()["doubts"]:
            self._end_term()
            self._counts["doubts"] += 1
            self.on_doubt("the producer failed")
        return taken


def test_a_doubt_before_the_term_begins_is_one_of_the_term() -> None:
    async def main() -> None:
        owner = Owner("QM1", DoubtfulAtOnce(MemoryLog()), SystemClock(), Front())
        await owner.start()
        await until(lambda: owner.statistics().terms == 2)
        await until(lambda: owner.loop.idle)
        assert owner.running
        assert not owner.loop.ended
        await owner.stop()

    asyncio.run(main())


def test_a_ledger_that_is_closed_without_a_report_is_taken_over_again() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.ledger._end_term()  # and it reports nothing
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.statistics().terms == 2)
        assert not bench.owner.loop.ended

    run(test, settings=OwnerSettings(heartbeat_s=0.01))


def test_a_stop_in_doubt_is_written_by_the_recovery() -> None:
    """A standby must learn that it was for good; and there is nothing wrong with Kafka."""

    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("lost before durable")
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.lifecycle.state is OwnerState.DOUBTFUL)
        await bench.owner.stop(inputs.Stopped(for_good=True))
        sign = MemoryLedger(bench.log).last_record()
        assert sign is not None
        assert liveness.is_stopped_for_good(sign.payload)
        assert not bench.owner.failure

    run(test)


def test_a_stop_in_doubt_waits_for_nothing_when_it_is_hurried() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.unavailable = "the network is down"
        bench.log.arm("lost before durable")
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.lifecycle.state is OwnerState.DOUBTFUL)
        stopping = asyncio.create_task(bench.owner.stop())
        await until(lambda: bench.owner._moves._waiting > 0)
        bench.owner.hurry()
        async with asyncio.timeout(WAIT_S):
            await stopping
        assert GONE in bench.owner.failure

    run(test, settings=OwnerSettings(drain_s=10 * WAIT_S))


def test_a_stop_after_a_failed_step_says_which_it_was() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        with pytest.MonkeyPatch.context() as patch:
            patch.delitem(dispatch.STEPS, inputs.Tick)
            bench.log.unavailable = "the network is down"
            bench.owner.tick()
            await until(lambda: bench.owner.lifecycle.state is OwnerState.DOUBTFUL)
        await bench.owner.stop()
        assert "was taken over again: Tick failed: KeyError" in bench.owner.failure
        assert "acknowledges no writes" not in bench.owner.failure

    run(test, settings=OwnerSettings(drain_s=0.05))
