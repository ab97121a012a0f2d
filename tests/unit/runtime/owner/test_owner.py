"""The owner through its terms: start, doubt, recovery, a rival, stop and crash."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import Denial
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Messages, PutDone, Refused, Result
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.clock import Clock, ManualClock, SystemClock
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.parts import OwnerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Entry, LedgerUnavailable, Position, TakenOver

WAIT_S = 20.0
SESSION = b"s" * 16


class Front(ClientSink):
    """The connections, as the owner has them."""

    def __init__(self) -> None:
        self.answers: dict[int, Result] = {}
        self.closed: list[tuple[int, int]] = []  # connection (0: all), reason

    def send(self, connection: int, replies: list[Reply]) -> None:
        self.answers |= {reply.request: reply.result for reply in replies}

    def close(self, connection: int, reason: Refused | None) -> None:
        self.closed.append((connection, reason.reason if reason else 0))

    def denied(self, denials: Sequence[Denial]) -> None:
        raise AssertionError("authorities are not checked")

    def close_all(self, reason: Refused) -> None:
        self.closed.append((0, reason.reason))
        msgspec.msgpack.encode(reason)  # as a frame would


class Bench:
    """An owner on a log, with one client."""

    def __init__(
        self, log: MemoryLog, clock: Clock | None = None, settings: OwnerSettings | None = None
    ) -> None:
        self.log = log
        self.ledger = MemoryLedger(log)
        self.front = Front()
        self.clock = clock or SystemClock()
        self.owner = Owner("QM1", self.ledger, self.clock, self.front, settings=settings)
        self.requests = 0
        self.number = 0

    def send(self, command: c.Command, durable: bool = False, connection: int = 1) -> int:
        self.requests += 1
        self.number += durable
        number = self.number if durable else 0
        copied = msgspec.msgpack.decode(msgspec.msgpack.encode(command), type=type(command))
        self.owner.loop.request(c.Request(connection, self.requests, number, copied))
        return self.requests

    async def ask(self, command: c.Command, durable: bool = False, connection: int = 1) -> Result:
        request = self.send(command, durable, connection)
        await until(lambda: request in self.front.answers)
        return self.front.answers[request]

    async def begin(self) -> None:
        """Start, and open a queue for a client."""
        await self.owner.start()
        self.owner.loop.take(inputs.Connected(1))
        self.send(c.SessionOpen(SESSION))
        self.send(c.DefineQueue("Q"), durable=True)
        await self.ask(c.Open(1, "Q", c.INPUT | c.OUTPUT))

    async def come_back(self, connection: int, *unanswered: int) -> None:
        """Attach a new connection to the session."""
        self.owner.loop.take(inputs.Connected(connection))
        await self.ask(c.SessionResume(SESSION, list(unanswered), self.number), False, connection)
        await self.ask(c.Open(1, "Q", c.INPUT | c.OUTPUT), False, connection)


def put(body: bytes = b"a", persistence: int = 1, expiry_ms: int = -1) -> c.Put:
    return c.Put(1, [MessageData(body=body, persistence=persistence, expiry_ms=expiry_ms)])


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop go on until something holds."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(WAIT_S):
        while not condition():
            turn = loop.create_future()
            loop.call_soon(turn.set_result, None)
            await turn


def run(
    test: Callable[[Bench], Awaitable[None]],
    clock: Clock | None = None,
    settings: OwnerSettings | None = None,
) -> Bench:
    """Run a test on an event loop; the owner is stopped afterwards."""

    problems: list[object] = []

    async def main() -> Bench:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
        bench = Bench(MemoryLog(), clock, settings)
        try:
            await test(bench)
        finally:
            if bench.owner.lifecycle.state is not OwnerState.STOPPED:
                await bench.owner.stop()
        return bench

    bench = asyncio.run(main())
    assert not problems, "a callback failed, and nobody heard of it"
    return bench


def depth(bench: Bench) -> int:
    return bench.owner.loop.qm.queues["Q"].depth


def test_a_put_is_answered_and_found_by_the_next_owner() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        assert isinstance(await bench.ask(put(), durable=True), PutDone)
        await bench.owner.stop()
        second = Bench(bench.log)
        await second.owner.start()
        assert depth(second) == 1
        assert second.owner.statistics().state == "running"
        await second.owner.stop()

    run(test)


def test_a_stop_backs_units_out_and_waits_until_that_is_durable() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(), durable=True)
        unit = SESSION + bytes(8)
        bench.send(c.Begin(unit))
        await bench.ask(c.Get(1, unit))
        bench.send(put(), durable=True)
        await bench.owner.stop()
        assert bench.owner.lifecycle.state is OwnerState.STOPPED
        second = Bench(bench.log)
        await second.owner.start()
        counts = [s.backout_count for s in second.owner.loop.qm.queues["Q"].in_order()]
        assert counts == [1, 0]
        await second.owner.stop()

    run(test)


def test_a_crash_writes_nothing_more() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(), durable=True)
        unit = SESSION + bytes(8)
        bench.send(c.Begin(unit))
        await bench.ask(c.Get(1, unit))
        end = bench.log.end
        await bench.owner.abandon()
        assert bench.log.end == end
        assert bench.owner.ended.is_set()

    run(test)


@pytest.mark.parametrize(
    ("fault", "found"), [("lost before durable", 0), ("lost after durable", 1), ("hole", 0)]
)
def test_a_doubt_ends_the_connections_and_the_owner_goes_on(fault: str, found: int) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(b"soft", persistence=0), durable=True)
        bench.owner.term.loop.appends.call_none_quick()  # a hole shows by what is behind it
        bench.log.arm(fault)
        request = bench.send(put(b"hard"), durable=True)
        await asyncio.sleep(0)
        bench.send(c.AskOutcome(bytes(24)))
        await until(lambda: bool(bench.front.closed))
        assert bench.front.closed == [(0, Reason.QUEUE_MANAGER_NOT_AVAILABLE)]
        await until(lambda: bench.owner.running)
        assert request not in bench.front.answers
        assert depth(bench) == 1 + found
        await bench.come_back(2, bench.number)
        number = bench.number
        bench.number -= 1
        assert isinstance(await bench.ask(put(b"hard"), True, 2), PutDone)
        assert bench.number == number
        assert depth(bench) == 2, "once, whether it had happened or not"

    run(test)


def test_a_rival_makes_the_owner_step_down() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("rival owner")
        request = bench.send(put(), durable=True)
        await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.DEPOSED
        assert "another owner took over" in bench.owner.failure
        assert request not in bench.front.answers
        assert bench.owner.statistics().terms == 1, "it does not take the ledger back"
        assert not bench.owner.running

    run(test)


def test_finding_reliability_d2_a_frozen_owner_does_not_depose_its_successor() -> None:
    """It comes to, is in doubt, finds who owns the ledger, and ends: 20 times."""

    async def test(bench: Bench) -> None:
        for number in range(20):
            frozen, successor = Bench(bench.log), Bench(bench.log)
            for one in (frozen, successor):
                await one.owner.start()
                one.owner.loop.take(inputs.Connected(1))
                await one.ask(c.SessionOpen(bytes([number, one is frozen]) * 8))
            bench.log.arm("lost before durable")
            frozen.send(c.DefineQueue(f"F{number}"), durable=True)
            await until(frozen.owner.ended.is_set)
            assert frozen.owner.lifecycle.state is OwnerState.DEPOSED
            assert "another owner took over" in frozen.owner.failure
            assert frozen.owner.statistics().terms == 1
            await successor.ask(c.DefineQueue(f"S{number}"), durable=True)
            assert successor.owner.running
            assert {f"S{n}" for n in range(number + 1)} <= set(successor.owner.term.qm.queues)
            for one in (frozen, successor):
                await one.owner.stop()

    run(test)


def test_a_ledger_that_is_away_is_tried_again() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("lost before durable")
        bench.log.unavailable = "the network is down"
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.lifecycle.state is OwnerState.DOUBTFUL)
        await until(lambda: bench.owner.lifecycle.state is OwnerState.TAKING_OVER)
        await until(lambda: bench.owner.lifecycle.state is OwnerState.DOUBTFUL)
        bench.log.unavailable = ""
        await until(lambda: bench.owner.running)

    run(test)


def test_people_are_told_while_kafka_confirms_nothing() -> None:
    clock = ManualClock()

    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("slow durable")
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.term.statistics().entries_in_flight == 1)
        clock.advance(4.9)
        assert (bench.owner.trouble, bench.owner.term.statistics().ledger_waits_s) == ("", 4.9)
        clock.advance(7.1)
        assert "acknowledged no writes for 12 s" in bench.owner.trouble
        bench.ledger.release()
        await until(lambda: not bench.owner.trouble)
        assert bench.owner.term.statistics().ledger_waits_s == 0.0

    run(test, clock)


def test_the_wait_begins_when_there_is_something_to_wait_for() -> None:
    clock = ManualClock()

    async def test(bench: Bench) -> None:
        await bench.begin()
        clock.advance(60)
        bench.log.arm("slow durable")
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.term.statistics().entries_in_flight == 1)
        assert bench.owner.term.statistics().ledger_waits_s == 0.0
        bench.ledger.release()

    run(test, clock)


def test_why_the_ledger_is_away_is_told_until_it_is_back() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("lost before durable")
        bench.log.unavailable = "the network is down"
        bench.send(put(), durable=True)
        await until(lambda: "the network is down" in bench.owner.trouble)
        bench.log.unavailable = ""
        await until(lambda: bench.owner.running)
        assert bench.owner.trouble == ""

    run(test)


def test_a_stop_while_the_ledger_is_away() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("lost before durable")
        bench.log.unavailable = "the network is down"
        bench.send(put(), durable=True)
        await until(lambda: bench.owner.lifecycle.state is OwnerState.DOUBTFUL)
        await bench.owner.stop()
        assert bench.owner.lifecycle.state is OwnerState.STOPPED

    run(test, settings=OwnerSettings(drain_s=0.05))


@pytest.mark.parametrize("fault", ["lost before durable", "rival owner"])
def test_a_doubt_while_stopping_ends_the_stop(fault: str) -> None:
    """There is nothing to wait for any more, and nothing to take over for."""

    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm(fault)
        bench.send(put(), durable=True)
        async with asyncio.timeout(WAIT_S):
            await bench.owner.stop()
        assert bench.owner.lifecycle.state is OwnerState.STOPPED
        assert bench.owner.statistics().terms == 1

    run(test, settings=OwnerSettings(drain_s=10 * WAIT_S))


class Slow(MemoryLedger):
    """A ledger whose take-over waits to be let go, and which notices being closed meanwhile."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log)
        self.go = threading.Event()
        self.taking = self.closed_meanwhile = False

    def take_over(
        self,
        owner: bytes,
        who: str,
        replay: Callable[[Entry], None],
        after: Position | None = None,
        *,
        again: bool = False,
        instead_of: bytes | None = None,
    ) -> TakenOver:
        self.taking = True
        self.go.wait(WAIT_S)
        self.taking = False
        return super().take_over(owner, who, replay, after, again=again, instead_of=instead_of)

    def close(self) -> None:
        self.closed_meanwhile = self.closed_meanwhile or self.taking
        super().close()


def test_a_stop_waits_for_a_take_over() -> None:
    async def main() -> None:
        ledger = Slow(MemoryLog())
        owner = Owner("QM1", ledger, SystemClock(), Front())
        starting = asyncio.create_task(owner.start())
        await until(lambda: ledger.taking)
        starting.cancel()
        stopping = asyncio.create_task(owner.stop())
        done, _ = await asyncio.wait({stopping}, timeout=0.05)
        assert not done
        ledger.go.set()
        await stopping
        assert not ledger.closed_meanwhile
        assert owner.lifecycle.state is OwnerState.STOPPED

    asyncio.run(main())


@pytest.mark.parametrize("what", ["trim", "for good"])
def test_a_ledger_that_is_lost_ends_the_owner(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        bench.log.arm("lost before durable")
        if what == "trim":
            bench.log.trim(2)
        else:
            error = LedgerUnavailable("no authority", retriable=False)
            monkeypatch.setattr(bench.ledger, "take_over", raiser(error))
        bench.send(put(), durable=True)
        await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert bench.owner.failure

    run(test)


def raiser(error: Exception) -> Callable[..., TakenOver]:
    def fail(*_: object, **__: object) -> TakenOver:
        raise error

    return fail


def test_a_start_without_a_ledger_says_why() -> None:
    async def test(bench: Bench) -> None:
        bench.log.unavailable = "the network is down"
        with pytest.raises(LedgerUnavailable, match="the network is down"):
            await bench.owner.start()
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert "the network is down" in bench.owner.failure

    run(test)


def test_time_passes_by_itself() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(expiry_ms=20), durable=True)
        await until(lambda: depth(bench) == 0)
        assert await bench.ask(c.Get(1, wait_ms=20), durable=True) == Messages([])

    run(test)


def test_a_manual_clock_does_all_that_is_due() -> None:
    clock = ManualClock()

    async def test(bench: Bench) -> None:
        await bench.begin()
        unit = SESSION + bytes(8)
        bench.send(c.Begin(unit))
        messages = [MessageData(expiry_ms=10) for _ in range(2500)]
        bench.send(c.Put(1, messages, unit))
        await bench.ask(c.Commit(unit), durable=True)
        assert depth(bench) == 2500
        clock.advance(1)
        bench.owner.tick()
        assert depth(bench) == 0

    run(test, clock)


def test_an_idle_owner_shows_that_it_lives() -> None:
    async def test(bench: Bench) -> None:
        bench.owner = Owner(
            "QM1", bench.ledger, bench.clock, bench.front, settings=OwnerSettings(heartbeat_s=0.01)
        )
        await bench.begin()
        end = bench.log.end
        await until(lambda: bench.log.end >= end + 3)

    bench = run(test)
    entries = MemoryLedgerReader(bench.log).read(0)
    assert len(entries) == bench.log.end - 1, "heartbeats are valid entries"


async def in_flight(bench: Bench) -> bytes:
    """A unit that holds a message."""
    await bench.begin()
    await bench.ask(put(), durable=True)
    unit = SESSION + bytes(8)
    bench.send(c.Begin(unit))
    await bench.ask(c.Get(1, unit))
    return unit


def reasons(bench: Bench, *requests: int) -> list[int]:
    answers = [bench.front.answers[request] for request in requests]
    return [answer.reason if isinstance(answer, Refused) else 0 for answer in answers]


def test_a_quiesce_lets_units_end_and_everybody_else_go() -> None:
    async def test(bench: Bench) -> None:
        unit = await in_flight(bench)
        bench.owner.loop.take(inputs.Connected(2))
        await bench.ask(c.Open(1, "Q", c.INPUT), connection=2)
        quiescing = asyncio.create_task(bench.owner.quiesce(WAIT_S))
        await until(lambda: bool(bench.front.closed))
        assert bench.front.closed == [(2, Reason.QUEUE_MANAGER_QUIESCING)]
        assert bench.owner.statistics().state == "quiescing"
        refused = bench.send(put(), durable=True)
        await until(lambda: refused in bench.front.answers)
        assert reasons(bench, refused) == [Reason.QUEUE_MANAGER_QUIESCING]
        committed = bench.send(c.Commit(unit), durable=True)
        await quiescing
        assert reasons(bench, committed) == [0], "answered before its connection was closed"
        assert bench.front.closed[1:] == [(1, Reason.QUEUE_MANAGER_QUIESCING)]
        assert depth(bench) == 0

    run(test)


def test_nobody_is_let_go_before_all_is_durable() -> None:
    async def test(bench: Bench) -> None:
        unit = await in_flight(bench)
        quiescing = asyncio.create_task(bench.owner.quiesce(WAIT_S))
        await until(lambda: bench.owner.quiescing)
        bench.log.arm("slow durable")
        committed = bench.send(c.Commit(unit), durable=True)
        end = bench.log.end
        await until(lambda: bench.log.end > end)
        await asyncio.sleep(0.01)
        assert not bench.front.closed
        bench.ledger.release()
        await quiescing
        assert reasons(bench, committed) == [0]

    run(test)


def test_a_get_that_waits_hears_the_reason_before_it_is_let_go() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        waits = bench.send(c.Get(1, wait_ms=-1), durable=True)
        await bench.owner.quiesce(WAIT_S)
        assert reasons(bench, waits) == [Reason.QUEUE_MANAGER_QUIESCING]
        assert bench.front.closed == [(1, Reason.QUEUE_MANAGER_QUIESCING)]

    run(test)


def test_units_that_do_not_end_are_backed_out() -> None:
    async def test(bench: Bench) -> None:
        await in_flight(bench)
        await bench.owner.quiesce(0.02)
        assert bench.front.closed == []
        await bench.owner.stop()
        second = Bench(bench.log)
        await second.owner.start()
        (stored,) = second.owner.loop.qm.queues["Q"].in_order()
        assert stored.backout_count == 1
        await second.owner.stop()

    run(test)


def test_who_hurries_waits_for_nothing() -> None:
    async def test(bench: Bench) -> None:
        await in_flight(bench)
        bench.log.arm("slow durable")
        bench.send(put(), durable=True)
        quiescing = asyncio.create_task(bench.owner.quiesce(10 * WAIT_S))
        await until(lambda: bench.owner.quiescing)
        bench.owner.hurry()
        async with asyncio.timeout(1.0):
            await quiescing
            await bench.owner.stop()

    run(test)


def test_a_doubt_ends_a_quiesce() -> None:
    async def test(bench: Bench) -> None:
        await in_flight(bench)
        quiescing = asyncio.create_task(bench.owner.quiesce(10 * WAIT_S))
        await until(lambda: bench.owner.quiescing)
        bench.log.arm("lost before durable")
        bench.owner.loop.heartbeat()
        async with asyncio.timeout(WAIT_S):
            await quiescing
        assert bench.front.closed[-1] == (0, Reason.QUEUE_MANAGER_NOT_AVAILABLE)

    run(test)
