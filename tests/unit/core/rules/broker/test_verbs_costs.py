"""A statement costs the same however many objects, conversations, connections and waits there are.

Costs are counted in operations of Python, which nothing on the machine disturbs.
"""

from __future__ import annotations

from typing import Any

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions, Messages, Refused, Result
from adapter.core.effects import Effects
from tests.support.core import Client, Core
from tests.support.steps import operations

FEW, MANY = 12, 120
OF_A_WAIT_MAX = 220
"""Operations of looking twice at a receive that waits; a full try takes 400."""
RATIO_MAX = 1.6
"""Heaps and sorted lists of ten times as many entries are a little more work."""


class CountingCore(Core):
    """A core that counts what a request costs it."""

    cost = 0

    def execute(self, request: c.Request) -> Effects:
        """Execute one request, and count."""
        found: list[Effects] = []
        self.cost = operations(lambda: found.append(self.give(request)))
        return self.take(found[0])


class Site:
    """Objects of every kind, so many of each; one set of them is what the statements use."""

    def __init__(self) -> None:
        self.core = CountingCore(window_messages=4_000)
        self.client = self.core.connect()
        self.count = 0
        self.holder = self.core.connect()
        self.locked = b""
        self.costs: dict[str, int] = {}
        self.create(kinds.QUEUE, "Events")
        self.grow(2)
        self.locked = self.begin()
        self.held = self.holder.begin()
        self.do(b.BrokerTimer(self.held, self.locked, 90_000_000), self.holder)

    def do(self, command: Any, client: Client | None = None, name: str = "") -> Result:
        """Give a command; name: under which its cost is kept."""
        answer = (client or self.client).do(command)
        assert not isinstance(answer, Refused), answer
        if name:
            self.costs[name] = self.core.cost
        return answer

    def create(self, kind: str, name: str, **attributes: Any) -> None:
        self.do(b.BrokerCreate(kind, name, attributes))

    def grow(self, count: int) -> None:
        """Have so many objects of each kind."""
        for number in range(self.count, count):
            self._add_objects(number)
        self.count = count

    def _add_objects(self, number: int) -> None:
        contract, service = f"c{number}", f"s{number}"
        self.create(kinds.MESSAGE_TYPE, f"t{number}")
        self.create(kinds.CONTRACT, contract, by_any=f"t{number}")
        self.create(kinds.QUEUE, f"q{number}")
        self.create(kinds.SERVICE, service, queue=f"q{number}", contracts=contract)
        self.create(kinds.ROUTE, f"r{number}", service=f"far {number}", address="QM2")
        self.create(kinds.PRIORITY, f"p{number}", contract=contract, local_service=service)
        notified = {"event": b.QUEUE_ACTIVATION, "queue": "Events", "object": f"q{number}"}
        self.create(kinds.NOTIFICATION, f"n{number}", **notified)
        if number > 1:
            self.begin()
            waits = self.core.connect()
            waits.send(b.BrokerEnd(waits.begin(), self.locked))
            self.core.connect().send(c.Begin(bytes(24)))

    def begin(self) -> bytes:
        """Begin a dialog with a message."""
        unit = self.client.begin()
        handle = unit[-1:] * 16 if not self.count else unit[-8:] * 2
        self.do(b.BrokerBegin(unit, handle, "s0", "s1", "c1", group=handle), name="begin")
        self.do(b.BrokerSend(unit, [handle], "t1", b"hello"), name="send")
        self.do(c.Commit(unit), name="commit of a send")
        return handle

    def converse(self) -> None:
        """Give every statement, and keep what each costs."""
        handle = self.begin()
        unit = self.client.begin()
        group = self.do(b.BrokerGetGroup(unit, "q1"), name="get conversation group")
        answer = self.do(b.BrokerReceive(unit, "q1", 1), name="receive")
        assert isinstance(answer, Messages), group
        self.do(c.Backout(unit), name="rollback")
        unit = self.client.begin()
        answer = self.do(b.BrokerReceive(unit, "q1", 1))
        assert isinstance(answer, Messages)
        header = answer.messages[0].message.broker
        assert header is not None
        target = header.handle
        self.do(b.BrokerSend(unit, [target], "t1", b"answer"))
        self.do(b.BrokerTimer(unit, target, 90_000_000), name="timer")
        self.do(b.BrokerMove(unit, target, b"other group here"), name="move")
        self.do(b.BrokerEnd(unit, target), name="end")
        self.do(c.Commit(unit), name="commit of an end")
        unit = self.client.begin()
        waits = self.client.send(b.BrokerEnd(unit, self.locked, lock_ms=0))
        assert isinstance(self.client.answer(waits), Refused)
        self.costs["a group that is locked"] = self.core.cost
        self.do(c.Backout(unit))
        unit = self.client.begin()
        self.do(b.BrokerEnd(unit, handle))
        self.do(c.Commit(unit))

    def answer(self) -> None:
        """Answer the first conversation."""
        unit = self.client.begin()
        answer = self.do(b.BrokerReceive(unit, "q1", 1))
        assert isinstance(answer, Messages)
        header = answer.messages[0].message.broker
        assert header is not None
        self.do(b.BrokerSend(unit, [header.handle], "t1", b"answer"))
        self.do(c.Commit(unit), name="commit of an answer")

    def administer(self) -> None:
        """Create, look at, alter and drop an object of each kind, and keep what each costs."""
        notified = {"event": b.QUEUE_DISABLED, "queue": "Events", "object": "new"}
        made: dict[str, dict[str, Any]] = {
            kinds.MESSAGE_TYPE: {},
            kinds.CONTRACT: {"by_any": "new"},
            kinds.QUEUE: {},
            kinds.SERVICE: {"queue": "new", "contracts": "new"},
            kinds.ROUTE: {"service": "elsewhere", "address": "QM2"},
            kinds.PRIORITY: {"local_service": "new"},
            kinds.NOTIFICATION: notified,
        }
        for kind, attributes in made.items():
            self.do(b.BrokerCreate(kind, "new", attributes), name=f"create {kind}")
            self.do(b.BrokerInquire(kind, "new"), name=f"show {kind}")
            if kind != kinds.CONTRACT:
                self.do(b.BrokerAlter(kind, "new", attributes), name=f"alter {kind}")
        for kind in reversed(made):
            self.do(b.BrokerDrop(kind, "new"), name=f"drop {kind}")
        self.do(b.BrokerAlter(kinds.QUEUE, "q1", {"status": False}), name="turn OFF")
        self.begin()
        self.begin()
        shown = self.do(b.BrokerInquire(b.TRANSMISSION, count=1))
        assert isinstance(shown, Descriptions)
        after = shown.queues[-1].name
        self.do(b.BrokerInquire(b.TRANSMISSION, after=after, count=1), name="in transmission")
        self.do(b.BrokerAlter(kinds.QUEUE, "q1", {"status": True}), name="turn ON")
        self.do(b.BrokerInquire(b.ENDPOINTS, count=5))
        self.do(b.BrokerInquire(b.ENDPOINTS, after="11" * 16, count=5), name="endpoints")
        shown = self.do(b.BrokerInquire(b.GROUPS, count=5))
        assert isinstance(shown, Descriptions)
        assert len(shown.queues) == 5
        self.do(b.BrokerInquire(b.GROUPS, after="11" * 16, count=5), name="groups")


def test_no_statement_walks_over_what_it_is_not_about() -> None:
    site = Site()
    found = []
    for count in (FEW, MANY):
        site.grow(count)
        site.converse()
        site.administer()
        found.append(dict(site.costs))
    few, many = found
    grown = {name: (few[name], many[name]) for name in few if many[name] > RATIO_MAX * few[name]}
    assert not grown


def test_a_receive_that_waits_for_another_conversation_costs_little() -> None:
    site = Site()
    found = []
    for count in (FEW, MANY):
        for _ in range(count):
            reads, handle = site.core.connect(), site.begin()
            reads.send(b.BrokerReceive(reads.begin(), "q0", 1, handle, wait_ms=-1))
        site.answer()
        found.append(site.costs["commit of an answer"])
    few, many = found
    assert many - few < OF_A_WAIT_MAX * MANY
