"""When snapshots are written and of what, when the ledger is trimmed, and what a stop leaves."""

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import Denial
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.model.queue import LocalQueue
from adapter.runtime.owner import housekeeping
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.clock import ManualClock
from adapter.runtime.owner.housekeeping import (
    NOT_ANNOUNCED,
    NOT_DELETED,
    NOT_LOOKED_AT,
    NOT_TRIMMED,
    SNAPSHOT_FAILED,
)
from adapter.runtime.owner.owner import Owner as RealOwner
from adapter.runtime.owner.parts import DRAIN_S
from adapter.runtime.owner.replay import Replayed, take_over
from adapter.runtime.owner.retries import PAUSE_SWEEPS, PAUSE_SWEEPS_MAX
from adapter.runtime.owner.storage import CopyStatus, HousekeepingBounds, Storage
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable
from adapter.storage.ledger.snapshots import MemorySnapshots, Snapshot
from adapter.storage.topics.port import LaneKey, Page, PagesUnavailableError, Trimmed
from tests.simulation.storage import Owner
from tests.support.core import Client

PART_BYTES = 1_000_000
NOBODY = b"n" * 16
WAIT_S = 20.0


class NoPages:
    """Topics that cannot be read."""

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        raise PagesUnavailableError(f"{queue} {incarnation} {lane} {seq} {count}")

    def rest(self) -> None:
        """See PageReader."""

    def close(self) -> None:
        """Nothing is open."""


class Place:
    """What an owner keeps elsewhere; copied says how far the movers are."""

    def __init__(self, entries: int = 5, bounds: HousekeepingBounds | None = None) -> None:
        self.log = MemoryLog()
        self.snapshots = MemorySnapshots()
        self.copied = CopyStatus()
        self.storage = Storage(
            snapshots=self.snapshots,
            pages=NoPages(),
            copied=lambda: self.copied,
            snapshot_entries=entries,
            bounds=bounds or HousekeepingBounds(),
        )

    def owner(self) -> tuple[Owner, Client]:
        """An owner by hand, and a client with a queue, or two."""
        owner = Owner(Limits(), self.log, self.storage, PART_BYTES)
        client = owner.connect()
        for handle, queue in enumerate(("A", "B"), 1):
            if queue not in owner.qm.queues:
                client.do(c.DefineQueue(queue))
            client.do(c.Open(handle, queue, c.INPUT | c.OUTPUT))
        return owner, client

    @property
    def end(self) -> int:
        return self.log.end

    def all_copied(self, *parked: str) -> None:
        self.copied = CopyStatus(self.end - 1, self.end - 1, frozenset(parked))

    def replayed(self) -> Replayed:
        """What a start would find."""
        log = MemoryLog()
        log._first, log._records = self.log._first, list(self.log._records)
        return take_over("QM1", NOBODY, "test", MemoryLedger(log), None, self.storage)

    def bodies(self, queue: str) -> list[bytes]:
        """What is in memory after a start; the rest is on a topic."""
        return in_memory(self.replayed().qm.queues[queue])


def in_memory(queue: LocalQueue) -> list[bytes]:
    return [queue.stored[place].message.body for place in sorted(queue.stored)]


def sweep(owner: Owner, times: int = 1) -> None:
    for _ in range(times):
        owner.keeping.sweep()
        owner.keeping.go_on()


def put(client: Client, count: int, handle: int = 1) -> list[bytes]:
    bodies = [b"%d" % number for number in range(count)]
    for body in bodies:
        client.put(body.decode(), handle=handle, persistence=1)
    return bodies


def test_generated_names_of_queues_that_are_gone_are_forgotten_with_a_snapshot() -> None:
    place = Place()
    owner, client = place.owner()
    client.do(c.DefineObject("model", "M", {"definition_type": "PERMDYN"}))
    for _ in range(5):
        client.do(c.Open(3, "M", c.INPUT, "GONE.*"))
        client.do(c.Close(3, c.DELETE))
    assert len(owner.qm.numbers.incarnations) == 2 + 5
    sweep(owner, 2 + HousekeepingBounds().patience)
    assert owner.keeping.snapshots == 1
    assert list(owner.qm.numbers.incarnations) == ["A", "B"]


def test_a_snapshot_waits_a_little_for_the_movers_and_then_for_nobody() -> None:
    place = Place()
    owner, client = place.owner()
    bodies = put(client, 8)
    sweep(owner, 1 + HousekeepingBounds().patience)
    assert owner.keeping.snapshots == 0
    sweep(owner)
    assert owner.keeping.snapshots == 1
    assert place.replayed().entries == 0
    assert place.bodies("A") == bodies


def test_looks_at_topics_that_take_long_leave_time_for_a_snapshot() -> None:
    """A look that lasted as long as the pause between two was followed by the next one at once."""
    place = Place(bounds=HousekeepingBounds(audit_sweeps=2))
    looks = 0

    def problems() -> list[str]:
        nonlocal looks
        looks += 1
        return []

    place.storage.topic_problems = problems
    owner, client = place.owner()
    keeping = owner.keeping
    put(client, 8)
    place.all_copied()
    for _ in range(10):
        for _ in range(4):
            keeping.sweep()
        keeping.go_on()
    assert keeping.snapshots == 1
    assert looks > 1


def test_what_has_been_copied_meanwhile_is_not_in_it() -> None:
    place = Place()
    owner, client = place.owner()
    put(client, 8)
    sweep(owner)
    place.all_copied()
    sweep(owner)
    assert owner.keeping.snapshots == 1
    assert place.bodies("A") == []
    assert place.replayed().qm.queues["A"].depth == 8


def test_who_owns_the_ledger_is_in_it_behind_each_snapshot() -> None:
    """So a standby that starts then finds the owner; nothing is trimmed before that is written."""
    place = Place()
    owner, client = place.owner()
    ident = owner.ledger.durable().owner
    said = MemoryLedger(place.log).announcement_of(ident)
    assert said
    for _ in range(4):
        snapshots, first = owner.keeping.snapshots, place.log.first
        put(client, 8)
        place.all_copied()
        place.log.unwritable = "a test says so"
        sweep(owner, 6)
        assert owner.keeping.snapshots == snapshots + 1, "what is written is written"
        assert owner.keeping.snapshot_failures == 0
        assert list(owner.keeping.undone) == [NOT_ANNOUNCED]
        assert place.log.first == first
        records = len(place.snapshots.records)
        sweep(owner, PAUSE_SWEEPS)
        assert len(place.snapshots.records) == records, "and is not written again"
        place.log.unwritable = ""
        put(client, 8)
        place.all_copied()
        sweep(owner, 2 * PAUSE_SWEEPS + 4)  # it is tried again after a pause
        assert not owner.keeping.undone
        assert place.log.first > first
        assert MemoryLedger(place.log).announcement_of(ident) == said


def test_messages_of_a_parked_queue_are_in_it_and_the_ledger_is_kept() -> None:
    place = Place()
    owner, client = place.owner()
    put(client, 4, handle=2)
    bodies = put(client, 4)
    place.all_copied("A")
    sweep(owner, 2)
    assert owner.keeping.snapshots == 1, "nobody waits for what is parked"
    assert (place.bodies("A"), place.bodies("B")) == (bodies, [])
    sweep(owner, 3)
    assert place.log.first == 0
    place.all_copied()
    sweep(owner)
    newest = place.snapshots.newest()
    assert newest is not None
    assert place.log.first == newest.after.offset > 0
    assert place.bodies("A") == bodies, "the snapshot stays as it is"


def test_what_only_a_snapshot_holds_stays_in_memory_until_it_is_copied() -> None:
    place = Place()
    owner, client = place.owner()
    bodies = put(client, 8)
    sweep(owner, 2 + HousekeepingBounds().patience)
    owner.crash()
    queue = owner.qm.queues["A"]
    owner.qm.limits = Limits(window_messages=1)
    place.copied = CopyStatus(place.end - 2, place.end - 2)
    sweep(owner)
    assert in_memory(queue) == bodies
    place.all_copied("A")
    sweep(owner)
    assert in_memory(queue) == bodies
    place.all_copied()
    sweep(owner)
    assert len(in_memory(queue)) == 1


def test_what_is_parked_is_so_while_the_movers_begin_again() -> None:
    place = Place()
    owner, client = place.owner()
    owner.qm.limits = Limits(window_messages=1)
    bodies = put(client, 8)
    place.all_copied("A")
    sweep(owner)
    place.copied = CopyStatus()
    sweep(owner)
    assert in_memory(owner.qm.queues["A"]) == bodies
    assert owner.keeping.snapshots == 1
    assert place.bodies("A") == bodies


def test_too_much_that_waits_is_not_written() -> None:
    place = Place(bounds=HousekeepingBounds(carried_bytes=3_000, patience=1))
    owner, client = place.owner()
    put(client, 8)
    sweep(owner, 9)
    assert owner.keeping.snapshots == 0
    place.all_copied()
    sweep(owner)
    assert owner.keeping.snapshots == 1


def test_what_a_snapshot_took_must_be_worth_it() -> None:
    place = Place(bounds=HousekeepingBounds(patience=0))
    owner, client = place.owner()
    client.put("x" * 100_000, persistence=1)
    put(client, 8)
    sweep(owner, 3)
    assert owner.keeping.snapshots == 1
    put(client, 50)
    sweep(owner, 3)
    assert owner.keeping.snapshots == 1, "the large message would be written again and again"
    client.put("y" * 100_000, persistence=1)
    sweep(owner, 3)
    assert owner.keeping.snapshots == 2


def test_nothing_is_written_that_may_not_have_happened() -> None:
    place = Place(bounds=HousekeepingBounds(patience=0))
    owner, client = place.owner()
    put(client, 8)
    owner.held = True
    client.send(c.Put(1, [MessageData(b"in flight", persistence=1)]), client.issued + 1)
    owner.turn()
    sweep(owner, 3)
    assert owner.keeping.snapshots == 0
    owner.settle()
    sweep(owner)
    assert owner.keeping.snapshots == 1
    assert place.bodies("A")[-1] == b"in flight"


def test_what_a_start_has_read_counts_towards_the_next_snapshot() -> None:
    place = Place(entries=20)
    owner, client = place.owner()
    for _ in range(3):
        assert owner.keeping.snapshots == 0
        put(client, 6)
        owner.crash()
        client = owner.connect()
        client.do(c.Open(1, "A", c.OUTPUT))
    place.all_copied()
    sweep(owner, 2)
    assert owner.keeping.snapshots == 1


def test_a_start_trims_what_its_snapshot_stands_for() -> None:
    place = Place()
    owner, client = place.owner()
    put(client, 8)
    place.all_copied()
    sweep(owner, 2)
    assert (owner.keeping.snapshots, place.log.first) == (1, 0)
    owner.crash()
    place.all_copied()
    sweep(owner)
    assert place.log.first > 0


def test_a_ledger_that_may_not_be_trimmed_is_reported_and_trimmed_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Place()
    owner, client = place.owner()
    put(client, 8)
    place.all_copied()
    sweep(owner, 2)
    owner.crash()
    place.all_copied()
    why = "Kafka denies Delete on topic T"

    def trim(_ledger: MemoryLedger, _before: int) -> None:
        raise LedgerUnavailable(why)

    with monkeypatch.context() as denied:
        denied.setattr(MemoryLedger, "trim", trim)
        sweep(owner)
    assert owner.keeping.undone == {NOT_TRIMMED: why}
    assert owner.keeping.snapshot_failures == 0
    sweep(owner, PAUSE_SWEEPS - 1)
    assert place.log.first == 0, "it is not tried at every sweep"
    sweep(owner, 2)
    assert place.log.first > 0
    assert owner.keeping.undone == {}


def test_what_may_not_be_looked_at_is_reported_until_it_may() -> None:
    place = Place(bounds=HousekeepingBounds(audit_sweeps=1))
    why: list[str] = ["Kafka denies DescribeConfigs on topic T"]

    def problems() -> list[str]:
        if why:
            raise LedgerUnavailable(why[0])
        return []

    place.storage.topic_problems = problems
    owner, _ = place.owner()
    sweep(owner)
    assert owner.keeping.undone == {NOT_LOOKED_AT: why[0]}
    why.clear()
    sweep(owner, 2)
    assert owner.keeping.undone == {}


class BrokenSnapshots(MemorySnapshots):
    """Snapshots that cannot be written, so many times."""

    def __init__(self, fails: int) -> None:
        super().__init__()
        self.left = fails

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:
        if self.left:
            self.left -= 1
            raise OverflowError("Python int too large to convert to C long")
        super().write(snapshot, within_s)


def with_broken_snapshots(
    fails: int, bounds: HousekeepingBounds | None = None
) -> tuple[Place, BrokenSnapshots]:
    place = Place(bounds=bounds)
    broken = BrokenSnapshots(fails)
    place.snapshots = place.storage.snapshots = broken
    return place, broken


def test_a_snapshot_that_fails_is_tried_again_after_longer_and_longer_pauses() -> None:
    place, broken = with_broken_snapshots(3)
    owner, client = place.owner()
    put(client, 8)
    place.all_copied()
    attempts: list[int] = []
    for at in range(10 * PAUSE_SWEEPS):
        left = broken.left
        sweep(owner)
        if broken.left < left:
            attempts.append(at)
            assert "OverflowError" in owner.keeping.undone[SNAPSHOT_FAILED]
            put(client, 1)
        place.all_copied()
    pauses = [after - before for before, after in itertools.pairwise(attempts)]
    assert len(attempts) == 3
    assert PAUSE_SWEEPS <= pauses[0] < 2 * PAUSE_SWEEPS <= pauses[1]
    assert owner.keeping.undone == {}
    assert owner.keeping.snapshot_failures == 3
    assert broken.newest() is not None
    assert place.log.first > 0


def test_an_owner_serves_on_without_snapshots_and_says_when_a_start_would_take_long() -> None:
    place, broken = with_broken_snapshots(10**9, HousekeepingBounds(behind_bytes=20_000))
    owner, client = place.owner()
    for _ in range(4 * PAUSE_SWEEPS):
        put(client, 1)
        place.all_copied()
        sweep(owner)
    trouble = owner.keeping.trouble
    assert trouble.startswith("no snapshot can be written, and a start would have to read")
    assert "OverflowError" in trouble
    broken.left = 0
    sweep(owner, PAUSE_SWEEPS_MAX)
    assert owner.keeping.trouble == ""
    assert broken.newest() is not None


def test_a_state_that_cannot_be_described_ends_no_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot is cut on the owner's thread."""
    place = Place()
    owner, client = place.owner()
    put(client, 8)
    with monkeypatch.context() as broken:
        broken.setattr(dispatch, "snapshot", raiser(KeyError("Q")))
        sweep(owner, 3)
    assert owner.keeping.undone == {SNAPSHOT_FAILED: "KeyError('Q')"}
    put(client, 1)
    place.all_copied()
    sweep(owner, 2 * PAUSE_SWEEPS)
    assert owner.keeping.undone == {}
    assert place.snapshots.newest() is not None


def raiser(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_what_fails_in_another_thread_ends_no_owner() -> None:
    """Trimming the ledger, deleting consumed messages, looking at topics, writing snapshots."""

    class Trimmer:
        def trim(self, lanes: Mapping[LaneKey, int]) -> Trimmed:
            raise ZeroDivisionError(f"{len(lanes)}")

    place, _ = with_broken_snapshots(1, HousekeepingBounds(audit_sweeps=3))
    place.storage.trimmer = Trimmer()
    place.storage.retention_ms = 0
    place.storage.topic_problems = raiser(ZeroDivisionError("topics"))  # type: ignore[assignment]

    async def run() -> None:
        ledger = MemoryLedger(place.log)
        ledger.trim = raiser(ZeroDivisionError("trim"))  # type: ignore[method-assign]
        owner = RealOwner("QM1", ledger, ManualClock(), Front(), storage=place.storage)
        await owner.start()
        keeping = owner.term.housekeeping
        assert keeping is not None
        keeping.retention._due = {("A", 0, 0): 5}
        keeping._superfluous = 1
        place.copied = CopyStatus(10, 10, frozenset())
        wanted = {NOT_LOOKED_AT, NOT_TRIMMED, NOT_DELETED}
        async with asyncio.timeout(WAIT_S):
            while set(keeping.undone) != wanted:
                keeping.sweep()
                await asyncio.sleep(0)
        assert owner.running
        assert not owner.failure
        owner.loop.take(inputs.Tick())
        await asyncio.wait_for(owner.stop(), WAIT_S)
        assert not owner.failure

    asyncio.run(run())


# At the end.


class Front(ClientSink):
    """Connections that nobody hears of."""

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Hear nothing."""

    def close(self, connection: int, reason: Refused | None) -> None:
        """Hear nothing."""

    def denied(self, denials: Sequence[Denial]) -> None:
        """Hear nothing."""

    def close_all(self, reason: Refused) -> None:
        """Hear nothing."""


def left_by(place: Place, size: int, then: Callable[[], None] = lambda: None) -> float:
    """Run an owner that takes a message of so many bytes and stops; how long the stop took."""

    async def run() -> float:
        ledger = MemoryLedger(place.log)
        owner = RealOwner("QM1", ledger, ManualClock(), Front(), storage=place.storage)
        await owner.start()
        owner.loop.take(inputs.Connected(1))
        commands: tuple[tuple[c.Command, int], ...] = (
            (c.SessionOpen(b"s" * 16), 0),
            (c.DefineQueue("A"), 1),
            (c.Open(1, "A", c.OUTPUT), 0),
            (c.Put(1, [MessageData(bytes(size), persistence=1)]), 2),
        )
        for request, (command, number) in enumerate(commands, 1):
            owner.loop.request(c.Request(1, request, number, command))
        asyncio.get_running_loop().call_later(0.1, then)
        began_s = time.monotonic()
        await asyncio.wait_for(owner.stop(), WAIT_S)
        return time.monotonic() - began_s

    return asyncio.run(run())


def test_a_stop_leaves_next_to_nothing_to_read() -> None:
    """Not even for movers that have not begun yet does it wait."""
    place = Place(1_000, HousekeepingBounds(last_copies_s=WAIT_S))
    assert left_by(place, 1_000) < WAIT_S / 8
    replayed = place.replayed()
    assert (replayed.entries, replayed.bytes) == (0, 0)
    assert place.bodies("A") == [bytes(1_000)]


def test_a_stop_waits_for_the_movers_if_much_is_not_copied() -> None:
    place = Place(1_000, HousekeepingBounds(last_carried_bytes=10_000))
    assert left_by(place, 20_000, place.all_copied) < DRAIN_S
    assert place.bodies("A") == []
    assert place.replayed().entries == 0


def test_a_stop_whose_snapshot_fails_is_a_stop() -> None:
    place, broken = with_broken_snapshots(10**9)
    assert left_by(place, 1_000) < WAIT_S
    assert broken.left < 10**9
    assert place.bodies("A") == [bytes(1_000)]


@pytest.mark.parametrize("is_parked", [False, True])
def test_a_stop_does_not_wait_for_ever(is_parked: bool) -> None:
    last_copies_s = WAIT_S / 4 if is_parked else 0.3
    bounds = HousekeepingBounds(last_carried_bytes=10_000, last_copies_s=last_copies_s)
    place = Place(1_000, bounds)
    then = (lambda: place.all_copied("A")) if is_parked else (lambda: None)
    assert left_by(place, 20_000, then) < WAIT_S / 8
    assert place.snapshots.newest() is None
    assert place.bodies("A") == [bytes(20_000)]


class SlowSnapshots(MemorySnapshots):
    """Snapshots that an administrator has deleted, and whose next one takes long."""

    def __init__(self, takes_s: float) -> None:
        super().__init__()
        self._takes_s = takes_s
        self.bounds_s: list[float] = []

    def write(self, snapshot: Snapshot, within_s: float | None = None) -> None:
        assert within_s is not None
        self.bounds_s.append(within_s)
        if within_s < self._takes_s:
            time.sleep(within_s)
            raise LedgerUnavailable("Kafka was slow")
        super().write(snapshot)

    def is_kept(self) -> bool:
        return bool(self.records)


@pytest.mark.parametrize("takes_s", [2.8, WAIT_S])
def test_a_stop_tries_longer_to_write_the_snapshot_that_the_next_start_needs(
    takes_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than what a stop waits for a snapshot that spares a start some reading."""
    monkeypatch.setattr(housekeeping, "NEEDED_LAST_S", 3.0)
    place = Place(1_000)
    place.snapshots = place.storage.snapshots = slow = SlowSnapshots(takes_s)
    assert left_by(place, 1_000) < WAIT_S
    assert [limit_s > DRAIN_S for limit_s in slow.bounds_s] == [False, True]
    assert (slow.newest() is not None) is (takes_s < WAIT_S)
