"""Durable consumers and programs that get, drawn at random, for their auditor to judge.

All is durable at once here, but for what consumers ask while an append goes wrong. Half of the
seeds have an owner on a ledger, whose messages are copied to their topics some time later; the
others a core that crashes with and without a snapshot. Pages may be late.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Batches,
    Consumers,
    ConsumerState,
    ConsumerStatus,
    Done,
    Refused,
    Result,
)
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.taking_over import Succession
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedgerReader
from adapter.storage.topics.port import Page
from tests.simulation.consumer_auditor import ConsumerAuditor, Letter
from tests.simulation.programs import ident_of
from tests.simulation.work import CLIENTS, OBSERVER, Operation, Work, messages_of
from tests.simulation.work_auditor import Answer
from tests.support.by_hand import ByHand
from tests.support.core import Core

QUEUES = ("Q", "B")
"""Handles 1 and 2; Q has the consumers, B is its backout queue."""
NAMES = ("X", "Y")
CONSUMER_AT = 10
"""Handles of consumers are numbered from here."""
MODES = c.INPUT | c.OUTPUT | c.BROWSE
TIMEOUTS_MS = (20_000, 60_000)
PAGES_MAX = 1_000
DOUBTS = ("lost before durable", "lost after durable", "doubtful", "rival owner", "duplicate")
"""What the append meets that holds what a consumer has asked for."""
OVER_S = 400.0
"""After so long nobody has a claim any more, and all that can expire has gone."""


class Copied(ByHand):
    """An owner whose messages are on their topics when it is told so, and can be read back."""

    def __init__(self, limits: Limits) -> None:
        self.wanted: list[tuple[PageNeeded, int, int]] = []
        super().__init__(limits)
        self._reader = MemoryLedgerReader(self.log)

    def copy(self) -> None:
        """Do what movers do with all that is durable; let go of what memory need not hold."""
        while found := self._reader.read(0.0):
            for entry in found:
                self._copy(entries.decode(entry.payload))
        self.loop.take(inputs.Copied(self.loop.entry_n - 1, frozenset()))
        self.settle()

    def take_over(
        self, old: QueueManager | None = None, succession: Succession | None = None
    ) -> None:
        """See ByHand."""
        self.wanted.clear()
        super().take_over(old, succession)

    def want_page(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        """Keep the wish."""
        self.wanted.append((needed, incarnation, count))

    def settle(self) -> None:
        """See ByHand; and read what is wanted, if it may be."""
        for _ in range(PAGES_MAX):
            super().settle()
            if self.doubts or not self.wanted or not self.reads_pages:
                return
            self._read(*self.wanted.pop(0))
        raise AssertionError(f"pages are wanted for ever: {self.wanted}")

    def _read(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        topic = self.topics[needed.queue, incarnation, needed.lane]
        through = needed.seq + count - 1
        found = [topic[seq] for seq in range(needed.seq, through + 1) if seq in topic]
        copies = [
            msgspec.structs.replace(one, message=msgspec.structs.replace(one.message))
            for one in found
        ]
        self.loop.page(needed, incarnation, Page(through, copies))


class ConsumerWork(Work[ConsumerAuditor]):
    """One run; a seed says everything that happens."""

    LOOK_EVERY = 5
    SECONDS = (0.5, 5, 15, 30, 90)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = self.rng
        limits = Limits(window_messages=rng.choice([1, 3, 1_000]))
        self.core = Copied(limits) if seed % 2 == 0 else Core(limits)
        self.expires = rng.random() < 0.5
        threshold = rng.choice([0, 1, 1, 2, 3])
        requeue = rng.choice(["B", "B", "B", "", "MISSING"])
        most = 0 if self.expires else rng.choice([0, 2])
        self.auditor = ConsumerAuditor(threshold, requeue, most)
        self.auditor.now_ms = self.core.now_ms
        self.claims: dict[int, bytes] = {}
        """By their numbers, what claims are called."""
        self._connect()
        spoils = {"backout_threshold": threshold, "backout_requeue_queue": requeue}
        self._do("ada", c.DefineQueue("Q", spoils))
        self._do("ada", c.DefineQueue("B", {"max_depth": most or 1_000}))
        self._open_all()
        self.operations = {
            self.put: 28,
            self.get: 14,
            self.begin: 7,
            self.end: 8,
            self.open: 12,
            self.claim: 24,
            self.claim_late: 5,
            self.claim_ahead: 2,
            self.read: 20,
            self.die_of_it: 5,
            self.doubt: 5,
            self.read_old: 2,
            self.consume: 10,
            self.close: 3,
            self.delete: 0.7,
            self.purge: 0.7,
            self.copy: 14,
            self.advance: 5,
            self.lose: 6,
            self.crash: 3,
        }

    def _step(self, operation: Operation) -> None:
        operation()
        self._copied()

    def _copied(self) -> None:
        """A core that is no owner's has on its topics at once what it is given."""
        if not isinstance(self.core, Copied):
            self.auditor.copied()

    def _come_to_rest(self) -> None:
        """Let all go, and all time pass: nothing that was not consumed is lost."""
        for person in CLIENTS:
            self._lose(person)
        self.copy()
        self.look()
        self._crash(self.core.crash, keeps_soft=False)
        self.copy()
        for _ in range(10):
            self._advance(OVER_S)
        self.look()
        depths = self.auditor.depths()
        self.auditor.check({name: low for name, (low, _) in depths.items()}, self._depths(), "rest")
        assert not any(one.held for one in self.auditor.consumers.values()), "nobody has a batch"

    # -- what is there

    def look(self) -> None:
        """Compare what is on the queues, and what is said of consumers, with what is expected."""
        self.auditor.check(self.auditor.listing(), self._listing(), "a look at the queues")
        self.auditor.check(self.auditor.statuses(), self._statuses(), "a look at the consumers")
        for name, depth in self._depths().items():
            low, high = self.auditor.depths()[name]
            assert low <= depth <= high, f"depth of {name} is {depth}, due is {low} to {high}"

    def _listing(self) -> dict[str, list[tuple[str, int]]]:
        return {name: self._browsed(number) for number, name in enumerate(QUEUES, 1)}

    def _statuses(self) -> list[Answer]:
        answer = self._do(OBSERVER, c.AskConsumers("Q"))
        assert isinstance(answer, Consumers), answer
        return [self._status(one) for one in answer.consumers]

    def _browsed(self, number: int) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        again = True
        while messages := messages_of(self._do(OBSERVER, c.Browse(number, again, 1_000))):
            found += [(self._name(one), one.backout_count) for one in messages]
            again = False
        return found

    def _depths(self) -> dict[str, int]:
        return {name: self.core.queue(name).depth for name in QUEUES}

    def _status(self, one: ConsumerStatus) -> Answer:
        figures = one.consumed, one.last, one.messages, one.deliveries, one.size_max, one.away_s
        return one.name, self._number_of(one.name, one.claim), one.connection > 0, *figures

    def _number_of(self, name: str, ident: bytes) -> int:
        """Say which claim this is: one that is known, or the one that a consumer has just got."""
        known = {claim: number for number, claim in self.claims.items()}
        one = self.auditor.consumers.get(name)
        if ident not in known and one is not None and one.claim not in self.claims:
            self.claims[one.claim] = ident
            return one.claim
        return known.get(ident, 0)

    @staticmethod
    def _name(one: Delivered) -> str:
        name = one.message.body.decode()
        assert one.message.message_id == ident_of(name), one
        return name

    # -- connections, units, time

    def _open_all(self, *people: str) -> None:
        for person in people or self.people:
            for number, queue in enumerate(QUEUES, 1):
                self._do(person, c.Open(number, queue, MODES))

    def _crash(self, way: Operation, *, keeps_soft: bool) -> None:
        super()._crash(partial(self._replay, way), keeps_soft=keeps_soft)

    def _replay(self, way: Operation) -> None:
        """Crash, and see that what is replayed is what there was."""
        before = hard_state(self.core.qm)
        self.auditor.met["snapshot with a batch"] += way == self.core.crash_with_snapshot and any(
            one.held for one in self.auditor.consumers.values()
        )
        way()
        self.auditor.check(before, hard_state(self.core.qm), "a replay")

    def _begin_again(self) -> None:
        super()._begin_again()
        self._copied()

    def doubt(self) -> None:
        """Let an append go wrong when a consumer asks: all that it asked is done, or nothing."""
        core, name = self.core, self._some_open()
        if not isinstance(core, Copied) or not name:
            return
        command, asked = self._some_command(name)
        client = self.people[self._client_of(name)]
        core.log.arm(self.rng.choice(DOUBTS))
        request = client.send(command)
        core.log.disarm()
        answer = client.answer(request)
        if not core.doubts:
            assert answer is not None, f"{command} is not answered"
            self.auditor.check(asked(self.auditor), self._told(answer, name), name, command)
            return
        assert answer is None, f"{command} is answered {answer}, and nobody knows if it was done"
        core.recover()
        done = copy.deepcopy(self.auditor)
        asked(done)
        done.met["consumer in doubt, done"] += 1
        self.auditor.met["consumer in doubt, not done"] += 1
        self._took_over(self.auditor, done)

    def _took_over(self, *possible: ConsumerAuditor) -> None:
        """Go on with the one of these auditors that is right."""
        for auditor in possible:
            auditor.crashed(keeps_soft=True)
        self._begin_again()
        found = self._listing(), self._statuses()
        due = [(one.listing(), one.statuses()) for one in possible]
        assert found in due, f"after a doubt there is {found}, possible is {due}"
        self.auditor = possible[due.index(found)]

    def _some_command(self, name: str) -> tuple[c.Command, Callable[[ConsumerAuditor], Answer]]:
        """Draw what a consumer asks, and how an auditor is told of it."""
        one, handle, rng = self.auditor.consumers[name], _handle(name), self.rng
        number, ident, after = one.claim, self.claims[one.claim], one.consumed
        through, roll = min(after + 1, one.last), rng.random()
        if roll < 0.4:
            command = self._claiming(name)
            limit, planned, only_ask = command.limit, command.planned, command.only_ask
            return command, lambda auditor: auditor.claim(name, limit, planned, only_ask)
        if roll < 0.7:
            limit = rng.choice([-1, 0, 2])
            through += limit >= 0 and through == one.last
            read = c.ReadBatches(handle, ident, after, through, limit)
            return read, lambda auditor: auditor.read(name, number, after, through, limit)
        consume = c.ConsumeBatches(handle, ident, one.last)
        last = one.last
        return consume, lambda auditor: auditor.consume(name, number, last)

    def copy(self) -> None:
        if isinstance(self.core, Copied):
            self.core.copy()
        self.auditor.copied()

    def _unit(self, person: str) -> tuple[str, bytes]:
        unit = self.rng.choice([*self._mine(person) * 2, ""])
        return unit, self._ident(unit)

    # -- programs that put and get

    def put(self) -> None:
        rng, person = self.rng, self.rng.choice(CLIENTS)
        unit, ident = self._unit(person)
        for _ in range(rng.choice([1, 2, 5])):
            expiry_ms = rng.choice([10_000, 40_000]) if self.expires and rng.random() < 0.3 else -1
            expires_ms = self.core.now_ms + expiry_ms if expiry_ms > 0 else 0
            name, hard = f"m{next(self._numbers)}", rng.random() < 0.9
            letter = Letter(name, rng.choice([0, 0, 4]), hard=hard, expires_ms=expires_ms)
            message = MessageData(
                body=name.encode(),
                message_id=ident_of(name),
                priority=letter.lane,
                persistence=int(letter.hard),
                expiry_ms=expiry_ms,
            )
            self._do(person, c.Put(1, [message], ident))
            self.auditor.put(letter, unit)

    def get(self) -> None:
        person, number = self.rng.choice(CLIENTS), self.rng.choice([1, 1, 1, 2])
        unit, ident = self._unit(person)
        found = messages_of(self._do(person, c.Get(number, ident)))
        given = [(self._name(one), one.backout_count) for one in found]
        due = self.auditor.get(QUEUES[number - 1], unit)
        self.auditor.check([due] if due else [], given, "get", person, QUEUES[number - 1], unit)

    def purge(self) -> None:
        answer = self._do("ada", c.PurgeQueue("Q"))
        low, high = self.auditor.purge()
        assert isinstance(answer, Done), answer
        assert low <= answer.count <= high, f"{answer}, due is {low} to {high}"

    # -- consumers

    def open(self) -> None:
        self._open(self.rng.choice(CLIENTS), self.rng.choice(NAMES))

    def _open(self, person: str, name: str) -> None:
        timeout_ms = self.rng.choice(TIMEOUTS_MS)
        answer = self._do(person, c.OpenConsumer(_handle(name), "Q", name, timeout_ms))
        known = self.auditor.consumers.get(name)
        if known is not None and known.client == person:
            self.auditor.check(("refused", "HANDLE_IN_USE"), self._told(answer, name), "open", name)
            return
        due = self.auditor.open(person, name, timeout_ms)
        self.auditor.check(due, self._told(answer, name), "open", person, name)

    def claim(self) -> None:
        name = self._some_open()
        if name:
            command = self._claiming(name)
            answer = self._do(self._client_of(name), command)
            self._claimed(name, command, answer)

    def claim_ahead(self) -> None:
        """Claim batch after batch, as a program does that takes no note of them."""
        name = self._some_open()
        for _ in range(10 if name else 0):
            command = c.ClaimBatch(_handle(name), 1)
            self._claimed(name, command, self._do(self._client_of(name), command))

    def claim_late(self) -> None:
        """Claim; if a page is needed something else happens before it comes."""
        name = self._some_open()
        if not name:
            return
        command = self._claiming(name)
        client, core = self.people[self._client_of(name)], self.core
        core.reads_pages = False
        request = client.send(command)
        if client.answer(request) is None:
            self.auditor.met["claim waits for a page"] += 1
            self._advance(self.rng.choice([1, 10, 30]))
        core.reads_pages = True
        core.advance(0)
        answer = client.answer(request)
        assert answer is not None, f"{command} is not answered when its pages have come"
        self._claimed(name, command, answer)

    def _claiming(self, name: str) -> c.ClaimBatch:
        one = self.auditor.consumers[name]
        planned = self.rng.choice([0, one.last, one.last])
        limit, only_ask = self.rng.choice([1, 2, 5, 20]), self.rng.random() < 0.2
        return c.ClaimBatch(_handle(name), limit, planned, only_ask)

    def _claimed(self, name: str, command: c.ClaimBatch, answer: Result) -> None:
        due = self.auditor.claim(name, command.limit, command.planned, command.only_ask)
        self.auditor.check(due, self._told(answer, name), "claim", name, command)

    def read(self) -> None:
        name = self._some_open()
        if not name:
            return
        one, rng = self.auditor.consumers[name], self.rng
        after = one.consumed if rng.random() < 0.8 else rng.randint(0, one.last + 1)
        through = rng.randint(after, max(after, one.last + (rng.random() < 0.05)))
        if rng.random() < 0.3:
            self._read(name, one.claim, after, one.last + 1, rng.choice([0, 1, 5, 20]))
        else:
            self._read(name, one.claim, after, through)

    def die_of_it(self) -> None:
        """Let programs of a name die of a batch again and again, one after another."""
        name = self._some_open()
        one = self.auditor.consumers[name] if name else None
        if one is None or not one.batches:
            return
        for _ in range(self.rng.randint(1, 4)):
            person, after = self._client_of(name), one.consumed
            self._read(name, one.claim, after, self.rng.choice([after + 1, one.last]))
            self._lose(person)
            self._advance(self.rng.choice([0, 0, 0, 90]))
            self._open(self.rng.choice(CLIENTS), name)
            if not one.batches:
                return

    def read_old(self) -> None:
        """Let a program come that knows of an older claim: it must be refused all."""
        name = self._some_open()
        if not name:
            return
        claim = self.rng.choice(list(self.claims))
        last = self.auditor.consumers[name].last
        after = self.rng.randint(0, last)
        if self.rng.random() < 0.5:
            self._read(name, claim, after, self.rng.randint(after, last))
        else:
            self._consume(name, claim, after)

    def _read(self, name: str, claim: int, after: int, through: int, limit: int = -1) -> None:
        command = c.ReadBatches(_handle(name), self.claims[claim], after, through, limit)
        answer = self._do(self._client_of(name), command)
        due = self.auditor.read(name, claim, after, through, limit)
        self.auditor.check(due, self._told(answer, name), "read", name, claim, command)

    def consume(self) -> None:
        name = self._some_open()
        if name:
            one = self.auditor.consumers[name]
            through = self.rng.randint(max(0, one.consumed - 1), one.last)
            self._consume(name, one.claim, through)

    def _consume(self, name: str, claim: int, through: int) -> None:
        command = c.ConsumeBatches(_handle(name), self.claims[claim], through)
        answer = self._do(self._client_of(name), command)
        due = self.auditor.consume(name, claim, through)
        self.auditor.check(due, self._told(answer, name), "consume", name, claim, through)

    def close(self) -> None:
        name = self._some_open()
        if name:
            self._do(self._client_of(name), c.Close(_handle(name)))
            self.auditor.close(name)

    def delete(self) -> None:
        name = self.rng.choice(NAMES)
        answer = self._do("ada", c.DeleteConsumer("Q", name))
        self.auditor.check(self.auditor.delete(name), self._told(answer, name), "delete", name)

    def _some_open(self) -> str:
        names = [name for name, one in self.auditor.consumers.items() if one.client]
        return self.rng.choice(names) if names else ""

    def _client_of(self, name: str) -> str:
        return self.auditor.consumers[name].client

    # -- words

    def _told(self, answer: Result, name: str) -> Answer:
        """Say an answer in the auditor's words."""
        if isinstance(answer, Refused):
            return "refused", Reason(answer.reason).name
        if isinstance(answer, Done):
            return "done", answer.count
        if isinstance(answer, ConsumerState):
            number = self._number_of(name, answer.claim)
            return "state", number, answer.consumed, answer.last
        assert isinstance(answer, Batches), answer
        return "batches", [
            (
                one.number,
                [(lane, seq) for lane, a, z in _triples(one.spans) for seq in range(a, z + 1)],
                {(lane, seq): count for lane, seq, count in _triples(one.counts)},
            )
            for one in answer.batches
        ]


def hard_state(qm: QueueManager) -> dict[Any, Any]:
    """Say what must outlive a queue manager: messages by place, counts, consumers, batches."""
    found: dict[Any, Any] = {}
    for record in dispatch.snapshot(qm):
        if isinstance(record, r.LaneRestored):
            found[record.queue, record.lane] = (
                record.next_seq,
                record.spans,
                sorted(zip(record.counts[::2], record.counts[1::2], strict=True)),
            )
        elif isinstance(record, r.QueueRestored):
            found[record.name] = record.priorities
        elif isinstance(record, (r.ConsumerSet, r.BatchClaimed)):
            found[len(found)] = record
    return found


def _handle(name: str) -> int:
    return CONSUMER_AT + NAMES.index(name)


def _triples(flat: list[int]) -> list[tuple[int, int, int]]:
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
