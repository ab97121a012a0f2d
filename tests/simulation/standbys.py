"""Standbys of a simulated owner, and how its life ends: they race for its ledger when it has gone.

Each standby is a production follower that is let step now and then: some are frozen for long, so
that the ledger is trimmed past them. Those that find the owner gone take over at once, in the worst
order: each reads the ledger, and before it can announce itself the next one does it all. The last
one wins; the others must find that out, and follow it.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import cast

from adapter.runtime.owner.following import FollowBounds, LedgerFollower, Vacancy
from adapter.runtime.owner.replay import take_over
from adapter.runtime.owner.taking_over import Succession
from adapter.storage.ledger import envelope
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Entry, OwnedByAnother, Position
from adapter.storage.ledger.seals import Seals
from tests.simulation import transactions as t
from tests.simulation.faults import (
    BEGAN_AGAIN,
    LATE_APPEND,
    RACE_LOST,
    STANDBY_FROZEN,
    STANDBY_TOOK_OVER,
)
from tests.simulation.programs import Program
from tests.simulation.steps import Steps
from tests.simulation.storage import NAME, Owner
from tests.support.at_once import in_one_thread

STANDBYS_FROM = 401
"""Earlier seeds have none, so that each is what it was."""
STANDBYS_MAX = 5
HEARTBEAT_S = 1.0
SILENCE_S = 4.0
STEPS_MAX = 20
"""Of a follower until it says that the owner has gone: it reads, begins again, waits, and asks."""
RENEW_ENTRIES = 25
FROZEN = b"an owner that was frozen"


class RacedLog:
    """A log on which others are faster: they act before a record is written by way of it."""

    def __init__(self, log: MemoryLog, meanwhile: Callable[[], None]) -> None:
        self._log = log
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    def write(self, value: bytes) -> int:
        """See MemoryLog."""
        self._meanwhile()
        return self._log.write(value)


class SimulatedStandby:
    """One standby process."""

    def __init__(self, owner: Owner, rng: random.Random, met: Counter[str]) -> None:
        self._owner = owner
        self._met = met
        self._now_s = 0.0
        self.frozen = rng.random() < 0.2
        self.follower = self._make_follower(MemoryLedger(owner.log, keys=owner.readers_keys()))
        met[STANDBY_FROZEN] += self.frozen

    def _make_follower(self, ledger: MemoryLedger) -> LedgerFollower:
        owner = self._owner
        return LedgerFollower(
            NAME,
            ledger,
            self._make_reader,
            owner.kept.snapshots,
            owner.limits,
            HEARTBEAT_S,
            lambda: None,
            FollowBounds(entries=RENEW_ENTRIES),
            lambda: self._now_s,
        )

    def _make_reader(self, position: Position | None) -> MemoryLedgerReader:
        return self._owner.new_reader(position)

    def step(self, passed_s: float = 0.0) -> Vacancy | None:
        """Read and decide, after some time."""
        self._now_s += passed_s
        before = self.follower._replay
        vacancy = self.follower.step()
        self._met[BEGAN_AGAIN] += before is not None and self.follower._replay is not before
        return vacancy

    def find_vacancy(self) -> Vacancy | None:
        """Follow until the owner is found to be gone, while nobody writes."""
        for _ in range(STEPS_MAX):
            vacancy = self.step(SILENCE_S)
            if vacancy is not None:
                self.follower.rest()
                return vacancy
        raise AssertionError("a standby does not notice that its owner has gone")

    def lose(self, owner_id: bytes, vacancy: Vacancy, meanwhile: Callable[[], None]) -> None:
        """Take over, and be too late: what happens meanwhile comes before the announcement."""
        log = cast("MemoryLog", RacedLog(self._owner.log, meanwhile))
        try:
            with in_one_thread():
                take_over(
                    NAME,
                    owner_id,
                    "too late",
                    MemoryLedger(log, keys=self._owner.readers_keys()),
                    self._owner.limits,
                    self._owner.kept,
                    check=True,
                    instead_of=vacancy.owner,
                    followed=self.follower.take(),
                )
        except OwnedByAnother:
            self._met[RACE_LOST] += 1
            return
        raise AssertionError("two standbys have taken over from the same owner")


class OwnerEnds(Steps):
    """A simulation whose owner ends, and is started again, or replaced by a standby."""

    _owner_ids: itertools.count[int]
    _seed: int

    def _begin_standbys(self) -> None:
        self._chance = random.Random(f"standbys {self._seed}")
        count = self._chance.randint(1, STANDBYS_MAX) if self._seed >= STANDBYS_FROM else 0
        self._standbys = [self._new_standby() for _ in range(count)]

    def _new_standby(self) -> SimulatedStandby:
        return SimulatedStandby(self.owner, self._chance, self.met)

    def _let_standbys_follow(self) -> None:
        """Let some of them step: none may find that the owner has gone, which lives."""
        for standby in self._standbys:
            if self._chance.random() < (0.002 if standby.frozen else 0.2):
                vacancy = standby.step()
                assert vacancy is None, f"an owner that lives was to be replaced: {vacancy}"

    def _crash(self) -> None:
        """Let the owner's process end, mostly without a word, and another one begin."""
        owner, replaced = self.owner, self.owner.owner_id
        figures = owner.loop.statistics()
        if owner.loop.idle:
            where = "crash at rest"
        elif figures["entries_in_flight"]:
            where = "crash with entries in flight"
        else:
            where = "crash before an append"
        if self.rng.random() < 0.15 and not self._loses_topics:
            where = "stop"
            owner.stop()
        self._count_crash(where, self._programs_now())
        if self.rng.random() < 0.2:
            self._crash_while_taking_over()
        appended_n = owner.loop.appends.appended_n
        self._begin_again()
        owner.doubts.clear()
        if self._standbys:
            self._land_late(replaced, appended_n)
        self._recovered(crashed=True)
        owner.log.write(owner.ledger.change_of(b"comes to".ljust(16), replaced, FROZEN))

    def _begin_again(self) -> None:
        """Start the queue manager again, or let its standbys race for it."""
        racing = [one for one in self._standbys if not one.frozen or self._chance.random() < 0.3]
        if not racing or self._chance.random() < 0.3:
            self.owner.crash()
            return
        self.owner.end()
        found = [(one, one.find_vacancy()) for one in racing]
        self._chance.shuffle(found)
        self._race(found)
        self._standbys = [
            self._new_standby() if one is found[-1][0] else one for one in self._standbys
        ]

    def _race(self, racing: list[tuple[SimulatedStandby, Vacancy | None]]) -> None:
        """Let the first be overtaken by the second, that one by the third, and so on."""
        (standby, vacancy), *others = racing
        assert vacancy is not None, "it was found"
        if others:
            owner_id = b"late" + next(self._owner_ids).to_bytes(12, "big")
            standby.lose(owner_id, vacancy, lambda: self._race(others))
            return
        self.met[STANDBY_TOOK_OVER] += 1
        self.owner.begin(Succession(vacancy.owner, standby.follower.take()))

    def _land_late(self, replaced: bytes, appended_n: int) -> None:
        """Let an append of the owner before land behind its successor's announcement."""
        log = self.owner.log
        lies = [one.value for one in log.read(log.first, log.end)]
        written = [(last, one) for one in lies if (last := entry_of(one, replaced)) is not None]
        if written and written[-1][0].parts == 1:
            self.met[LATE_APPEND] += 1
            last, value = written[-1]
            late = envelope.encode(envelope.ENTRY, replaced, appended_n + 1, last.payload)
            seal = envelope.seal_of(value)
            if seal is not None:
                late = Seals(log.topic, self.owner.readers_keys()).seal(seal.key_id, late)
            log.write(late)

    def _crash_while_taking_over(self) -> None:
        self.met["crash while taking over"] += 1
        left = self.rng.randint(0, 20)

        def replay(_entry: Entry) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise t.Killed

        self.owner.ledger.close()
        owner_id = b"dies" + next(self._owner_ids).to_bytes(12, "big")
        with contextlib.suppress(t.Killed):
            newest = self.owner.kept.snapshots.newest()
            after = newest.after if newest else None
            self.owner.new_ledger().take_over(owner_id, "dies", replay, after)

    def _recovered(self, crashed: bool) -> None:
        raise AssertionError("a simulation knows what follows")

    def _programs_now(self) -> list[Program]:
        raise AssertionError("a simulation knows its programs")


def entry_of(value: bytes, owner: bytes) -> envelope.Envelope | None:
    """Decode a record of the ledger, if it is an entry of an owner and is not torn."""
    try:
        found = envelope.decode(value)
    except envelope.CorruptRecord:
        return None
    return found if found.kind == envelope.ENTRY and found.owner == owner else None
