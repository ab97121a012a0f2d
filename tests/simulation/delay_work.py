"""Programs that put messages for later, drawn at random, for the auditor of delays to judge.

All is durable at once here. Of the queue manager's memory there is little, so that what waits is
read back from where it waits; it crashes, with and without a snapshot, or its owner takes over
again.
"""

from __future__ import annotations

import itertools

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Done, PutDone, Statuses
from tests.simulation.delay_auditor import DelayAuditor, Letter, Seen
from tests.simulation.programs import ident_of
from tests.simulation.work import CLIENTS, OBSERVER, Work, messages_of
from tests.support.by_hand import ByHand
from tests.support.core import Core

QUEUES = ("A", "B")
DELAYS_S = (0, 0, 1, 5, 20, 90, 3_600, 400_000)
EXPIRIES_S = (0, 0, 0, 3, 60, 5_000)
STEP_MS = 1_000
"""Time passes in such steps: a delay has some milliseconds more, of each message others."""


class DelayWork(Work[DelayAuditor]):
    """One run; a seed says everything that happens."""

    COMMITTED = 0.7
    LOOK_EVERY = 3
    SECONDS = (0, 1, 4, 15, 60, 3_600, 500_000)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        limits = Limits(window_messages=self.rng.choice([1, 2, 5, 1_000]))
        self.core = ByHand() if seed % 2 == 0 else Core(limits)
        self.core.configure()
        self.auditor = DelayAuditor()
        self.auditor.passes(self.core.now_ms)
        self._names = itertools.count(1)
        self._connect()
        for queue in QUEUES:
            self.people["ada"].define(queue)
            self.auditor.defined(queue)
        self._open_all()
        self.operations = {
            self.put: 45,
            self.get: 20,
            self.begin: 7,
            self.end: 9,
            self.advance: 16,
            self.purge: 1,
            self.lose: 1.5,
            self.crash: 2.5,
        }

    def look(self) -> None:
        """Show the auditor what is on all queues, and how much waits."""
        eve = self.people[OBSERVER]
        found: dict[str, Seen] = {}
        for queue in QUEUES:
            eve.do(c.Open(9, queue, c.BROWSE))
            names: list[str] = []
            while messages := messages_of(eve.do(c.Browse(9, limit=1_000))):
                names += [one.message.body.decode() for one in messages]
            eve.do(c.Close(9))
            status = eve.do(c.AskStatus(queue))
            assert isinstance(status, Statuses)
            found[queue] = (names, status.queues[0].delayed)
        self.auditor.check(self.auditor.seen(), found, "a look at all queues")

    def _open_all(self, *people: str) -> None:
        for person in people or CLIENTS:
            for number, queue in enumerate(QUEUES, 1):
                self._done(person, c.Open(number, queue, c.INPUT | c.OUTPUT))

    def put(self) -> None:
        """Put a message, for now or for later."""
        rng = self.rng
        person, number = rng.choice(CLIENTS), next(self._names)
        unit = rng.choice([*self._mine(person), "", ""])
        queue, name = rng.choice(QUEUES), f"m{number}"
        delay_ms = rng.choice(DELAYS_S) * 1_000
        delay_ms += number % STEP_MS if delay_ms else 0
        expiry_s, now_ms = rng.choice(EXPIRIES_S), self.core.now_ms
        letter = Letter(
            name,
            queue,
            rng.choice([0, 0, 4, 9]),
            rng.random() < 0.7,
            now_ms + delay_ms if delay_ms else 0,
            now_ms + expiry_s * 1_000 if expiry_s else 0,
        )
        message = MessageData(
            name.encode(),
            message_id=ident_of(name),
            priority=letter.priority,
            persistence=int(letter.hard),
            expiry_ms=expiry_s * 1_000 or -1,
        )
        if rng.random() < 0.5:
            message.delay_ms = delay_ms
        else:
            message.deliver_at_ms = letter.due_ms
        handle = QUEUES.index(queue) + 1
        answer = self._do(person, c.Put(handle, [message], self._ident(unit)))
        assert isinstance(answer, PutDone), answer
        self.auditor.put(letter, unit)

    def get(self) -> None:
        """Get what is there, in a unit or not."""
        person, queue = self.rng.choice(CLIENTS), self.rng.choice(QUEUES)
        unit = self.rng.choice([*self._mine(person), ""])
        handle = QUEUES.index(queue) + 1
        found = messages_of(self._do(person, c.Get(handle, self._ident(unit))))
        name = found[0].message.body.decode() if found else ""
        self.auditor.check(self.auditor.got(queue, unit), name, "get", person, queue, unit)

    def purge(self) -> None:
        """Purge a queue, when nothing of it has expired that nobody has looked at yet."""
        self._advance(0)
        queue = self.rng.choice(QUEUES)
        answer = self._do("ada", c.PurgeQueue(queue))
        assert isinstance(answer, Done), answer
        least = self.auditor.purged(queue)
        assert answer.count >= least, f"a purge discarded {answer.count}, there were {least}"

    def end(self) -> None:
        """End a unit; what came back when its time was over goes with the next tick."""
        super().end()
        self._advance(0)
