"""Exactly once between two queue managers, whoever is killed when: against a list of what was put.

A source, senders that are killed between any two steps or live on after they were deposed, the
topic between, and a destination that reads it, are stepped at random. The judge knows nothing of
mqk: it has a list of what was committed at the source, and one of what a program got at the end.
"""

from random import Random

import pytest
from msgspec import Struct

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import LowestPlaces, Messages
from adapter.core.model.arrivals import Arrivals, LaneArrivals
from adapter.core.model.lane import Lane
from tests.support.core import Client, client_on

RUNS = 200
STEPS = 60
XMITQ = "XMITQ"


class Judge:
    """What may arrive: every hard message once, in order; of soft ones each once at most."""

    def __init__(self) -> None:
        self.hard: list[str] = []
        self.soft: list[str] = []
        self.got: list[str] = []

    def check(self) -> None:
        """Compare what was got with what was put."""
        assert [body for body in self.got if body.startswith("h")] == self.hard
        soft = [body for body in self.got if body.startswith("s")]
        assert len(soft) == len(set(soft)), f"twice: {soft}"
        assert set(soft) <= set(self.soft)


class Sending(Struct):
    """One sender: what it has got and not committed, and from where on its queue has messages."""

    client: Client
    unit: bytes = b""
    batch: list[Delivered] = []
    lowest: list[Lowest] = []


class World:
    """Two queue managers and the topic between them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.judge = Judge()
        self.source = client_on().core
        self.program = self._program()
        self.program.define(XMITQ, usage=XMITQ, msg_delivery_sequence="FIFO")
        known = inputs.QueueManagersKnown(frozenset({"FAR"}))
        attributes = {"remote_name": "Q", "remote_queue_manager": "FAR"}
        attributes["transmission_queue"] = XMITQ
        self.program.do(c.DefineObject("remote", "R", attributes))
        self.source.give(known)
        self.program.open("R", c.OUTPUT)
        self.target = client_on().core
        self.target.qm.name = "FAR"
        self.target.connect().define("Q", msg_delivery_sequence="FIFO")
        self.topic: list[Sending] = []
        self.read = 0
        self.zombies: list[Sending] = []
        self.sender = self._new_sender()
        self.count = 0

    def _program(self) -> Client:
        client = self.source.connect()
        client.open_session(self.random.randbytes(16))
        return client

    def _new_sender(self) -> Sending:
        client = self._program()
        client.open(XMITQ, c.EXCLUSIVE)
        return Sending(client)

    def put(self) -> None:
        """Commit a unit of some messages."""
        unit = self.program.begin()
        for _ in range(self.random.randint(1, 4)):
            self.count += 1
            kind = self.random.choice("hhs")
            body = f"{kind}{self.count}"
            self.program.put(body, unit=unit, persistence=int(kind == "h"))
            (self.judge.hard if kind == "h" else self.judge.soft).append(body)
        self.program.do(c.Commit(unit))

    def get(self) -> None:
        """Let the sender get what there is."""
        sender = self.sender
        if not sender.unit or self.random.random() < 0.3:
            asked = sender.client.do(c.AskLowest(1))
            assert isinstance(asked, LowestPlaces)
            sender.lowest = asked.lanes
        sender.unit = sender.unit or sender.client.begin()
        limit = self.random.randint(1, 5)
        found = sender.client.do(c.Get(1, sender.unit, limit=limit))
        assert isinstance(found, Messages)
        sender.batch = [*sender.batch, *found.messages]

    def append(self, sender: Sending) -> None:
        """Let a sender append what it has got to the topic; perhaps again."""
        if sender.batch:
            kept = Sending(sender.client, sender.unit, list(sender.batch), list(sender.lowest))
            self.topic.append(kept)

    def commit(self) -> None:
        """Let the sender commit what it has appended."""
        self.append(self.sender)
        if self.sender.unit:
            self.sender.client.do(c.Commit(self.sender.unit))
        self.sender = Sending(self.sender.client)

    def kill_sender(self) -> None:
        """Let the connection of the sender be lost; it may live on as a zombie."""
        self.zombies.append(self.sender)
        self.sender.client.lose()
        self.sender = self._new_sender()

    def zombie(self) -> None:
        """Let a sender append that was deposed."""
        if self.zombies:
            self.append(self.random.choice(self.zombies))

    def kill_source(self) -> None:
        """Let the source be killed."""
        self.zombies.append(self.sender)
        self.source.crash()
        self.source.give(inputs.QueueManagersKnown(frozenset({"FAR"})))
        self.program, self.sender = self._program(), self._new_sender()
        self.program.open("R", c.OUTPUT)

    def receive(self) -> None:
        """Let the destination read one unit of the topic."""
        if self.read == len(self.topic):
            return
        sent = self.topic[self.read]
        arrivals = [Arrival(one.message, one.lane, one.seq, one.n) for one in sent.batch]
        self.read += 1
        unit = ArrivedUnit(
            "t", "id", self.read, Origin("source"), arrivals, "QM1", b"u" * 24, sent.lowest
        )
        given = inputs.Arrived(unit)
        self.target.take(self.target.give(given))

    def kill_target(self) -> None:
        """Let the destination be killed: it reads on from where its ledger says."""
        if self.random.random() < 0.5:
            self.target.crash()
        else:
            self.target.crash_with_snapshot(lagging=-1)  # all that was replayed is on its topic
        self.target.qm.name = "FAR"
        self.read = self.target.qm.arrivals.position("t", "id")

    def program_gets(self) -> None:
        """Let a program get a message at the destination."""
        client = self.target.connect()
        client.open_session(self.random.randbytes(16))
        client.open("Q", c.INPUT)
        self.judge.got += client.get()
        client.do(c.Close(1))

    def run(self) -> None:
        """Step at random, then let all that is left arrive."""
        steps = [self.put, self.get, self.get, self.commit, self.kill_sender, self.zombie]
        steps += [self.kill_source, self.receive, self.receive, self.kill_target]
        steps += [self.program_gets, self.program_gets, lambda: self.append(self.sender)]
        for _ in range(STEPS):
            self.random.choice(steps)()
        while self.source.queue(XMITQ).depth or self.sender.unit:
            self.get()
            self.commit()
        while self.read < len(self.topic):
            self.receive()
        while self.target.queue().depth:
            self.program_gets()
        self.judge.check()
        lane = self.target.qm.arrivals.lane(Origin("source"), 0)
        assert len(lane.seqs) <= 1, "what came is one range"


def test_every_message_arrives_once() -> None:
    for seed in range(RUNS):
        try:
            World(seed).run()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def nothing_came(*_: object) -> bool:
    return False


def nothing(*_: object) -> None:
    """Forget what was told."""


def too_high(lane: Lane) -> Lowest:
    return Lowest(lane.number, lane.next_seq, lane.next_n)


PLANTED = [
    (Arrivals, "has", nothing_came),
    (LaneArrivals, "add", nothing),
    (Lane, "lowest", too_high),
]


@pytest.mark.parametrize(("where", "name", "bug"), PLANTED)
def test_planted_bugs_are_caught(
    where: type, name: str, bug: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, bug)
    with pytest.raises((AssertionError, KeyError)):
        test_every_message_arrives_once()
