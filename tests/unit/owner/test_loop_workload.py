"""Seeded random work on an owner whose ledger fails and which crashes, judged by the auditor.

A seed that fails fails again: `Workload(seed).run(STEPS)`.
"""

import itertools
import random

from adapter.core import commands as c
from adapter.core.model.message import Message
from adapter.core.reasons import Reason
from adapter.core.results import Done, Messages, PutDone, Refused, Result, Resumed
from tests.support.by_hand import ByHand
from tests.support.core import Client
from tests.unit.owner.auditor import DONE, GONE, Answer, Auditor, Op

QUEUES = ["A", "B"]
SEEDS = range(40)
STEPS = 250
FAULTS = [
    "lost before durable",
    "lost after durable",
    "duplicate",
    "hole",
    "rival owner",
    "slow durable",
    "corrupt tail",
]


class Worker:
    """A program: what it has asked and not been told, and its open units."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.client = client
        self.unanswered: dict[int, tuple[Op, c.Command]] = {}
        self.asked: dict[int, tuple[int, Op]] = {}
        self.units: dict[str, bytes] = {}


class Workload:
    """Programs, an owner and an auditor."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.owner = ByHand()
        self.auditor = Auditor(QUEUES)
        self.bodies = itertools.count(1)
        self.unit_names = itertools.count(1)
        first = self.owner.connect()
        for queue in QUEUES:
            first.define(queue)
        self.first = first
        self.workers = [self.worker(name) for name in ("ada", "bob", "cem")]
        self.owner.held = True
        self.met: set[str] = set()
        self.crashes = self.doubts = 0

    def worker(self, name: str) -> Worker:
        client = self.owner.connect()
        client.open_session(self.owner.new_session_id())
        self.open(client)
        return Worker(name, client)

    def open(self, client: Client) -> None:
        for handle, queue in enumerate(QUEUES, 1):
            client.send(c.Open(handle, queue, c.INPUT | c.OUTPUT | c.BROWSE))

    # -- steps

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            self.hear()
        self.come_to_rest()
        self.auditor.check(self.listing())

    def step(self) -> None:
        roll = self.rng.random()
        if roll < 0.02:
            self.crash()
        elif roll < 0.05:
            self.lose(self.rng.choice(self.workers))
        elif roll < 0.10:
            fault = self.rng.choice(FAULTS)
            self.met.add(fault)
            self.owner.log.arm(fault, self.rng.randint(1, 2))
        elif roll < 0.30:
            self.owner.turn()
        elif roll < 0.50:
            self.owner.ledger.pump()
        elif roll < 0.53:
            self.owner.ledger.release()
        else:
            self.work(self.rng.choice(self.workers))

    def work(self, worker: Worker) -> None:
        rng = self.rng
        unit = rng.choice(list(worker.units)) if worker.units and rng.random() < 0.7 else None
        roll = rng.random()
        if roll < 0.15 and len(worker.units) < 2:
            self.begin(worker)
        elif roll < 0.55:
            self.put(worker, unit)
        elif roll < 0.80:
            self.get(worker, unit)
        elif unit is not None and roll < 0.93:
            self.end(worker, unit, "commit")
        elif unit is not None:
            self.end(worker, unit, "backout")

    def begin(self, worker: Worker) -> None:
        name = f"u{next(self.unit_names)}"
        ident = worker.client.session + int(name[1:]).to_bytes(8, "big")
        worker.units[name] = ident
        self.send(worker, Op(worker.name, "begin", unit=name), c.Begin(ident))

    def put(self, worker: Worker, unit: str | None) -> None:
        rng = self.rng
        queue = rng.randint(1, len(QUEUES))
        body = f"m{next(self.bodies)}"
        priority, hard = rng.choice([0, 0, 5, 9]), rng.random() < 0.7
        message = Message(body=body.encode(), priority=priority, persistence=int(hard))
        op = Op(worker.name, "put", unit=unit, queue=QUEUES[queue - 1], body=body)
        op.details |= {"priority": priority, "hard": hard}
        command = c.Put(queue, [message], worker.units[unit] if unit else b"")
        self.send(worker, op, command)

    def get(self, worker: Worker, unit: str | None) -> None:
        queue = self.rng.randint(1, len(QUEUES))
        limit = self.rng.randint(1, 3) if unit else 1
        op = Op(worker.name, "get", unit=unit, queue=QUEUES[queue - 1], limit=limit)
        self.send(worker, op, c.Get(queue, worker.units[unit] if unit else b"", limit=limit))

    def end(self, worker: Worker, unit: str, kind: str) -> None:
        ident = worker.units.pop(unit)
        command = c.Commit(ident) if kind == "commit" else c.Backout(ident)
        self.send(worker, Op(worker.name, kind, unit=unit), command)

    def send(self, worker: Worker, op: Op, command: c.Command, number: int = 0) -> None:
        """Send a command, under its number if it is durable; the auditor hears of it."""
        durable = op.kind in ("commit", "backout") or op.unit is None
        if durable:
            op.number = number or worker.client.issued + 1
            worker.unanswered[op.number] = (op, command)
        index = self.auditor.decided(op)
        request = worker.client.send(command, op.number if durable else None)
        worker.asked[request] = (index, op)

    # -- answers

    def hear(self) -> None:
        """Pass on what was answered; recover if the ledger is in doubt."""
        for worker in self.workers:
            for request, (index, op) in list(worker.asked.items()):
                result = worker.client.answer(request)
                if result is not None:
                    del worker.asked[request]
                    worker.unanswered.pop(op.number, None)
                    self.auditor.answered(index, told(op, result))
                    worker.client.seen(op.number)
        if self.owner.doubts:
            self.owner.recover()
            self.come_back(crashed=False)

    def crash(self) -> None:
        self.owner.crash()
        self.owner.doubts.clear()
        self.come_back(crashed=True)

    def come_back(self, crashed: bool) -> None:
        """After the owner went: see what is left, and ask again for what was not answered."""
        self.crashes += crashed
        self.doubts += not crashed
        self.owner.answers.clear()
        self.auditor.recovered(crashed, self.listing())
        for worker in self.workers:
            self.reconnect(worker)

    def lose(self, worker: Worker) -> None:
        """Lose one connection; the owner lives on."""
        self.auditor.decided(Op(worker.name, "lose"))
        worker.client.lose()
        self.reconnect(worker)

    def reconnect(self, worker: Worker) -> None:
        """Come back on a new connection, and send the unanswered commands again."""
        old = worker.client
        worker.asked.clear()
        worker.units.clear()
        worker.client = client = self.owner.connect()
        client.session, client.issued = old.session, old.issued
        again = sorted(worker.unanswered.items())
        resumed = client.send(c.SessionResume(old.session, [n for n, _ in again], old.issued))
        self.open(client)
        for number, (op, command) in again:
            self.send(worker, Op(op.client, op.kind, unit=op.unit, **op.details), command, number)
        assert client.answer(resumed) in (None, Resumed())

    def listing(self) -> dict[str, list[tuple[str, int]]]:
        """What a browse of each queue shows, by a client of its own, once all is durable."""
        client = self.owner.connect()
        self.open(client)
        requests = {
            queue: client.send(c.Browse(handle, limit=10_000))
            for handle, queue in enumerate(QUEUES, 1)
        }
        self.disarm()
        self.owner.settle()
        found = {}
        for queue, request in requests.items():
            result = client.answer(request)
            assert isinstance(result, Messages), result
            found[queue] = [(m.message.body.decode(), m.backout_count) for m in result.messages]
        client.lose()
        return found

    def disarm(self) -> None:
        """Let appends that are still to come go well."""
        self.owner.log._armed.clear()

    def come_to_rest(self) -> None:
        """Let everything be answered and every unit end."""
        self.disarm()
        self.owner.ledger.release()
        self.owner.settle()
        self.hear()
        for worker in self.workers:
            for unit in list(worker.units):
                self.end(worker, unit, "commit")
        self.owner.settle()
        self.hear()


def told(op: Op, result: Result) -> Answer:
    """Say an answer in the auditor's words."""
    if op.kind == "backout":
        assert isinstance(result, Done) or refused(result) is Reason.BACKED_OUT, result
        return GONE
    if isinstance(result, PutDone):
        return ("put",)
    if isinstance(result, Messages):
        return ("got", [(m.message.body.decode(), m.backout_count) for m in result.messages])
    if isinstance(result, Done):
        return DONE
    assert refused(result) is Reason.BACKED_OUT, (op, result)
    return GONE


def refused(result: Result) -> Reason | None:
    return Reason(result.reason) if isinstance(result, Refused) else None


def test_no_work_is_lost_doubled_or_disordered() -> None:
    met: set[str] = set()
    crashes = doubts = 0
    for seed in SEEDS:
        workload = Workload(seed)
        try:
            workload.run(STEPS)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        met |= workload.met
        crashes += workload.crashes
        doubts += workload.doubts
    assert met == set(FAULTS)
    assert min(crashes, doubts) > len(SEEDS)
