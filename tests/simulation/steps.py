"""From what a step of the owner caused to what the auditor is told, and pages that come one day.

A request that waits for a page is decided when the page has come: only then does the auditor hear
of it. What nobody is answered is said too: which messages were discarded because their time was
over, and which waiting gets cannot be looked at before a page comes.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator

from adapter.core.contract.commands import Browse, Get
from adapter.core.contract.message import Delivered
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.records import MessagesDiscarded, Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Messages
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.effects import Effects
from adapter.core.model.queue import LocalQueue
from adapter.core.model.waiters import Waiter
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.matching import candidates
from adapter.runtime.owner.storage import CopyStatus
from adapter.server.services.movers import copy_status
from adapter.storage.movers.mover import Mover
from adapter.storage.topics.port import PagesUnavailableError
from tests.simulation.auditor import Auditor
from tests.simulation.faults import (
    COMMITS_IN_FLIGHT,
    CRASH_WITH_COMMITS,
    PUT_REFUSED,
    TOUCHED,
)
from tests.simulation.operations import Op
from tests.simulation.programs import PASSING, Program, Sent
from tests.simulation.storage import PAGE_LATE, Faults, Movers, Owner

PAGES_MAX = 20_000
Waits = tuple[int, int]
"""Connection and request."""


class Steps:
    """An owner whose steps an auditor is told of."""

    rng: random.Random
    met: Counter[str]
    owner: Owner
    auditor: Auditor
    _faults: Faults
    _loses_topics: bool
    _retention_ms: int
    _mover: Mover | None
    _by_connection: dict[int, Program]
    _undecided: dict[Waits, tuple[Program, Op]]
    _gone_unheard: list[tuple[str, str]] | None
    _bodies: dict[tuple[str, int, int, int], str]
    _shown: dict[tuple[str, int, int, int], bytes]

    @property
    def now_ms(self) -> int:
        """The owner's time."""
        return self.owner.now_ms

    def _tick(self) -> None:
        """Let the owner look at the time."""
        self.owner.advance(0)
        self._done(Op("", "tick", self.now_ms))

    def _count_commit(self, program: Program, op: Op) -> None:
        """Count a commit that is sent while others of its program are in flight."""
        self.met[COMMITS_IN_FLIGHT] += op.kind == "commit" and program.commits_in_flight > 1

    def _count_crash(self, where: str, programs: list[Program]) -> None:
        """Count a crash, and whether a program has several commits in flight."""
        self.met[where] += 1
        self.met[CRASH_WITH_COMMITS] += any(one.commits_in_flight > 1 for one in programs)

    def _copied(self) -> CopyStatus:
        return copy_status(Movers(self._mover)) if self._mover else CopyStatus()

    def _keep_house(self) -> None:
        """Let go of what is copied, write a snapshot, trim the ledger, read pages: some of it."""
        rng, owner = self.rng, self.owner
        if rng.random() < 0.2 and not self._loses_topics:
            owner.keeping.sweep()
            if rng.random() < 0.5:
                owner.keeping.go_on()
            if rng.random() < 0.5:
                owner.keeping.trimming.go_on()
        while owner.wanted and rng.random() < 0.6:
            self._page_on(rng.choice(list(owner.wanted)))

    def _trimmed(self, queue: str, bodies: list[str]) -> None:
        """Consumed messages are about to be deleted; readers have had their time to see them."""
        self._look_at_topics()
        self.auditor.trimmed(queue, bodies, self.now_ms - self._retention_ms)

    def _look_at_topics(self) -> None:
        raise AssertionError("a simulation knows its topics")

    def _page_on(self, key: tuple[str, int, str]) -> None:
        """Read a page that is wanted, or deliver what was read."""
        wanted = self.owner.wanted[key]
        if wanted.page is not None:
            self._deliver(key)
            return
        if self._faults.meets(PAGE_LATE):
            return
        needed = wanted.needed
        with contextlib.suppress(PagesUnavailableError):
            wanted.page = self.owner.kept.pages.read(
                needed.queue, wanted.incarnation, needed.lane, needed.seq, wanted.count
            )

    def _deliver(self, key: tuple[str, int, str]) -> None:
        """Give the owner a page; tell the auditor what is decided by it."""
        owner = self.owner
        wanted = owner.wanted.pop(key)
        assert wanted.page is not None, "it has been read"
        queue = owner.qm.queues.get(key[0])
        before = self._who_waits(queue) if queue else []
        woken = [key[0]] if queue and self.owner.qm.waiters.count(queue) else []
        owner.loop.page(wanted.needed, wanted.incarnation, wanted.page)
        self._went_on(before, woken)

    def _say_what_was_seen(self, program: Program) -> None:
        """Say so of some; of the others it may be asked again."""
        seen = self.rng.sample(program.heard, self.rng.randint(1, len(program.heard)))
        self._say(program, seen)

    def _say(self, program: Program, seen: list[int]) -> None:
        for number in seen:
            program.heard.remove(number)
            program.unanswered.pop(number, None)
        self._see(program, seen)

    def _is_full(self, program: Program) -> bool:
        """Whether no more can be kept for a program until it says what it has seen."""
        qm = self.owner.qm
        return qm.sessions[program.client.session].kept_bytes >= qm.limits.kept_bytes

    def _see(self, program: Program, numbers: list[int]) -> None:
        """Let a program say what it has seen; gets may go on that waited for room."""
        client, queues = program.client, self.owner.qm.queues.values()
        held = self.owner.qm.connections[client.number].turns.held
        before = [(one.connection, one.request) for one in held]
        woken = [queue.name for queue in queues if self.owner.qm.waiters.count(queue)]
        client.seen(*numbers)
        self._went_on(before, woken)

    def _went_on(self, before: list[Waits], woken: list[str]) -> None:
        """Tell the auditor what was decided of what had waited, and of the gets that wait."""
        executed = self.owner.took()
        if not any(step.records or step.replies for step in executed):
            woken = []
        gone = self._gone_by(executed)
        if gone:
            self._tell(Op("", "expire", self.now_ms), gone)
        decided = self._now_decided(
            [at for at in before if at in self._undecided and not self._waits(at)]
        )
        self._see_batches(executed)
        for op in decided:
            self._decided(op)
        for queue in woken:
            self._tell(Op("", "wake", self.now_ms, queue=queue))

    def _tell(self, op: Op, gone: Iterable[tuple[str, str]] = ()) -> None:
        """Tell the auditor of an operation that nobody is answered."""
        op.gone = tuple(gone)
        if self._gone_unheard is not None:
            self._gone_unheard += op.gone
            return
        self._decided(op)

    def _who_waits(self, queue: LocalQueue) -> list[Waits]:
        """Who waits for a page of a queue, and then who is held behind those, in their order."""
        first = [(one.connection, one.request) for one in queue.suspended]
        connections = self.owner.qm.connections
        held = [connections[number].turns.held for number in dict.fromkeys(at[0] for at in first)]
        return first + [(one.connection, one.request) for line in held for one in line]

    def _waits(self, at: Waits) -> bool:
        """Whether a request is not decided yet."""
        connection = self.owner.qm.connections.get(at[0])
        if connection is None:
            return False
        turns = connection.turns
        return any(one.request == at[1] for one in (*turns.suspended, *turns.held))

    def _done(self, op: Op) -> None:
        """Tell the auditor of what has just been done."""
        executed = self.owner.took()
        self._see_batches(executed)
        self._tell(op, self._gone_by(executed))

    def _send_one_way(self, program: Program, sent: Sent) -> None:
        """Ask for an operation that is not answered, unless its program waits for a page: nobody
        could say when it is decided."""
        number, command = program.client.number, sent.command
        if any(at[0] == number for at in self._undecided):
            return
        unit = self.owner.qm.connections[number].units.get(getattr(command, "unit", b""))
        was_ahead = unit is not None and unit.ahead and bool(unit.gets)
        program.client.tell(command)
        self.met[TOUCHED] += was_ahead and sent.op.kind == "touch"
        self.met[PUT_REFUSED] += unit is not None and unit.refusal is not None
        self._done(sent.op)

    def _comes_in_turn(self, at: Waits, op: Op) -> None:
        """Nothing of a unit is decided before what the same program asked for it before."""
        for earlier, (_, other) in self._undecided.items():
            overtaken = earlier[0] == at[0] and earlier[1] < at[1] and op.unit == other.unit
            assert not (op.unit and overtaken), f"{op} overtakes {other}"

    def _saw(self, queue: str, shown: list[Delivered]) -> None:
        """No two messages of a queue ever have the same place."""
        for one in shown if queue != PASSING else ():
            body = one.message.body
            known = self._shown.setdefault((queue, one.lane, one.seq, one.n), body)
            assert known == body, f"{body!r} has the place of {known!r} on {queue}"

    def _now_decided(self, places: list[Waits]) -> list[Op]:
        """Note that what waited for a page has been decided."""
        decided = []
        for at in places:
            program, op = self._undecided.pop(at)
            self._comes_in_turn(at, op)
            op.now_ms = self.now_ms
            program.asked[at[1]] = op
            decided.append(op)
        return decided

    def _gone_by(self, executed: list[Effects]) -> list[tuple[str, str]]:
        """Say which messages were discarded because their time was over; note what was put."""
        gone: list[tuple[str, str]] = []
        queues, bodies = self.owner.qm.queues, self._bodies
        for step, index, record in each_record(executed):
            if isinstance(record, UnitCommitted):
                for put in record.puts:
                    if not put.n:
                        at = put.queue, queues[put.queue].incarnation, put.lane, put.seq
                        bodies[at] = put.message.body.decode()
            elif isinstance(record, MessagesDiscarded) and record.cause == "expired":
                for number, place in enumerate(record.places):
                    if place.n:
                        body = step.removed[index][number][1].message.body.decode()
                    else:
                        incarnation = queues[place.queue].incarnation
                        body = bodies[place.queue, incarnation, place.lane, place.seq]
                    gone.append((place.queue, body))
        return gone

    def _see_batches(self, executed: list[Effects]) -> None:
        """A batch may end at what is not in memory: then so much was asked for."""
        for reply in (reply for step in executed for reply in step.replies):
            self._see_batch(reply)

    def _see_batch(self, reply: Reply) -> None:
        program = self._by_connection.get(reply.connection)
        op = program.asked.get(reply.request) if program else None
        if op is None or op.limit == 1 or not isinstance(reply.result, Messages):
            return
        queue = self.owner.qm.queues[op.queue]
        if 0 < len(reply.result.messages) < op.limit and queue.paged_count:
            op.limit = len(reply.result.messages)

    def _decided(self, op: Op) -> None:
        """Tell the auditor of an operation, and of the waiting gets that cannot be served now."""
        full, stuck = set(), set()
        for queue in self.owner.qm.queues.values():
            for waiter in self.owner.qm.waiters.waiting_for(queue):
                at = waiter.request
                program = self._by_connection.get(at.connection)
                asked = program.asked.get(at.request) if program else None
                if asked is None:
                    continue
                if waiting.has_no_room(self.owner.qm, at):
                    full.add(asked.index)
                elif self._needs_a_page(queue, waiter):
                    stuck.add(asked.index)
        op.full, op.stuck = frozenset(full), frozenset(stuck)
        self.auditor.decided(op)

    def _needs_a_page(self, queue: LocalQueue, waiter: Waiter) -> bool:
        """Whether nobody can say before a page comes if a waiting get is served."""
        try:
            assert isinstance(waiter.command, (Get, Browse)), "no program of MSMQ is simulated"
            assert waiter.handle is not None, "a get or a browse has one"
            for stored in candidates(waiter.handle, waiter.command) if queue.paged_count else ():
                if not 0 < stored.message.expires_at_ms <= self.now_ms:
                    break
        except PageNeeded:
            return True
        return False

    def _page_to_the_end(self) -> None:
        """Let everything be written, and all pages come that are wanted, in some order."""
        owner = self.owner
        owner.settle()
        for _ in range(PAGES_MAX):
            if not owner.wanted:
                owner.settle()
                return
            self._page_on(self.rng.choice(list(owner.wanted)))
        raise AssertionError(f"pages are wanted for ever: {list(owner.wanted)}")


def each_record(executed: Iterable[Effects]) -> Iterator[tuple[Effects, int, Record]]:
    """Iterate over the records of steps, each with its step and its index there."""
    return ((step, at, one) for step in executed for at, one in enumerate(step.records))
