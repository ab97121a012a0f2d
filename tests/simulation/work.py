"""What works have in common: programs that come and go, their units, time and crashes, by chance.

All is durable at once, so that an auditor knows what each answer has to be. Half of the seeds have
an owner on a ledger, which may take over from itself; the others a core that crashes with and
without a snapshot.
"""

from __future__ import annotations

import abc
import itertools
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Generic, TypeVar

from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Done, Messages, Result
from tests.simulation.work_auditor import WorkAuditor
from tests.support.by_hand import ByHand
from tests.support.core import Client, Core

CLIENTS = ("ada", "bob")
OBSERVER = "eve"

Operation = Callable[[], None]
AnyAuditor = TypeVar("AnyAuditor", bound=WorkAuditor)


class Work(abc.ABC, Generic[AnyAuditor]):
    """One run; a seed says everything that happens."""

    CLIENTS: ClassVar[tuple[str, ...]] = CLIENTS
    """Whose units begin and end, and whose connections are lost."""
    OTHERS: ClassVar[tuple[str, ...]] = (OBSERVER,)
    UNITS_MAX = 2
    """Of a client, at a time."""
    COMMITTED = 0.6
    """How many of the units; the others are backed out."""
    LOOK_EVERY = 1
    """Operations between two looks at what is there."""
    SECONDS: ClassVar[tuple[float, ...]] = ()
    """How long nothing may happen."""

    core: Core
    auditor: AnyAuditor
    operations: dict[Operation, float]
    """What is drawn from, each with its weight."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.people: dict[str, Client] = {}
        self.units: dict[str, tuple[str, bytes]] = {}
        """Of open units: whose they are, and their ids."""
        self._numbers = itertools.count(1)

    @property
    def met(self) -> Counter[str]:
        """What has been met, and how often."""
        return self.auditor.met

    def run(self, operations: int) -> None:
        """Do so many operations; look at what is there now and then, and at the end."""
        verbs = list(self.operations)
        weights = list(itertools.accumulate(self.operations.values()))
        for count in range(operations):
            self._step(self.rng.choices(verbs, cum_weights=weights)[0])
            if count % self.LOOK_EVERY == 0:
                self.look()
        self._come_to_rest()

    def _step(self, operation: Operation) -> None:
        operation()

    def _come_to_rest(self) -> None:
        self.look()

    @abc.abstractmethod
    def look(self) -> None:
        """Compare what is there with what is expected."""

    # -- connections and time

    def _connect(self, *names: str) -> None:
        """Connect these, or all."""
        for name in names or (*self.CLIENTS, *self.OTHERS):
            self.people[name] = client = self.core.connect()
            client.open_session(self.core.new_session_id())

    @abc.abstractmethod
    def _open_all(self, *people: str) -> None:
        """Open for these, or for all, what they have open from the start."""

    def lose(self) -> None:
        """Lose a connection, and connect again."""
        self._lose(self.rng.choice(self.CLIENTS))

    def _lose(self, person: str) -> None:
        self.people[person].lose()
        self.units = {unit: one for unit, one in self.units.items() if one[0] != person}
        self.auditor.lost(person)
        self._connect(person)
        self._open_all(person)

    def crash(self) -> None:
        """Crash, after a snapshot or without one, or let the owner take over from itself."""
        core = self.core
        if not isinstance(core, ByHand):
            self._crash(self.rng.choice(self._ways_to_crash()), keeps_soft=False)
        elif self.rng.random() < 0.5:
            self._crash(partial(core.take_over, core.qm), keeps_soft=True)
        else:
            self._crash(core.crash, keeps_soft=False)

    def _ways_to_crash(self) -> list[Operation]:
        return [self.core.crash, self.core.crash_with_snapshot]

    def _crash(self, way: Operation, *, keeps_soft: bool) -> None:
        self.core.answers.clear()
        way()
        self.auditor.crashed(keeps_soft=keeps_soft)
        self._begin_again()
        self.look()

    def _begin_again(self) -> None:
        """Connect all to a queue manager that does not know them."""
        self.units.clear()
        self._connect()
        self._open_all()

    def advance(self) -> None:
        """Let time pass."""
        self._advance(self.rng.choice(self.SECONDS))

    def _advance(self, seconds: float) -> None:
        self.core.advance(seconds)
        self.auditor.passes(self.core.now_ms)

    # -- units

    def begin(self) -> None:
        """Begin a unit, if its program may have one more."""
        person = self.rng.choice(self.CLIENTS)
        if len(self._mine(person)) < self.UNITS_MAX:
            unit = f"u{next(self._numbers)}"
            self.units[unit] = person, self.people[person].begin()
            self.auditor.begun(person, unit)

    def end(self) -> None:
        """End a unit, one way or the other."""
        if not self.units:
            return
        unit = self.rng.choice(list(self.units))
        person, ident = self.units.pop(unit)
        if self.rng.random() < self.COMMITTED:
            self._done(person, c.Commit(ident))
            self.auditor.committed(unit)
        else:
            self._done(person, c.Backout(ident))
            self.auditor.backed_out(unit)

    def _mine(self, person: str) -> list[str]:
        """Return the units that a program has open."""
        return [unit for unit, (whose, _) in self.units.items() if whose == person]

    def _ident(self, unit: str) -> bytes:
        """Return the id of a unit, or what stands for none."""
        return self.units[unit][1] if unit else b""

    # -- words

    def _do(self, person: str, command: c.Command) -> Result:
        return self.people[person].do(command)

    def _done(self, person: str, command: c.Command) -> Done:
        """Give a command that must be carried out."""
        answer = self._do(person, command)
        assert isinstance(answer, Done), f"{command} was answered {answer}"
        return answer


def messages_of(result: Result) -> list[Delivered]:
    """Return what was got, or browsed."""
    assert isinstance(result, Messages), result
    return result.messages
