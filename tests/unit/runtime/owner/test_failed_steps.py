"""A step of core that fails ends its term: the ledger says what happened, and nothing else does."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.audit import STEP_FAILED
from adapter.core.contract.message import MessageData
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised, UnitArrived
from adapter.core.contract.results import Messages, PutDone, Refused
from adapter.core.contract.transmission import Transmission
from adapter.core.effects import Effects
from adapter.core.model.manager import QueueManager
from adapter.core.tables import DECIDE
from adapter.runtime.owner import recovery
from adapter.runtime.owner.failed_steps import (
    COMMAND_REFUSED,
    INPUT_FAILURES_MAX,
    INPUT_FAILURES_WITHIN_S,
    KEPT_BACK,
    KNOWN_MAX,
    NO_PARTY,
    FailedStep,
    FailedSteps,
)
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.storage.format import entries
from adapter.storage.ledger import port
from adapter.storage.ledger.memory import MemoryLedgerReader
from tests.support.examples import examples
from tests.unit.runtime.owner.test_owner import Bench, depth, put, run, until

RUNS = 12
NO_CLIENT = (b"", NO_PARTY)
WORK = 30
"""Commands of a run."""


class Breaking:
    """Lets steps fail while they are applied: what they have changed by then stays changed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._apply = dispatch._apply_each
        self.fails: Callable[[QueueManager, Any], bool] = never
        patch.setattr(dispatch, "_apply_each", self._each)

    def _each(self, qm: QueueManager, effects: Effects, records: list[Any]) -> None:
        for record in records:
            self._apply(qm, effects, [record])
            if self.fails(qm, record):
                raise ZeroDivisionError(f"at {type(record).__name__}, {chr(0x1F600)}")


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Breaking:
    return Breaking(monkeypatch)


def is_put(record: Any) -> bool:
    return bool(getattr(record, "puts", ()))


async def another_term(bench: Bench, connection: int, *unanswered: int) -> None:
    """Come back in the term of the connection's number: each term has one connection."""
    await until(lambda: bench.owner.running and bench.owner.statistics().terms == connection)
    await bench.come_back(connection, *unanswered)


def again(bench: Bench, command: c.Command, number: int, connection: int) -> int:
    """Send a numbered command again."""
    bench.requests += 1
    bench.owner.loop.request(c.Request(connection, bench.requests, number, command))
    return bench.requests


def never(_qm: QueueManager, _record: Any) -> bool:
    return False


async def settled(bench: Bench, request: int) -> bool:
    """Wait until a request is answered, or its term has failed; whether it is answered."""
    await until(lambda: request in bench.front.answers or bench.owner.loop.has_failed)
    return request in bench.front.answers


def test_a_step_that_fails_is_as_if_it_had_not_been(breaking: Breaking) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(b"before"), durable=True)
        breaking.fails = lambda _qm, record: is_put(record)
        request = bench.send(put(b"broken"), durable=True)
        number = bench.number
        assert bench.owner.loop.ended, "nothing more is written"
        end = bench.log.end
        bench.send(put(b"never"), durable=True)
        breaking.fails = never
        await another_term(bench, 2, number, bench.number)
        assert bench.log.read(end, end + 1)[0].value[:1] != b"", "the next term's first record"
        assert request not in bench.front.answers
        assert bench.front.closed == [(0, Reason.QUEUE_MANAGER_NOT_AVAILABLE)]
        assert depth(bench) == 1
        repeated = again(bench, put(b"broken"), number, 2)
        await until(lambda: repeated in bench.front.answers)
        assert isinstance(bench.front.answers[repeated], PutDone)
        assert depth(bench) == 2
        assert bench.owner.statistics().failed_steps == 1

    run(test)


def test_a_step_that_fails_is_an_event_of_the_next_term(breaking: Breaking) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        breaking.fails = lambda _qm, record: is_put(record)
        bench.send(put(), durable=True)
        number = bench.number
        breaking.fails = never
        await another_term(bench, 2, number)
        repeated = again(bench, put(), number, 2)
        await until(lambda: repeated in bench.front.answers)
        (event,) = [one for one in events_of(bench) if one.kind == STEP_FAILED]
        assert event.name == "QM1"
        assert event.details["input"] == "Put of connection 1"
        assert event.details["reason"] == "ZeroDivisionError('at UnitCommitted, ?')"
        assert event.details["failed_steps"] == "1"

    run(test)


def events_of(bench: Bench) -> list[EventRaised]:
    """Read the events that were written."""
    reader = MemoryLedgerReader(bench.log)
    records = [one for entry in reader.read(0) for one in entries.decode(entry.payload)]
    return [one for one in records if isinstance(one, EventRaised)]


def test_a_command_that_fails_twice_is_refused_and_others_are_served(breaking: Breaking) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        breaking.fails = lambda _qm, record: is_put(record)
        bench.send(put(), durable=True)
        number = bench.number
        for connection in (2, 3):
            await another_term(bench, connection, number)
            request = again(bench, put(), number, connection)
        await until(lambda: request in bench.front.answers)
        refused = bench.front.answers[request]
        assert isinstance(refused, Refused)
        assert refused.reason == Reason.UNEXPECTED_ERROR
        assert refused.detail == "it failed twice: ZeroDivisionError('at UnitCommitted, ?')"
        assert bench.owner.statistics().failed_steps == 2
        term = bench.owner.statistics().term
        assert term is not None
        assert term.undone[COMMAND_REFUSED].startswith("Put: ZeroDivisionError")
        breaking.fails = never
        bench.number = number
        assert isinstance(await bench.ask(put(), durable=True, connection=3), PutDone)
        request = again(bench, put(), number, 3)
        await until(lambda: request in bench.front.answers)
        assert isinstance(bench.front.answers[request], Refused), "it is its outcome"

    run(test)


def test_a_command_without_a_number_that_fails_twice_is_refused(breaking: Breaking) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        broken = ZeroDivisionError("a bug")

        def fail(*_: object) -> None:
            raise broken

        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(DECIDE, c.Inquire, fail)
            for connection in (1, 2):
                bench.send(c.Inquire("*"), connection=connection)
                await another_term(bench, connection + 1)
            refused = await bench.ask(c.Inquire("*"), connection=3)
        assert isinstance(refused, Refused)
        assert refused.reason == Reason.UNEXPECTED_ERROR
        assert isinstance(await bench.ask(put(), durable=True, connection=3), PutDone)

    run(test)


def test_a_record_that_cannot_be_written_is_of_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encode = entries.encode

    def unwritable(records: Any) -> bytes:
        written = list(records)
        if any(is_put(one) for one in written):
            raise OverflowError("int too large")
        return encode(written)

    async def test(bench: Bench) -> None:
        await bench.begin()
        monkeypatch.setattr(entries, "encode", unwritable)
        bench.send(put(), durable=True)
        number = bench.number
        for connection in (2, 3):
            await another_term(bench, connection, number)
            request = again(bench, put(), number, connection)
        await until(lambda: request in bench.front.answers)
        refused = bench.front.answers[request]
        assert isinstance(refused, Refused)
        assert refused.reason == Reason.UNEXPECTED_ERROR
        assert depth(bench) == 0

    run(test)


def test_an_input_that_cannot_be_left_out_ends_the_process_when_it_fails_every_time() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()

        def fail(*_: object) -> None:
            raise ZeroDivisionError("a bug")

        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(dispatch.STEPS, inputs.Tick, fail)
            for terms in range(1, INPUT_FAILURES_MAX):
                bench.owner.tick()
                await until(lambda: bench.owner.running and not bench.owner.loop.has_failed)
                assert bench.owner.statistics().terms == terms + 1
            bench.owner.tick()
            await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert "Tick fails again and again: ZeroDivisionError('a bug')" in bench.owner.failure
        assert "Start it again" in bench.owner.failure

    run(test)


def test_what_fails_when_a_term_begins_ends_the_owner() -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    async def test(bench: Bench) -> None:
        await bench.begin()
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(dispatch.STEPS, inputs.Restarted, fail)
            patch.setitem(dispatch.STEPS, inputs.Tick, fail)
            bench.owner.tick()
            await until(bench.owner.ended.is_set)
        assert bench.owner.lifecycle.state is OwnerState.FAILED
        assert "cannot begin with what its ledger holds: Restarted failed" in bench.owner.failure

    run(test)


def test_a_step_that_fails_during_a_stop_does_not_keep_it(breaking: Breaking) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        await bench.ask(put(), durable=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.delitem(dispatch.STEPS, inputs.Disconnected)
            await bench.owner.stop()
        second = Bench(bench.log)
        await second.owner.start()
        assert depth(second) == 1
        await second.owner.stop()

    run(test)


def given(offset: int) -> inputs.Arrived:
    message = MessageData(
        message_id=bytes(24), correlation_id=bytes(24), group_id=bytes(24), priority=0,
        persistence=1, put_time_ms=1, transmission=Transmission("Q"),
    )  # fmt: skip
    arrival = Arrival(message, 0, offset)
    return inputs.Arrived(ArrivedUnit("mq.QM1.in", "t", offset, Origin("t"), [arrival]))


def test_an_arrival_that_fails_twice_is_kept_back() -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        steps = dispatch.STEPS[inputs.Arrived]

        def fail(qm: Any, effects: Any, one: Any, now_ms: int) -> None:
            steps(qm, effects, one, now_ms)
            if one.unit.offset == 2:
                raise ZeroDivisionError("a bug")

        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(dispatch.STEPS, inputs.Arrived, fail)
            assert bench.owner.loop.take(given(1))
            for _ in range(2):
                assert not bench.owner.loop.take(given(2))
                await until(lambda: bench.owner.running and not bench.owner.loop.has_failed)
            assert not bench.owner.loop.take(given(2))
            assert not bench.owner.loop.has_failed
        term = bench.owner.statistics().term
        assert term is not None
        assert "topic mq.QM1.in before offset 2" in term.undone[KEPT_BACK]

    run(test)


def test_an_arrival_whose_record_cannot_be_written_is_kept_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encode = entries.encode

    def unwritable(records: Any) -> bytes:
        written = list(records)
        if any(isinstance(one, UnitArrived) and one.offset == 2 for one in written):
            raise OverflowError("int too large")
        return encode(written)

    async def test(bench: Bench) -> None:
        await bench.begin()
        monkeypatch.setattr(entries, "encode", unwritable)
        for failures in (1, 2):
            bench.owner.loop.take(given(2))
            await until(partial(has_failed, bench, failures))
            await until(lambda: bench.owner.running and not bench.owner.loop.has_failed)
        assert not bench.owner.loop.take(given(2))
        assert not bench.owner.loop.has_failed
        term = bench.owner.statistics().term
        assert term is not None
        assert "topic mq.QM1.in before offset 2" in term.undone[KEPT_BACK]

    run(test)


def has_failed(bench: Bench, times: int) -> bool:
    return bench.owner.statistics().failed_steps == times


def steps_of(told: list[FailedStep]) -> FailedSteps:
    return FailedSteps("QM1", told.append, now_s=lambda: float(len(told)) * 100.0)


def test_a_page_that_fails_twice_is_missing() -> None:
    told: list[FailedStep] = []
    steps = steps_of(told)
    page = inputs.PageLoaded(PageNeeded("Q", 0, 7), 1, 8, [])
    for _ in range(2):
        assert steps.instead(NO_CLIENT, page) is page
        steps.failed(NO_CLIENT, page, KeyError("Q"))
    assert steps.instead(NO_CLIENT, page) == inputs.PageMissing(page.needed, 1)
    assert [one.is_hopeless for one in told] == [False, False]


def test_what_fails_now_and_then_is_not_hopeless_and_memory_is_bounded() -> None:
    told: list[FailedStep] = []
    steps = steps_of(told)
    for _ in range(20):
        steps.failed(NO_CLIENT, inputs.Tick(), KeyError("Q"))
        told.extend([told[-1]] * int(INPUT_FAILURES_WITHIN_S / 100))
    assert not any(one.is_hopeless for one in told)
    for offset in range(2 * KNOWN_MAX):
        steps.failed(NO_CLIENT, given(offset), KeyError("Q"))
    assert len(steps._known) == KNOWN_MAX


@pytest.mark.parametrize("seed", range(examples(RUNS)))
def test_nothing_is_lost_doubled_or_reordered_whatever_step_fails(
    seed: int, breaking: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client puts and gets, each outside a unit, and repeats what was not answered."""
    monkeypatch.setattr(recovery, "RECOVERY_PAUSES_S", (0.0,))
    chance = Random(seed)
    at = [chance.randrange(6)]

    def fails(_qm: QueueManager, _record: Any) -> bool:
        at[0] -= 1
        if at[0] >= 0:
            return False
        at[0] = chance.randrange(3, 12)
        return True

    async def test(bench: Bench) -> None:
        await bench.begin()
        breaking.fails = fails
        connection, sent = 1, 0
        got: list[bytes] = []
        for _ in range(WORK):
            if chance.random() < 0.6:
                sent += 1
                command: c.Command = put(str(sent).encode())
            else:
                command = c.Get(1)
            bench.number += 1
            number = bench.number
            answered = await settled(bench, again(bench, command, number, connection))
            while not answered:
                breaking.fails = never
                connection += 1
                await another_term(bench, connection, number)
                breaking.fails = fails if chance.random() < 0.3 else never
                answered = await settled(bench, again(bench, command, number, connection))
                breaking.fails = fails
            answer = bench.front.answers[bench.requests]
            if isinstance(answer, Refused) and answer.reason == Reason.UNEXPECTED_ERROR:
                sent -= isinstance(command, c.Put)
            elif isinstance(answer, Messages):
                got += [one.message.body for one in answer.messages]
        breaking.fails = never
        left = [one.message.body for one in bench.owner.loop.qm.queues["Q"].in_order()]
        assert len(got + left) == len(set(got + left))
        assert [int(body) for body in got + left] == sorted(int(body) for body in got + left)
        assert len(got + left) == sent

    run(test)


def test_an_entry_that_the_ledger_does_not_take_is_of_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(bench: Bench) -> None:
        await bench.begin()
        monkeypatch.setattr(port, "PAYLOAD_BYTES_MAX", 10_000)
        long = put(b"x" * 20_000)
        bench.send(put(), durable=True)  # is of the same entry
        bench.send(long, durable=True)
        short, number = bench.number - 1, bench.number
        for connection in (2, 3):
            await another_term(bench, connection, short, number)
            again(bench, put(), short, connection)
            request = again(bench, long, number, connection)
        await until(lambda: request in bench.front.answers)
        refused = bench.front.answers[request]
        assert isinstance(refused, Refused)
        assert refused.reason == Reason.UNEXPECTED_ERROR
        assert "20" in refused.detail, "how long it was"
        assert bench.owner.running
        assert depth(bench) == 1

    run(test)
