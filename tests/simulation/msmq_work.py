"""Programs of MSMQ, drawn at random, for their auditor to judge.

All is durable at once here. Of the queue manager's memory there is little, so that cursors meet
messages that are not in memory; it crashes, with and without a snapshot.
"""

from __future__ import annotations

import random
from collections import Counter

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, PutDone, Refused, Result
from adapter.core.model.msmq_queue import lookup_id_of
from tests.simulation.msmq_auditor import Cursor, Letter, MsmqAuditor, Place, Unit
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

PATHS = {"t": ".\\private$\\t", "t;retry": ".\\private$\\t;retry", "n": ".\\private$\\n"}
KEYS = {name: path.removeprefix(".\\") for name, path in PATHS.items()}
HANDLES = {name: number for number, name in enumerate(PATHS, 1)}
DEAD = {"t": "QM1\\SYSTEM$;DEADXACT", "n": "QM1\\SYSTEM$;DEADLETTER"}
PROGRAMS = ("ada", "bob", "eve")
STARTS = {
    "first": m.FIRST,
    "last": m.LAST,
    "current": m.CURRENT,
    "next": m.NEXT,
    "previous": m.PREVIOUS,
    "rewinding": m.REWINDING,
}
CURSOR = 1
LONGEST = 40
"""Bytes of a body: of different lengths, so that the bytes on a queue are counted right."""


class MsmqWork:
    """One run; a seed says everything that happens."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        window = self.rng.choice([1, 2, 5, 1_000])
        self.core = Core(Limits(window_messages=window))
        self.auditor = MsmqAuditor()
        self.auditor.now_ms = self.core.now_ms
        self.people: dict[str, Client] = {}
        self.units: dict[str, tuple[str, bytes]] = {}
        """By name of the unit: whose it is, and its id."""
        self.waiting: dict[str, int] = {}
        self.names = 0
        self.core.configure()
        first = self.core.connect()
        first.do(m.MsmqCreate(PATHS["t"], {"transactional": True, "journaling": True}))
        first.do(m.MsmqCreate(PATHS["n"]))
        self._connect()
        self.operations = {
            self.send: 30,
            self.read: 24,
            self.read_by_cursor: 30,
            self.read_by_lookup_id: 12,
            self.wait: 9,
            self.begin: 9,
            self.end: 14,
            self.move: 7,
            self.reject: 5,
            self.pass_time: 5,
            self.purge: 0.5,
            self.crash: 2,
        }

    @property
    def met(self) -> Counter[str]:
        """What has been met, and how often."""
        return +self.auditor.met

    def run(self, operations: int) -> None:
        """Work, and look at everything at the end."""
        for _ in range(operations):
            operation = self.rng.choices([*self.operations], [*self.operations.values()])[0]
            operation()
            self._check_served()
        for name in list(self.units):
            self._end(name, commits=self.rng.random() < 0.5)
        self._check_served()
        self.auditor.check_all_accounted()
        self._check_queues()
        self._check_dead_letters()
        self._check_snapshots()

    # -- what programs do

    def send(self) -> None:
        queue = self.rng.choice(("t", "t", "t", "n"))
        mode = self.rng.choice(
            ("single", "unit", "none") if queue == "t" else ("none",) * 3 + ("single",)
        )
        unit = self._a_unit() if mode == "unit" else ""
        mode = "single" if mode == "unit" and not unit else mode
        self.names += 1
        name = f"{self.names}".ljust(self.rng.randint(3, LONGEST), ".")
        priority = self.rng.randint(0, 7)
        life_ms = self.rng.choice((0, 0, 0, 0, 3_000))
        wants_dead = self.rng.random() < 0.3
        ends_ms = self.core.now_ms + life_ms if life_ms else 0
        letter = Letter(name, priority, ends_ms, wants_dead)
        person, ident = self.units[unit] if unit else (self._anyone(), b"")
        message = MessageData(
            body=name.encode(),
            priority=priority,
            expiry_ms=life_ms or -1,
            msmq=MsmqHeader(journal=DEAD_LETTER if wants_dead else 0),
        )
        self._trace(f"send {name} to {queue}, {mode} {unit}, priority {priority}")
        answer = self._do(person, m.MsmqSend(HANDLES[queue], message, ident, mode == "single"))
        assert isinstance(answer, (PutDone, Done)), answer
        self.auditor.send(queue, letter, mode, unit)

    def read(self) -> None:
        self._read(self._a_queue(), self.rng.choice(("first", "first", "last")), 0, None)

    def read_by_cursor(self) -> None:
        queue = self._a_queue()
        if (queue, CURSOR) not in self.auditor.cursors:
            self._do("ada", m.MsmqCursor(HANDLES[queue], CURSOR))
            self.auditor.cursors[queue, CURSOR] = Cursor()
        if any(wait.queue == queue for wait in self.auditor.waits.values()):
            return
        self._read(queue, self.rng.choice(("current", "next", "rewinding")), CURSOR, None)

    def read_by_lookup_id(self) -> None:
        for wait in self.auditor.waits.values():
            at = self.auditor.cursors[wait.cursor].at
            if at is not None:  # the message behind which somebody waits
                self._read(wait.queue, "current", 0, at)
                return
        queue = self._a_queue()
        letters = self.auditor.queues[queue].letters
        place = self.rng.choice(letters).place if letters else (0, 1)
        if self.rng.random() < 0.1:
            place = (-self.rng.randint(0, 7), self.rng.randint(1, 50))
        self._read(queue, self.rng.choice(("current", "next", "previous")), 0, place)

    def _read(self, queue: str, start: str, cursor: int, place: Place | None) -> None:
        modes = ["peek", "peek", "none"]
        modes += ["single", "unit", "unit"] if queue != "n" else ["unit"]
        mode = "peek" if start in ("next", "rewinding") and cursor else self.rng.choice(modes)
        unit = self._a_unit() if mode == "unit" else ""
        mode = "none" if mode == "unit" and not unit else mode
        person, ident = self.units[unit] if unit else (self._anyone(), b"")
        if cursor:
            person = "ada"
            mode = "none" if mode == "unit" else mode
            mine = next((one for one, (who, _) in self.units.items() if who == "ada"), "")
            if mode == "none" and mine and queue != "n":
                mode, unit, ident = "unit", mine, self.units[mine][1]
            else:
                unit, ident = "", b""
        command = m.MsmqReceive(
            HANDLES[queue],
            ident,
            peek=mode == "peek",
            start=STARTS[start],
            cursor=cursor,
            single=mode == "single",
        )
        if place is not None:
            command.lookup_id = lookup_id_of((place[0], place[1], 0))
        self._trace(f"{person}: {mode} {unit} {start} of {queue}, cursor {cursor}, {place}")
        answer = self._do(person, command)
        expected = self.auditor.read(queue, start, mode, unit, cursor, place)
        self._compare(answer, expected)

    def _compare(self, answer: Result, expected: str | Letter | None) -> None:
        if isinstance(expected, str):
            assert isinstance(answer, Refused), f"{expected} was expected, not {answer}"
            assert Reason(answer.reason).name == expected, f"not {expected}: {answer}"
            return
        assert isinstance(answer, Messages), f"{answer}, not {expected and expected.name}"
        assert len(answer.messages) == (expected is not None), f"{answer}, not {expected}"
        if expected is not None:
            check_letter(answer.messages[0], expected)

    def wait(self) -> None:
        """Ada peeks at the next message with a cursor, and waits for it."""
        queue = self._a_queue()
        known = self.auditor.cursors.get((queue, CURSOR))
        if known is None or known.at is None or self.waiting:
            return
        start = self.rng.choice(("next", "rewinding"))
        command = m.MsmqReceive(
            HANDLES[queue], wait_ms=-1, peek=True, start=STARTS[start], cursor=CURSOR
        )
        self._trace(f"ada waits for {start} of {queue}")
        if self.auditor._choose(queue, start, CURSOR, None, peeks=True) is not None:
            return
        self.waiting["ada"] = self.people["ada"].send(command)
        self.auditor.wait("ada", queue, CURSOR, start)

    def _check_served(self) -> None:
        shown = self.auditor.served()
        for who, request in list(self.waiting.items()):
            answer = self.people[who].answer(request)
            if who in shown:
                assert isinstance(answer, Messages), f"{who} waits, and not for {shown[who]}"
                assert answer.messages[0].message.body.decode() == shown[who]
                del self.waiting[who]
            else:
                assert answer is None, f"{who} was shown {answer}, and is to wait"

    def begin(self) -> None:
        person = self._anyone()
        if sum(who == person for who, _ in self.units.values()) < 2:
            self.names += 1
            name = f"unit{self.names}"
            self.units[name] = person, self.people[person].begin()
            self.auditor.units[name] = Unit()

    def end(self) -> None:
        unit = self._a_unit()
        if unit:
            self._end(unit, commits=self.rng.random() < 0.5)

    def _end(self, name: str, *, commits: bool) -> None:
        person, ident = self.units.pop(name)
        self._trace(f"{'commit' if commits else 'abort'} {name}")
        self._do(person, c.Commit(ident) if commits else c.Backout(ident))
        (self.auditor.commit if commits else self.auditor.abort)(name)

    def move(self) -> None:
        source, target = self.rng.choice((("t", "t;retry"), ("t;retry", "t")))
        letters = self.auditor.queues[source].letters
        if not letters:
            return
        letter = self.rng.choice(letters)
        if letter.is_over(self.core.now_ms):
            return
        unit = self._a_unit() if self.rng.random() < 0.5 else ""
        person, ident = self.units[unit] if unit else (self._anyone(), b"")
        number = lookup_id_of((*letter.place, 0))
        self._trace(f"move {letter.name} from {source}, {unit}")
        answer = self._do(person, m.MsmqMove(HANDLES[source], HANDLES[target], number, ident))
        why = self.auditor.move(source, target, letter.place, unit)
        assert (Reason(answer.reason).name if isinstance(answer, Refused) else "") == why, answer

    def reject(self) -> None:
        held = [
            (name, queue, letter)
            for name, unit in self.auditor.units.items()
            for queue, letter in unit.takes
        ]
        if held:
            name, queue, letter = self.rng.choice(held)
            person, ident = self.units[name]
            number = lookup_id_of((*letter.place, 0))
            self._trace(f"reject {letter.name} in {name}")
            answer = self._do(person, m.MsmqReject(HANDLES[queue], number, ident))
            if letter.name in self.auditor.units[name].moved:
                self._compare(answer, "MESSAGE_NOT_FOUND")
                return
            assert answer == Done(1), answer
            self.auditor.reject(letter.name, name)

    def pass_time(self) -> None:
        self.core.advance(self.rng.choice((0, 1, 2)))
        self._trace(f"it is {self.core.now_ms}")
        self.auditor.tick(self.core.now_ms)

    def purge(self) -> None:
        queue = self._a_queue()
        self.pass_time()
        self._trace(f"purge {queue}")
        answer = self._do(self._anyone(), m.MsmqPurge(HANDLES[queue]))
        assert answer == Done(self.auditor.purge(queue)), answer

    def crash(self) -> None:
        if self.rng.random() < 0.5:
            self.core.crash()
        else:
            self.core.crash_with_snapshot()
        self._trace("crash")
        self.auditor.cursors.clear()
        self.auditor.waits.clear()
        for unit in self.auditor.units.values():
            for _, letter in unit.takes:
                letter.aborts -= 1  # a crash counts no abort
        for name in list(self.auditor.units):
            self.auditor.abort(name)
        self.units.clear()
        self.waiting.clear()
        self._connect()
        self.core.advance(0)
        self.auditor.tick(self.core.now_ms)

    # -- how

    def _connect(self) -> None:
        for person in PROGRAMS:
            client = self.people[person] = self.core.connect()
            client.open_session(self.core.new_session_id())
            for name, path in PATHS.items():
                access = m.RECEIVE_ACCESS | m.MOVE_ACCESS
                access |= 0 if ";" in name else m.SEND_ACCESS
                assert client.do(m.MsmqOpen(HANDLES[name], path, access)) == Done()

    def _do(self, person: str, command: c.Command) -> Result:
        return self.people[person].do(command)

    def _anyone(self) -> str:
        return self.rng.choice(PROGRAMS)

    def _a_queue(self) -> str:
        return self.rng.choice(("t", "t", "n", "t;retry"))

    def _a_unit(self) -> str:
        return self.rng.choice(list(self.units)) if self.units else ""

    def _trace(self, text: str) -> None:
        if self.auditor.trace is not None:
            self.auditor.trace(text)

    # -- the end

    def _check_queues(self) -> None:
        for queue, handle in HANDLES.items():
            names, lookup_id = [], 0
            while True:
                command = m.MsmqReceive(handle, peek=True, start=m.NEXT, lookup_id=lookup_id)
                answer = self._do("bob", command)
                assert isinstance(answer, Messages), answer
                if not answer.messages:
                    break
                one = answer.messages[0]
                names.append(one.message.body.decode())
                lookup_id = lookup_id_of((-one.lane, one.seq, 0))
            assert names == self.auditor.names(queue), f"{queue}: {names}"

    def _check_dead_letters(self) -> None:
        self.core.advance(0)
        self.auditor.tick(self.core.now_ms)
        for kind, path in (*DEAD.items(), ("journal", PATHS["t"] + ";journal")):
            expected = self.auditor.journal if kind == "journal" else self.auditor.dead[kind]
            client = self.core.connect()
            client.do(m.MsmqOpen(1, path, m.RECEIVE_ACCESS))
            found = []
            while isinstance(answer := client.do(m.MsmqReceive(1)), Messages) and answer.messages:
                found.append(answer.messages[0].message.body.decode())
            assert sorted(found) == sorted(expected), f"{kind}: {found}, not {expected}"

    def _check_snapshots(self) -> None:
        for person in self.people.values():
            person.lose()
        check_snapshots(self.core.qm, self.core.replayed())


def check_letter(one: Delivered, letter: Letter) -> None:
    """What a message says is what its letter says."""
    header = one.message.msmq
    assert header is not None
    shown = (one.message.body.decode(), one.lane, one.seq, one.backout_count, header.move_count)
    known = (letter.name, -letter.place[0], letter.place[1], letter.aborts, letter.moves)
    assert shown == known, f"{shown}, not {known}"
