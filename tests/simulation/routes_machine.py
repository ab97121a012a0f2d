"""Programs send to a service at an export, while its queue is full or inhibited, the export or its
queue's messages go, and the route is changed. Judged by routes_model.py.

What an exporter does is done here by a client that gets: the machine of exports has real ones.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.results import Descriptions, Refused, Result
from tests.simulation.judged_machine import JudgedMachine
from tests.simulation.routes_model import RoutesModel
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

EXPORTS = ("E", "F")
PROGRAMS = ("ada", "bob")
PROGRAM, EXPORT = st.sampled_from(PROGRAMS), st.sampled_from(EXPORTS)
PICK = st.integers(0, 3)
SELDOM = st.sampled_from((False, False, True))
DEPTH, UNBOUND = 3, 1_000
RETRY_S = 1.0


class RoutesMachine(JudgedMachine):
    """One queue manager with little memory, two programs, and two exports; each has a queue of
    its name.
    """

    events = (
        "crash while messages wait",
        "dropped by an error",
        "end behind what waits",
        "put after a wait",
        "rolled back",
        "route changed while messages wait",
        *(f"waits: {why}" for why in ("full", "inhibited", "no export")),
    )
    model: RoutesModel

    def __init__(self) -> None:
        super().__init__()
        self.model = RoutesModel()
        self.core = Core(Limits(window_messages=2))
        self.core.configure()
        self.programs: dict[str, Client] = {}
        self.units: dict[str, bytes] = {}
        self.users: dict[str, str] = {}
        """Which program's unit uses a conversation."""
        self.count = 0
        self.waited = 0
        self._start()
        self._ok(b.BrokerCreate("queue", "Q"))
        self._ok(b.BrokerCreate("service", "ask", {"queue": "Q"}))
        self._ok(b.BrokerCreate("route", "R", {"service": "far", "address": "EXPORT://E"}))
        for name in EXPORTS:
            attributes = {"msg_delivery_sequence": "FIFO", "max_depth": DEPTH}
            self._ok(c.DefineQueue(name, attributes))
            self._define(name)

    def _start(self) -> None:
        self.operator = self.core.connect()
        self.programs = {who: self._program() for who in PROGRAMS}

    def _program(self) -> Client:
        client = self.core.connect()
        client.open_session(self.core.new_session_id())
        return client

    def _define(self, name: str) -> None:
        self._ok(c.DefineObject("export", name, {"queue": name, "topic": f"topic.{name}"}))

    # -- what programs do

    @initialize(who=PROGRAM)
    def begin_some(self, who: str) -> None:
        for _ in range(2):
            self.begin(who)
        self.end_unit(who, "commit")

    @rule(who=PROGRAM)
    def begin(self, who: str) -> None:
        self.count += 1
        name = self.count.to_bytes(16, "big").hex()
        self.users[name] = who
        handle = bytes.fromhex(name)
        command = b.BrokerBegin(self._unit(who), handle, "ask", "far", group=handle, lock_ms=0)
        self._ok(command, who)
        self._send(who, name)

    @rule(who=PROGRAM, pick=PICK, times=st.integers(1, 3))
    def send(self, who: str, pick: int, times: int) -> None:
        name = self._pick(who, pick)
        for _ in range(times if name else 0):
            self._send(who, name)

    def _send(self, who: str, name: str) -> None:
        self.count += 1
        body = f"{name} {self.count}"
        command = b.BrokerSend(self._unit(who), [bytes.fromhex(name)], body=body.encode())
        self._ok(command, who)
        self.model.work(who, name).sent.append(body)

    @rule(who=PROGRAM, pick=PICK, fails=SELDOM)
    def end(self, who: str, pick: int, fails: bool) -> None:
        name = self._pick(who, pick)
        if name:
            error = (9, "it failed") if fails else (None, "")
            self._ok(b.BrokerEnd(self._unit(who), bytes.fromhex(name), *error), who)
            self.model.end(who, name, fails=fails)

    @rule(who=PROGRAM, pick=PICK, times=st.integers(1, 3), ends=st.booleans())
    def talk(self, who: str, pick: int, times: int, ends: bool) -> None:
        """Send by a conversation, perhaps end it, and commit."""
        self.send(who, pick, times)
        if ends:
            self.end(who, pick, fails=False)
        self.end_unit(who, "commit")

    @rule(who=PROGRAM, how=st.sampled_from(("commit", "commit", "commit", "rollback", "loss")))
    def end_unit(self, who: str, how: str) -> None:
        unit = self.units.pop(who, b"")
        if not unit:
            return
        ends = [name for name, work in self.model.units.get(who, {}).items() if work.is_ended]
        if how == "commit":
            self._ok(c.Commit(unit), who)
            self.model.commit(who)
            self._note_waits()
            there = self._endpoints()
            self.meet("end behind what waits", when=there.intersection(ends))
        elif how == "rollback":
            self._ok(c.Backout(unit), who)
        else:
            self.programs[who].lose()
            self.programs[who] = self._program()
        self.model.roll_back(who)
        self.users = {name: one for name, one in self.users.items() if one != who}

    def _unit(self, who: str) -> bytes:
        if who not in self.units:
            self.units[who] = self.programs[who].begin()
        return self.units[who]

    def _pick(self, who: str, pick: int) -> str:
        """Choose a conversation that no other program's unit uses, and that has not ended."""
        known = self.model.conversations
        names = {name for name, one in known.items() if not one.is_ended}
        own = self.model.units.get(who, {})
        names = {name for name in names.union(own) if self.users.get(name, who) == who}
        free = sorted(name for name in names if name not in own or not own[name].is_ended)
        if not free:
            return ""
        name = free[-1 - pick % len(free)]
        self.users[name] = who
        return name

    # -- what happens meanwhile

    @rule(export=EXPORT, count=st.integers(1, 4), then_waits=st.booleans())
    def take(self, export: str, count: int, then_waits: bool) -> None:
        """Take messages, as an exporter does; perhaps what waits is put then."""
        reader = self.core.connect()
        reader.open(export, c.INPUT)
        for _ in range(count):
            for one in reader.take():
                body = one.message.body.decode()
                self.model.take(export, body.split(" ")[0], body)
        reader.lose()
        if then_waits:
            self.pass_time()

    @rule()
    def pass_time(self) -> None:
        before = self._waiting()
        self.core.advance(RETRY_S)
        self.meet("put after a wait", when=self._waiting() < before)

    @rule(export=EXPORT, inhibited=SELDOM)
    def inhibit(self, export: str, inhibited: bool) -> None:
        self._ok(c.AlterQueue(export, {"inhibit_put": inhibited}))

    @rule(export=EXPORT, deletes=SELDOM)
    def delete(self, export: str, deletes: bool) -> None:
        if deletes and export in self.core.qm.exports:
            self._ok(c.DeleteObject("export", export))
        elif export not in self.core.qm.exports:
            self._define(export)

    @rule(export=EXPORT, changes=SELDOM)
    def turn(self, export: str, changes: bool) -> None:
        """Let the service be at another export."""
        if changes:
            self.meet("route changed while messages wait", when=self._waiting())
            self._ok(b.BrokerAlter("route", "R", {"address": f"EXPORT://{export}"}))

    @rule(with_snapshot=st.booleans(), crashes=SELDOM)
    def crash(self, with_snapshot: bool, crashes: bool) -> None:
        if not crashes:
            return
        self.meet("crash while messages wait", when=self._waiting())
        if with_snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        for who in PROGRAMS:
            self.model.roll_back(who)
        self.units.clear()
        self.users.clear()
        self._start()
        self.core.advance(0)

    # -- judging

    def _ok(self, command: c.Command, who: str = "") -> Result:
        answer = (self.programs[who] if who else self.operator).do(command)
        assert not isinstance(answer, Refused), answer
        return answer

    def _waiting(self) -> int:
        return len(self._rows())

    def _rows(self) -> list[str]:
        answer = self._ok(b.BrokerInquire(b.TRANSMISSION))
        assert isinstance(answer, Descriptions)
        return [one.attributes["status"] for one in answer.queues]

    def _note_waits(self) -> None:
        for text in self._rows():
            self.meet("waits: full", when="is full" in text)
            self.meet("waits: inhibited", when="is inhibited" in text)
            self.meet("waits: no export", when="does not exist" in text)

    def _endpoints(self) -> set[str]:
        answer = self._ok(b.BrokerInquire(b.ENDPOINTS))
        assert isinstance(answer, Descriptions)
        return {one.name for one in answer.queues}

    def teardown(self) -> None:
        for who in PROGRAMS:
            self.end_unit(who, "commit" if who == "ada" else "rollback")
        for export in EXPORTS:
            self.inhibit(export, inhibited=False)
            self.delete(export, deletes=False)
        for _ in range(UNBOUND):
            self.core.advance(RETRY_S)
            for export in EXPORTS:
                self.take(export, DEPTH, then_waits=False)
            if not self._waiting():
                break
        assert not self._waiting(), self._rows()
        self.model.check(self._endpoints())
        for client in (self.operator, *self.programs.values()):
            client.lose()
        check_snapshots(self.core.qm, self.core.replayed())
