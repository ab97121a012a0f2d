"""Random commands on a core: its books are in order, and what it logged makes the same core again.

The commands are any that clients may give, well or badly timed; most of what is wrong with a rule
shows as books that do not add up, or as a replay that differs.
"""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from adapter.core import tables
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.records import Record
from adapter.core.contract.results import Done, Messages, Refused
from adapter.core.contract.traits import is_durable
from adapter.core.contract.weights import weight
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.session import Session
from tests.support import purity
from tests.support.core import IN_OUT, Client, Core, client_on
from tests.support.examples import examples
from tests.support.hard_state import check_snapshots, contents

QUEUES = ("A", "B")
WHO = st.integers(0, 2)
QUEUE = st.sampled_from(QUEUES)
HANDLE = st.integers(1, 2)
UNIT = st.integers(-1, 1)  # -1: outside a unit
SMALL = st.integers(0, 3)
ATTRIBUTES: list[dict[str, Any]] = [
    {},
    {"max_depth": 3},
    {"msg_delivery_sequence": "FIFO", "def_priority": 1},
    {"inhibit_get": True},
    {"inhibit_put": True},
    {"backout_threshold": 1},
]
LIMITS = Limits(
    unit_messages=4,
    unit_bytes=4_000,
    units_per_connection=2,
    handles_per_connection=2,
    sessions=4,
    session_expiry_ms=50_000,
)


class Anything(RuleBasedStateMachine):
    """Three clients that do anything."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        purity.watch(self.patch)

    def teardown(self) -> None:
        self.patch.undo()

    @initialize()
    def start(self) -> None:
        self.core = Core(LIMITS)
        self.clients = [self.core.connect() for _ in range(3)]
        self.units: list[list[bytes]] = [[b"?" * 24, b"?" * 24] for _ in range(3)]
        for name in QUEUES:
            self.clients[0].define(name)
        for client in self.clients:
            client.open("A", handle=1)
            client.open("B", handle=2)

    @rule(who=WHO, name=QUEUE, which=st.integers(0, 5), replace=st.booleans())
    def define(self, who: int, name: str, which: int, replace: bool) -> None:
        self.clients[who].send(c.DefineQueue(name, ATTRIBUTES[which], replace))

    @rule(who=WHO, name=QUEUE, which=st.integers(0, 5))
    def alter(self, who: int, name: str, which: int) -> None:
        undo = {"inhibit_get": False, "inhibit_put": False, "max_depth": 100}
        self.clients[who].send(c.AlterQueue(name, undo | ATTRIBUTES[which]))

    @rule(who=WHO, name=QUEUE, purge=st.booleans())
    def delete(self, who: int, name: str, purge: bool) -> None:
        for client in self.clients:
            for handle in (1, 2):
                client.send(c.Close(handle))
        self.clients[who].send(c.DeleteQueue(name, purge))

    @rule(who=WHO, name=QUEUE)
    def purge(self, who: int, name: str) -> None:
        self.clients[who].send(c.PurgeQueue(name))

    @rule(who=WHO, name=QUEUE, handle=HANDLE)
    def open(self, who: int, name: str, handle: int) -> None:
        self.clients[who].send(c.Open(handle, name, IN_OUT))

    @rule(who=WHO, handle=HANDLE)
    def close(self, who: int, handle: int) -> None:
        self.clients[who].send(c.Close(handle))

    @rule(who=WHO, slot=st.integers(0, 1))
    def begin(self, who: int, slot: int) -> None:
        self.units[who][slot] = self.clients[who].begin()

    @rule(
        who=WHO,
        handle=HANDLE,
        unit=UNIT,
        count=st.integers(1, 2),
        persistence=st.integers(-1, 1),
        priority=st.integers(0, 2),
        expiry_s=SMALL,
        ident=SMALL,
    )
    def put(
        self,
        who: int,
        handle: int,
        unit: int,
        count: int,
        persistence: int,
        priority: int,
        expiry_s: int,
        ident: int,
    ) -> None:
        messages = [
            MessageData(
                body=b"x" * ident,
                persistence=persistence,
                priority=priority,
                expiry_ms=expiry_s * 10_000 or -1,
                correlation_id=bytes((ident,)) * 24,
                properties={"p": ident} if ident else {},
            )
            for _ in range(count if unit >= 0 else 1)
        ]
        self.clients[who].send(c.Put(handle, messages, self.unit(who, unit)))

    @rule(
        who=WHO,
        handle=HANDLE,
        unit=UNIT,
        wait_ms=st.sampled_from([0, 0, 5000, -1]),
        limit=st.integers(1, 3),
        ident=SMALL,
        alone=st.booleans(),
    )
    def get(
        self, who: int, handle: int, unit: int, wait_ms: int, limit: int, ident: int, alone: bool
    ) -> None:
        wanted = bytes((ident,)) * 24 if ident else b""
        limit = limit if unit >= 0 else 1
        command = c.Get(
            handle, self.unit(who, unit), wait_ms, limit, correlation_id=wanted, alone=alone
        )
        self.clients[who].send(command)

    @rule(who=WHO, handle=HANDLE, limit=st.integers(1, 3))
    def browse(self, who: int, handle: int, limit: int) -> None:
        self.clients[who].send(c.Browse(handle, limit=limit))

    @rule(who=WHO, slot=st.integers(0, 1))
    def commit(self, who: int, slot: int) -> None:
        self.clients[who].send(c.Commit(self.units[who][slot]))

    @rule(who=WHO, slot=st.integers(0, 1))
    def back_out(self, who: int, slot: int) -> None:
        self.clients[who].send(c.Backout(self.units[who][slot]))

    @rule(who=WHO)
    def acknowledge(self, who: int) -> None:
        client = self.clients[who]
        client.seen(client.issued - 1, client.issued)

    @rule(who=WHO, unanswered=SMALL)
    def come_back(self, who: int, unanswered: int) -> None:
        """Lose the connection, and attach to the session again, if there was one."""
        lost = self.clients[who]
        lost.lose()
        self.clients[who] = client = self.core.connect()
        if lost.session:
            first = max(1, lost.issued + 1 - unanswered)
            client.resume(lost.session, list(range(first, lost.issued + 1)), lost.issued)
            if lost.session not in self.core.qm.sessions:
                client.session = b""
                client.issued = 0
        for handle, name in enumerate(QUEUES, 1):
            client.send(c.Open(handle, name, IN_OUT))

    @rule(seconds=st.sampled_from([1.0, 10.0, 60.0]))
    def advance(self, seconds: float) -> None:
        self.core.advance(seconds)

    @rule()
    def crash(self) -> None:
        self.core.crash()
        for who in range(3):
            self.come_back(who, 0)

    def unit(self, who: int, slot: int) -> bytes:
        return self.units[who][slot] if slot >= 0 else b""

    @invariant()
    def the_books_are_in_order(self) -> None:
        if hasattr(self, "core"):
            for queue in self.core.qm.queues.values():
                check_queue(self.core.qm, queue)
            check_connections(self.core.qm)

    @invariant()
    def what_was_logged_makes_the_same_core(self) -> None:
        if hasattr(self, "core"):
            live, again = self.core.qm, self.core.replayed()
            check_snapshots(live, again)
            assert contents(again) == contents(live)
            for ident, session in live.sessions.items():
                check_outcomes(session, again.sessions[ident])


def check_queue(qm: QueueManager, queue: LocalQueue) -> None:
    """Count everything again, slowly."""
    available = list(queue.in_order())
    assert [each.place for each in available] == sorted(each.place for each in available)
    locked = [each for each in queue.stored.values() if each.locked]
    assert len(available) + len(locked) == len(queue.stored)
    assert not any(each.locked for each in available)
    connections = qm.connections.values()
    units = [unit for each in connections for unit in each.units.values()]
    held = [message for unit in units for at, message in unit.puts if at is queue]
    assert len(held) == queue.uncommitted_puts
    assert queue.locked_count == len(locked)
    assert len(locked) == sum(1 for unit in units for at, _ in unit.gets if at is queue)
    assert queue.depth == len(available) + len(held)
    priorities = [each.message.priority for each in available] + [each.priority for each in held]
    assert queue.depth_by_priority == [priorities.count(priority) for priority in range(10)]
    handles = [
        each
        for con in connections
        for each in con.handles.values()
        if isinstance(each, QueueHandle) and each.queue is queue
    ]
    assert queue.opens.handles == len(handles)
    assert queue.opens.input == sum(1 for each in handles if each.modes & c.INPUT)
    assert queue.opens.output == sum(1 for each in handles if each.modes & c.OUTPUT)
    waiters = [w for con in connections for w in con.waiters.values() if w.key is queue]
    assert sorted(map(id, waiters)) == sorted(map(id, qm.waiters.waiting_for(queue)))


def check_connections(qm: QueueManager) -> None:
    """What is attached is there, and what waits is running."""
    for ident, number in qm.attached.items():
        assert qm.connections[number].session == ident
        assert ident in qm.sessions
    for connection in qm.connections.values():
        for waiter in connection.waiters.values():
            assert not waiter.ended
            unit = waiter.command.unit if isinstance(waiter.command, c.Get) else b""
            assert not unit or unit in connection.units
        numbers = {w.request.number for w in connection.waiters.values()} - {0}
        if connection.session:
            assert numbers == qm.sessions[connection.session].running
    assert not qm.waiters.woken()


def check_outcomes(live: Session, again: Session) -> None:
    """The ledger holds what it was told; what was seen it drops with the next outcome."""
    assert set(again.outcomes) == live.written | set(live.seen)
    assert {n: again.outcomes[n] for n in live.written} == {
        n: live.outcomes[n] for n in live.written
    }
    assert live.written <= set(live.outcomes)
    for one in (live, again):
        kept = [r.messages for r in one.outcomes.values() if isinstance(r, Messages)]
        assert one.kept_bytes == sum(weight(m.message) for got in kept for m in got)


TestAnything = Anything.TestCase
TestAnything.settings = settings(
    max_examples=examples(30),
    stateful_step_count=40,
)


def test_every_command_has_a_rule_and_every_record_an_application() -> None:
    assert set(tables.DECIDE) == set(c.Command.__args__)
    assert set(tables.APPLY) == set(Record.__args__)


@pytest.mark.parametrize(
    ("command", "durable"),
    [
        (c.Put(1, []), True),
        (c.Put(1, [], b"u"), False),
        (c.Get(1), True),
        (c.Get(1, b"u"), False),
        (c.Commit(b"u"), True),
        (c.Backout(b"u"), True),
        (c.DefineQueue("Q"), True),
        (c.AlterQueue("Q", {}), True),
        (c.DeleteQueue("Q"), True),
        (c.PurgeQueue("Q"), True),
        (c.SetAttributes(1, {}), True),
        (c.Begin(b"u"), False),
        (c.Browse(1), False),
        (c.Open(1, "Q", 1), False),
        (c.Close(1), False),
        (c.Inquire("*"), False),
        (c.AskStatus("*"), False),
        (c.AskOutcome(b"u"), False),
        (c.SessionOpen(b"s"), False),
        (c.SessionResume(b"s", [], 0), False),
    ],
)
def test_which_commands_are_durable(command: c.Command, durable: bool) -> None:
    assert is_durable(command) is durable


def test_a_request_of_a_connection_that_has_ended_is_not_executed() -> None:
    core = Core()
    client = core.connect()
    client.define("Q")
    client.lose()
    assert client.answer(client.send(c.DefineQueue("R"))) is None
    assert set(core.qm.queues) == {"Q"}


def test_what_a_refused_command_leaves_is_its_refusal() -> None:
    client: Client = Core().connect()
    client.define("Q")
    before = len(client.core.entries)
    refused = client.do(c.DefineQueue("Q"))
    assert isinstance(refused, Refused)
    assert len(client.core.entries) == before
    assert client.do(c.DefineQueue("R")) == Done()


def test_no_place_comes_again_after_a_restart() -> None:
    client = client_on()
    client.put("hard", persistence=1)
    client.put("soft", persistence=0)
    _, before = (shown(one) for one in browsed(client, 2))
    client.core.crash()
    back = client.core.connect()
    back.open()
    back.define("NEW")
    back.open("NEW", handle=2)
    back.put("other", persistence=0)
    back.put("another", persistence=0, handle=2)
    _, after = (shown(one) for one in browsed(back, 2))
    assert before[0:2] == after[0:2] == (0, 1)
    assert before < after
    assert back.get(place=before) == back.get(place=before, handle=2) == []
    assert back.get(place=after) == ["other"]


def browsed(client: Client, limit: int) -> list[Delivered]:
    result = client.do(c.Browse(1, limit=limit))
    assert isinstance(result, Messages)
    return result.messages


def shown(one: Delivered) -> tuple[int, int, int]:
    return one.lane, one.seq, one.n
