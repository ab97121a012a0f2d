"""A standby: it knows what the owner knows, replaces it when it is gone, and else does nothing."""

import asyncio
import os
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

from adapter.core.contract.records import EventRaised
from adapter.core.inputs import Stopped
from adapter.core.rules.primitives.lifetime import FOR_GOOD, STOPPED
from adapter.runtime.owner import liveness, processes
from adapter.runtime.owner.announcement import OwnerPlace, announcement
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.following import (
    GIVE_WAY_S,
    FollowBounds,
    LedgerFollower,
    StoppedForGood,
    Vacancy,
)
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.owner_signs import LinkEvidence, OwnerSigns
from adapter.runtime.owner.replay import RANDOM_BYTES
from adapter.runtime.owner.snapshots import SnapshotCut, publish
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import LedgerMismatch, LedgerReader, LedgerUnavailable, Position
from adapter.storage.ledger.snapshots import MemorySnapshots, Snapshot
from tests.support.awaited import until
from tests.unit.runtime.owner.test_owner import Bench, Front, put

HEARTBEAT_S = 5.0
ELSEWHERE = bytes(range(16))
STOP, STOP_FOR_GOOD = (
    entries.encode([EventRaised(STOPPED, "QM1", 1, details)]) for details in ({}, {FOR_GOOD: "yes"})
)
WAIT_S = 20.0


class Time:
    """A clock that goes on when it is looked at, by step_s."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.step_s = step_s
        self.s = 0.0

    def now_s(self) -> float:
        self.s += self.step_s
        return self.s


class Standby:
    """A follower of a log, and what it asks."""

    def __init__(self, log: MemoryLog, step_s: float = 0.0, entries_max: int = 1_000) -> None:
        self.log = log
        self.time = Time(step_s)
        self.snapshots = MemorySnapshots()
        self.readers: list[Position | None] = []
        self.followed: list[str] = []
        """Whom it has begun to follow."""
        self.follower = LedgerFollower(
            "QM1",
            MemoryLedger(log),
            self.reader,
            self.snapshots,
            None,
            HEARTBEAT_S,
            lambda: self.followed.append(self.follower.owner_text),
            FollowBounds(entries=entries_max),
            self.time.now_s,
        )

    def reader(self, position: Position | None) -> LedgerReader:
        self.readers.append(position)
        return MemoryLedgerReader(self.log, position)


def owned(log: MemoryLog, owner: bytes, *payloads: bytes) -> MemoryLedger:
    ledger = MemoryLedger(log)
    ledger.take_over(owner, "QM1 (process 7 on elsewhere)", lambda _entry: None)
    for payload in payloads:
        ledger.append(payload)
    return ledger


def test_a_ledger_without_an_owner_is_taken_over_at_once() -> None:
    assert Standby(MemoryLog()).follower.follow() == Vacancy(b"", "its ledger has no owner")


def test_a_silent_owner_is_replaced_after_three_heartbeats() -> None:
    log = MemoryLog()
    owned(log, ELSEWHERE, entries.encode([]))
    standby = Standby(log, step_s=1.0)
    vacancy = standby.follower.follow()
    assert vacancy is not None
    assert vacancy.owner == ELSEWHERE
    assert vacancy.why.startswith("it has written nothing for 1")
    assert standby.time.s >= liveness.SILENCES * HEARTBEAT_S
    assert standby.followed == ["QM1 (process 7 on elsewhere)"]


def test_an_owner_that_writes_is_not_replaced() -> None:
    """Until it is silent, however long the standby runs."""
    log = MemoryLog()
    ledger = owned(log, ELSEWHERE)
    standby = Standby(log, step_s=1.0)
    beats = 0

    def beat() -> float:
        nonlocal beats
        standby.time.s += 1.0
        if beats < 200:
            beats += 1
            ledger.append(entries.encode([]))
        return standby.time.s

    standby.follower._now_s = beat
    vacancy = standby.follower.follow()
    assert vacancy is not None
    assert beats == 200
    assert standby.time.s >= 200 + liveness.SILENCES * HEARTBEAT_S


def test_an_owner_that_has_only_announced_itself_is_silent_too() -> None:
    log = MemoryLog()
    owned(log, ELSEWHERE)
    vacancy = Standby(log, step_s=1.0).follower.follow()
    assert vacancy is not None
    assert vacancy.owner == ELSEWHERE


def test_an_owner_of_this_machine_is_replaced_as_soon_as_its_process_has_ended() -> None:
    program = "import sys; print('up', flush=True); sys.stdin.read()"
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    running.stdout.readline()
    mark = processes.machine() + processes.process(running.pid)
    log = MemoryLog()
    owned(log, os.urandom(RANDOM_BYTES) + mark, entries.encode([]))
    standby = Standby(log)
    found: list[Vacancy | None] = []
    following = threading.Thread(target=lambda: found.append(standby.follower.follow()))
    following.start()
    following.join(0.3)
    assert found == [], "its time stands still, and the process runs"
    running.communicate(timeout=WAIT_S)
    following.join(WAIT_S)
    (vacancy,) = found
    assert vacancy is not None
    assert vacancy.why == "its process has ended"


class Heard(OwnerSigns):
    """The owner's port is closed, and other standbys go first."""

    evidence = LinkEvidence.ENDED
    ahead = 2


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_standby_waits_for_those_that_go_first(
    is_replaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And if one of them has taken over by then, it follows that one."""
    log = MemoryLog()
    owned(log, ELSEWHERE, entries.encode([]))
    standby = Standby(log)
    follower = standby.follower
    follower._signs = Heard()
    waits: list[float] = []

    def wait(timeout_s: float) -> bool:
        waits.append(timeout_s)
        if is_replaced:
            owned(log, bytes(reversed(ELSEWHERE)))
            follower._signs = OwnerSigns()
            standby.time.step_s = 1.0
        return False

    monkeypatch.setattr(follower._given_up, "wait", wait)
    vacancy = follower.follow()
    assert waits == [2 * GIVE_WAY_S]
    assert vacancy is not None
    if is_replaced:
        assert vacancy.owner == bytes(reversed(ELSEWHERE))
        assert vacancy.why.startswith("it has written nothing")
    else:
        assert vacancy == Vacancy(ELSEWHERE, "the link to it broke, and its port is closed")


@pytest.mark.parametrize("for_good", [False, True])
def test_a_stop_ends_the_standby_only_if_an_operator_stopped_the_queue_manager(
    for_good: bool,
) -> None:
    log = MemoryLog()
    standby = Standby(log)

    async def main() -> Vacancy | None:
        bench = Bench(log)
        await bench.begin()
        following = asyncio.get_running_loop().run_in_executor(None, standby.follower.follow)
        await until(lambda: bool(standby.readers))
        await bench.owner.stop(Stopped(for_good))
        return await asyncio.wait_for(following, WAIT_S)

    if for_good:
        with pytest.raises(StoppedForGood, match="queue manager QM1 was stopped, and its standby"):
            asyncio.run(main())
        assert Standby(log).follower.follow() is not None, "a start is no longer forbidden"
    else:
        vacancy = asyncio.run(main())
        assert vacancy is not None
        assert vacancy.why == "it was stopped"


def test_it_takes_over_what_the_owner_knew() -> None:
    log = MemoryLog()

    async def main() -> None:
        first = Bench(log)
        await first.begin()
        for number in range(50):
            await first.ask(put(b"%d" % number), durable=True)
        standby = Standby(log)
        owner = Owner("QM1", MemoryLedger(log), SystemClock(), Front())
        following = asyncio.create_task(owner.standby.follow(standby.follower))
        await until(lambda: bool(standby.followed and standby.readers))
        assert not owner.running
        assert "it follows QM1 (process" in owner.why_not
        await first.owner.stop()
        assert await asyncio.wait_for(following, WAIT_S)
        assert owner.lifecycle.state is OwnerState.RUNNING
        queue = owner.term.qm.queues["Q"]
        assert [stored.message.body for stored in queue.stored.values()] == [
            b"%d" % number for number in range(50)
        ]
        await owner.stop()

    asyncio.run(main())


def test_of_five_standbys_one_takes_over_and_the_others_follow_it() -> None:
    log = MemoryLog()

    async def main() -> None:
        first = Bench(log)
        await first.begin()
        owners = [Owner("QM1", MemoryLedger(log), SystemClock(), Front()) for _ in range(5)]
        standbys = [Standby(log) for _ in owners]
        tasks = [
            asyncio.create_task(owner.standby.follow(standby.follower))
            for owner, standby in zip(owners, standbys, strict=True)
        ]
        await until(lambda: all(owner.standby.follows for owner in owners))
        await until(lambda: all(standby.readers for standby in standbys))
        await first.owner.stop()
        await until(lambda: any(owner.running for owner in owners))
        await until(lambda: sum(owner.standby.follows for owner in owners) == 4)
        states = sorted(owner.lifecycle.state.value for owner in owners)
        assert states == ["running", *["standby"] * 4]
        for standby in standbys:
            standby.follower.give_up()
        await asyncio.gather(*tasks)
        for owner in owners:
            await owner.stop()

    asyncio.run(main())


def test_it_begins_again_with_a_newer_snapshot() -> None:
    """Its memory stays that of a restart, and what is trimmed is not missed."""
    log = MemoryLog()

    async def main() -> None:
        first = Bench(log)
        await first.begin()
        standby = Standby(log, entries_max=20)
        owner = Owner("QM1", MemoryLedger(log), SystemClock(), Front())
        following = asyncio.create_task(owner.standby.follow(standby.follower))
        for begun in range(1, 4):
            await until(lambda begun=begun: len(standby.readers) == begun)  # type: ignore[misc]
            cut_snapshot(first, standby.snapshots)
            for number in range(25):
                await first.ask(put(b"%d" % number), durable=True)
        await first.owner.stop()
        assert await asyncio.wait_for(following, WAIT_S)
        assert len(owner.term.qm.queues["Q"].stored) == 75
        await owner.stop()

    asyncio.run(main())


class Watching(OwnerSigns):
    """Notes who is to be watched, and where."""

    def __init__(self) -> None:
        self.watched: list[tuple[bytes, str]] = []

    def watch(self, owner: bytes, place: OwnerPlace) -> None:
        self.watched.append((owner, place.address))


@pytest.mark.parametrize("why", ["Kafka does not answer", "it was trimmed"])
def test_where_the_owner_is_is_asked_until_it_is_known(why: str) -> None:
    log, here = MemoryLog(), OwnerPlace("HOST:1", key=b"k" * 32)
    ledger = MemoryLedger(log)
    said = announcement("QM1", here)
    ledger.take_over(ELSEWHERE, said.written, lambda _entry: None)
    standby = Standby(log, step_s=0.1)
    follower, watching = standby.follower, Watching()
    follower._signs = follower._watch._signs = watching
    asked: list[float] = []
    announcement_of = follower._ledger.announcement_of

    def ask(owner: bytes) -> str:
        asked.append(standby.time.s)
        if len(asked) < 5 and why == "Kafka does not answer":
            raise LedgerUnavailable("no answer")
        return announcement_of(owner)

    follower._ledger.announcement_of = ask  # type: ignore[method-assign]
    if why == "it was trimmed":
        ledger.append(entries.encode([]))
        cut = Snapshot(ledger.durable(), 1, [entries.encode([])])
        standby.snapshots.write(cut)
        ledger.trim(cut.after.offset)
    for _ in range(500):
        assert follower.step() is None
        ledger.append(entries.encode([]))  # it lives
        if len(asked) == 4 and why == "it was trimmed":
            ledger.announce_again()
    assert watching.watched == [(ELSEWHERE, ""), (ELSEWHERE, "HOST:1")]
    assert follower.owner_text == said.text
    assert len(asked) == 5, "it is known then"
    pauses = [after - before for before, after in pairwise(asked)]
    assert pauses == sorted(pauses), "each is longer"
    assert pauses[0] < 2.0


def test_a_snapshot_topic_that_cannot_be_read_does_not_end_a_standby() -> None:
    """It needs no newer snapshot for what it follows."""
    log = MemoryLog()
    ledger = owned(log, ELSEWHERE, entries.encode([]))
    standby = Standby(log, entries_max=3)
    assert standby.follower.step() is None
    asked = 0

    def newest() -> None:
        nonlocal asked
        asked += 1
        raise LedgerMismatch("it was created again")

    for _ in range(20):
        assert standby.follower.step() is None
        standby.snapshots.newest = newest  # type: ignore[method-assign]
        ledger.append(entries.encode([]))
    assert 2 < asked < 10


def cut_snapshot(bench: Bench, snapshots: MemorySnapshots) -> None:
    """Write a snapshot as of the owner's last durable entry, with all its messages."""
    at = bench.ledger.durable()
    n, records, unmoved = bench.owner.loop.cut(0, frozenset())
    assert n == at.n, "all of it is durable"
    publish(SnapshotCut(n, records, unmoved, at), snapshots)


def test_kafka_that_does_not_answer_is_no_silence() -> None:
    log = MemoryLog()
    owned(log, ELSEWHERE, entries.encode([]))
    standby = Standby(log, step_s=1.0)
    asked = 0
    ledger = standby.follower._ledger
    last_record = ledger.last_record

    def unavailable() -> object:
        nonlocal asked
        asked += 1
        if 1 < asked < 5:
            raise LedgerUnavailable("no answer")
        return last_record()

    ledger.last_record = unavailable  # type: ignore[method-assign, assignment]
    vacancy = standby.follower.follow()
    assert vacancy is not None
    assert standby.time.s >= 2 * liveness.SILENCES * HEARTBEAT_S, "it began to count anew"


def test_a_standby_tries_again_while_kafka_does_not_answer_its_take_over() -> None:
    log = MemoryLog()

    async def main() -> None:
        first = Bench(log)
        await first.begin()
        await first.ask(put(), durable=True)
        standby = Standby(log)
        owner = Owner("QM1", MemoryLedger(log), SystemClock(), Front())
        following = asyncio.create_task(owner.standby.follow(standby.follower))
        await until(lambda: bool(standby.readers))
        log.unavailable = "no broker answers"
        await first.owner.stop()
        await until(lambda: owner.lifecycle.state is OwnerState.TAKING_OVER)
        await asyncio.sleep(0.1)
        assert not following.done()
        log.unavailable = ""
        assert await asyncio.wait_for(following, WAIT_S)
        assert len(owner.term.qm.queues["Q"].stored) == 1
        await owner.stop()

    asyncio.run(main())


def test_a_standby_that_is_told_to_stop_while_kafka_does_not_answer_ends() -> None:
    log = MemoryLog()
    owned(log, ELSEWHERE, entries.encode([]))
    log.unavailable = "no broker answers"

    async def main() -> None:
        standby = Standby(log, step_s=1.0)
        owner = Owner("QM1", MemoryLedger(log), SystemClock(), Front())
        following = asyncio.create_task(owner.standby.follow(standby.follower))
        await until(lambda: bool(standby.readers))
        await until(lambda: owner.lifecycle.state is OwnerState.TAKING_OVER)
        owner.standby.give_up()
        owner.taking.give_up()
        with pytest.raises(LedgerUnavailable):
            await asyncio.wait_for(following, WAIT_S)
        assert owner.lifecycle.state is OwnerState.FAILED

    asyncio.run(main())


def test_a_standby_that_lost_a_race_ends_with_a_winner_that_is_stopped_for_good() -> None:
    log = MemoryLog()
    standby = Standby(log)
    ledger = owned(log, ELSEWHERE, entries.encode([]))
    assert standby.follower.step() is None
    ledger.append(STOP_FOR_GOOD)
    standby.follower.rest()
    with pytest.raises(StoppedForGood):
        standby.follower.step()


def test_a_stop_is_not_forgotten_while_kafka_does_not_answer() -> None:
    log = MemoryLog()
    ledger = owned(log, ELSEWHERE)
    standby = Standby(log)
    assert standby.follower.step() is None
    ledger.append(STOP)
    asked = standby.follower._ledger.last_record

    def unavailable() -> object:
        raise LedgerUnavailable("no answer")

    standby.follower._ledger.last_record = unavailable  # type: ignore[method-assign, assignment]
    assert standby.follower.step() is None
    standby.follower._ledger.last_record = asked  # type: ignore[method-assign]
    assert standby.follower.step() == Vacancy(ELSEWHERE, "it was stopped")
