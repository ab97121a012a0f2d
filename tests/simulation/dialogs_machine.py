"""Programs converse over two queues, while transactions end in every way: see dialogs_model.py."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, Messages, Refused, Result
from tests.simulation.dialogs_model import END, ERROR, USUAL, DialogsModel, Row, Unit
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

QUEUES = ("Q1", "Q2")
SERVICES = {"ask": "Q1", "stock": "Q2", "bank": "Q1"}
TARGETS = {"stock": ("Q2", 8), "bank": ("Q1", 5)}
PROGRAMS = ("ada", "bob", "eve")
PROGRAM = st.sampled_from(PROGRAMS)
QUEUE = st.sampled_from(QUEUES)
PICK = st.integers(0, 7)
SELDOM = st.sampled_from((False, False, False, True))
KINDS = {b.END_DIALOG: END, b.ERROR: ERROR, b.DEFAULT: USUAL}


class DialogsMachine(JudgedMachine):
    """One queue manager with little memory, three programs, and the model."""

    events = (
        "count reset by a commit",
        "crash in a transaction that received",
        "group passed over",
        "held rows delivered",
        "held while OFF",
        "lock conflict",
        "move",
        "page read",
        "rows back",
        "rows back at a savepoint",
        "rows gone with their conversation",
        "send after the far side's end",
        "sends dropped by an error",
        "several conversations at once",
        "several queues in a rollback",
        "the other side learns of an end",
        "the other side learns of an error",
        "turned OFF by rollbacks",
    )
    model: DialogsModel

    def __init__(self) -> None:
        super().__init__()
        self.model = DialogsModel(QUEUES, TARGETS)
        self.core = Core(Limits(window_messages=2))
        self.core.configure()
        self.programs: dict[str, Client] = {}
        self.units: dict[str, bytes] = {}
        self.handles: dict[str, bytes] = {}
        """By side, as far as they are known."""
        self.groups: dict[str, bytes] = {}
        self.count = 0
        first = self.core.connect()
        for queue in QUEUES:
            first.do(b.BrokerCreate("queue", queue))
        for service, queue in SERVICES.items():
            first.do(b.BrokerCreate("service", service, {"queue": queue, "contracts": "DEFAULT"}))
        level = {"local_service": "stock", "level": 8}
        first.do(b.BrokerCreate("broker_priority", "stock first", level))
        self._start_programs()

    def _start_programs(self) -> None:
        for program in PROGRAMS:
            self.programs[program] = self.core.connect()
            self.programs[program].open_session(self.core.new_session_id())

    def _unit(self, who: str) -> bytes:
        if who not in self.units:
            self.units[who] = self.programs[who].begin()
            self.model.units[who] = Unit()
        return self.units[who]

    def _guid(self) -> bytes:
        self.count += 1
        return self.count.to_bytes(16, "big")

    def _side(self, pick: int) -> str:
        known = sorted(self.handles)
        return known[-1 - pick % len(known)] if known else ""

    # -- what programs do

    @initialize(who=PROGRAM)
    def begin_two(self, who: str) -> None:
        for pick in (0, 1):
            self.begin(who, pick, joins=False)
            self.send(who, 0)
        self.end_unit(who, how="commit")

    @rule(who=PROGRAM, pick=PICK, joins=st.booleans())
    def begin(self, who: str, pick: int, joins: bool) -> None:
        unit = self._unit(who)
        to = sorted(TARGETS)[pick % 2]
        mine = sorted(name for name in self.groups if name.startswith("mine"))
        group = mine[pick % len(mine)] if joins and mine else f"mine {self.count}"
        ident = self.groups.setdefault(group, self._guid())
        handle = self._guid()
        name = f"{self.count}i"
        answer = self._do(who, b.BrokerBegin(unit, handle, "ask", to, group=ident, lock_ms=0))
        refused = self.model.begin(who, name, "Q1", group, to)
        compare(answer, refused)
        if not refused:
            self.handles[name] = handle

    @rule(who=PROGRAM, pick=PICK)
    def send(self, who: str, pick: int) -> None:
        name = self._side(pick)
        if name:
            unit = self._unit(who)
            self.count += 1
            body = f"message {self.count}"
            command = b.BrokerSend(unit, [self.handles[name]], body=body.encode(), lock_ms=0)
            compare(self._do(who, command), self.model.send(who, name, body))

    @rule(who=PROGRAM, pick=PICK, fails=st.booleans(), ends=SELDOM)
    def end(self, who: str, pick: int, fails: bool, ends: bool) -> None:
        name = self._side(pick)
        if name and ends:
            unit = self._unit(who)
            error = "it failed" if fails else ""
            command = b.BrokerEnd(unit, self.handles[name], 9 if fails else None, error, lock_ms=0)
            compare(self._do(who, command), self.model.end(who, name, error))

    @rule(who=PROGRAM, pick=PICK, to=PICK)
    def move(self, who: str, pick: int, to: int) -> None:
        name = self._side(pick)
        if name:
            unit = self._unit(who)
            group = sorted(self.groups)[to % len(self.groups)]
            command = b.BrokerMove(unit, self.handles[name], self.groups[group], lock_ms=0)
            compare(self._do(who, command), self.model.move(who, name, group))

    @rule(
        who=PROGRAM,
        queue=QUEUE,
        top=st.sampled_from((-1, 1, 1, 2)),
        by=st.sampled_from(("", "", "", "side", "group")),
        pick=PICK,
    )
    def receive(self, who: str, queue: str, top: int, by: str, pick: int) -> None:
        unit = self._unit(who)
        name = self._side(pick) if by == "side" else ""
        group = sorted(self.groups)[pick % len(self.groups)] if by == "group" else ""
        pages = self.core.pages
        command = b.BrokerReceive(
            unit,
            queue,
            top,
            self.handles[name] if name else b"",
            self.groups[group] if group else b"",
            lock_ms=0,
        )
        answer = self._do(who, command)
        self.meet("page read", when=self.core.pages > pages)
        wanted = self.model.receive(who, queue, top, name, group)
        if isinstance(wanted, str):
            compare(answer, wanted)
            return
        assert isinstance(answer, Messages), f"{answer}, not {wanted}"
        self._learn(answer.messages, wanted)
        found = [self._seen(one) for one in answer.messages]
        assert found == [(row.side, row.kind, row.body) for row in wanted], f"{found}, not {wanted}"

    @rule(who=PROGRAM, queue=QUEUE, how=st.sampled_from(("send", "send", "end", "error")))
    def answer(self, who: str, queue: str, how: str) -> None:
        """Receive, answer each conversation that there is a message of, and commit."""
        unit = self._unit(who)
        before = {id(row) for row in self._held_by(who)}
        self.receive(who, queue, -1, "", 0)
        for name in dict.fromkeys(r.side for r in self._held_by(who) if id(r) not in before):
            handle = self.handles[name]
            if how == "send":
                self.count += 1
                body = f"answer {self.count}"
                command = b.BrokerSend(unit, [handle], body=body.encode(), lock_ms=0)
                compare(self._do(who, command), self.model.send(who, name, body))
            else:
                error = "it failed" if how == "error" else ""
                code = 9 if error else None
                compare(
                    self._do(who, b.BrokerEnd(unit, handle, code, error, lock_ms=0)),
                    self.model.end(who, name, error),
                )
        self.end_unit(who, how="commit")

    def _held_by(self, who: str) -> list[Row]:
        rows = (row for queue in self.model.queues.values() for row in queue.rows)
        return [row for row in rows if row.holder == who]

    @rule(who=PROGRAM, queue=QUEUE)
    def receive_and_restore(self, who: str, queue: str) -> None:
        """Receive behind a savepoint, and go back to it."""
        self._unit(who)
        self.use_savepoint(who, restores=False)
        self.receive(who, queue, 2, "", 0)
        self.use_savepoint(who, restores=True)

    @rule(who=PROGRAM, to=PICK)
    def ask_often(self, who: str, to: int) -> None:
        """Begin dialogs in one group, send by each, and commit."""
        if who in self.units:
            return
        for _ in range(2):
            self.begin(who, to, joins=True)
            self.send(who, 0)
        self.end_unit(who, how="commit")

    @rule(who=PROGRAM, to=PICK, top=st.sampled_from((-1, 3)))
    def talk(self, who: str, to: int, top: int) -> None:
        """Ask often, answer all, and receive the answers."""
        self.ask_often(who, to)
        for _ in range(3):
            self.answer(who, SERVICES[sorted(TARGETS)[to % 2]], "send")
        self.receive(who, "Q1", top, "", 0)

    @rule(who=PROGRAM, pick=PICK, sends=st.booleans())
    def fail(self, who: str, pick: int, sends: bool) -> None:
        """End with an error, perhaps behind a message of the same transaction; and commit."""
        if sends:
            self.send(who, pick)
        self.end(who, pick, fails=True, ends=True)
        self.end_unit(who, how="commit")

    def _learn(self, messages: list[Delivered], rows: list[Row]) -> None:
        """Know the handles and groups of targets, which the queue manager has drawn."""
        for one, row in zip(messages, rows, strict=False):
            header = one.message.broker
            assert header is not None
            self.handles.setdefault(row.side, header.handle)
            side = self.model.sides[row.side]
            if side.group not in self.groups:
                self.groups[side.group] = header.group

    def _seen(self, one: Delivered) -> tuple[str, str, str]:
        header = one.message.broker
        assert header is not None
        side = next(name for name, handle in self.handles.items() if handle == header.handle)
        kind = KINDS[header.message_type]
        body = one.message.body.decode() if kind == USUAL else ""
        if kind == ERROR:
            body = one.message.body.decode("utf-16-le").split("Description>")[1][:-2]
        return side, kind, body

    @rule(who=PROGRAM, restores=st.booleans())
    def use_savepoint(self, who: str, restores: bool) -> None:
        if who not in self.units:
            return
        if restores and self.model.units[who].saved is not None:
            self._ok(who, b.BrokerRollbackTo(self.units[who], "s"))
            self.model.roll_back_to_saved(who)
        elif not restores:
            self._ok(who, b.BrokerSave(self.units[who], "s"))
            self.model.save(who)

    @rule(who=PROGRAM, how=st.sampled_from(("commit", "commit", "rollback", "rollback", "loss")))
    def end_unit(self, who: str, how: str) -> None:
        if who not in self.units:
            return
        unit = self.units.pop(who)
        if how == "commit":
            self._ok(who, c.Commit(unit))
            self.model.commit(who)
            return
        if how == "rollback":
            self._ok(who, c.Backout(unit))
        else:
            self.programs[who].lose()
            self.programs[who] = self.core.connect()
            self.programs[who].open_session(self.core.new_session_id())
        self.model.roll_back(who)

    @rule(queue=QUEUE, on=st.booleans(), turns=SELDOM)
    def turn(self, queue: str, on: bool, turns: bool) -> None:
        if turns:
            self._ok("bob", b.BrokerAlter("queue", queue, {"status": on}))
            self.core.advance(0)
            self.model.turn(queue, on=on)

    @rule(who=PROGRAM, queue=QUEUE)
    def fail_often(self, who: str, queue: str) -> None:
        """Receive and roll back, again and again."""
        for _ in range(3):
            self.receive(who, queue, 1, "", 0)
            self.end_unit(who, how="rollback")

    @rule(with_snapshot=st.booleans(), crashes=SELDOM)
    def crash(self, with_snapshot: bool, crashes: bool) -> None:
        if not crashes:
            return
        if with_snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self.core.advance(0)
        self.model.crash()
        self.units.clear()
        self._start_programs()
        self.core.advance(0)

    # -- judging

    def _do(self, who: str, command: c.Command) -> Result:
        return self.programs[who].do(command)

    def _ok(self, who: str, command: c.Command) -> None:
        answer = self._do(who, command)
        assert not isinstance(answer, Refused), answer

    def teardown(self) -> None:
        for who in list(self.units):
            self.end_unit(who, how="commit" if who == "ada" else "rollback")
        for queue in QUEUES:
            self.turn(queue, on=True, turns=True)
        self._check_rows()
        self._check_sides()
        for client in self.programs.values():
            client.lose()
        check_snapshots(self.core.qm, self.core.replayed())

    def _check_rows(self) -> None:
        for queue in QUEUES:
            messages: list[Delivered] = []
            while found := self._browse(queue, messages[-1].seq if messages else 0):
                messages += found
            wanted = sorted(self.model.queues[queue].rows, key=lambda row: row.number)
            self._learn(messages, wanted)
            seen = [self._seen(one) for one in messages]
            assert seen == [(row.side, row.kind, row.body) for row in wanted]

    def _browse(self, queue: str, after: int) -> list[Delivered]:
        answer = self._do("bob", b.BrokerBrowse(queue, after))
        assert isinstance(answer, Messages)
        return answer.messages

    def _check_sides(self) -> None:
        answer = self._do("bob", b.BrokerInquire(b.ENDPOINTS))
        assert isinstance(answer, Descriptions)
        names = {handle.hex(): name for name, handle in self.handles.items()}
        found = {names[one.name]: one.attributes["state"] for one in answer.queues}
        assert found == {name: side.state for name, side in self.model.sides.items()}


def compare(answer: Result, refused: str) -> None:
    """An answer is none, or the reason of a refusal."""
    if refused:
        assert isinstance(answer, Refused), f"{answer}, not {refused}"
        assert Reason(answer.reason).name == refused, f"{answer}, not {refused}"
    else:
        assert not isinstance(answer, Refused), answer
