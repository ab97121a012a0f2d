"""Programs read two queues with several cursors, while messages come, go and come back.

S0.13 to S0.22, judged by cursors_model.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused, Result
from adapter.core.model.msmq_queue import lookup_id_of
from tests.simulation.cursors_model import (
    CURRENT,
    FIRST,
    NEXT,
    NOTHING,
    REWINDING,
    Cursor,
    CursorsModel,
    Letter,
    Read,
)
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots
from tests.support.msmq import texts

TRANSACTIONAL, PLAIN = "t", "n"
QUEUES = (TRANSACTIONAL, PLAIN)
HANDLES = {TRANSACTIONAL: 1, PLAIN: 2}
PATHS = {queue: f".\\private$\\{queue}" for queue in QUEUES}
STARTS = {FIRST: m.FIRST, CURRENT: m.CURRENT, NEXT: m.NEXT, REWINDING: m.REWINDING}
PROGRAMS = ("ada", "bob")
LIFE_MS = 2_000
WAIT_MS = 2_000

QUEUE = st.sampled_from(QUEUES)
PROGRAM = st.sampled_from(PROGRAMS)
IN_UNIT = st.sampled_from((True, True, False))
WAITS = st.sampled_from((True, True, False))
SELDOM = st.sampled_from((False, False, True))


@dataclass(frozen=True)
class Eye:
    """A cursor of a program, on the queue that it is used for."""

    program: str
    queue: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.program} {self.queue} {self.number}"


EYES = (
    Eye("ada", TRANSACTIONAL, 1),
    Eye("ada", TRANSACTIONAL, 2),
    Eye("bob", TRANSACTIONAL, 1),
    Eye("ada", PLAIN, 1),
    Eye("bob", PLAIN, 2),
)
EYE = st.sampled_from(EYES)


class CursorsMachine(JudgedMachine):
    """One queue manager with little memory, two programs, and the model."""

    events = (
        "abort after a cursor",
        "abort before a cursor",
        "abort under a cursor",
        "arrival ahead of a cursor",
        "crash with cursors",
        "expiry under a cursor",
        "lock conflict",
        "message came back to a peek",
        "message under a cursor gone",
        "next of a cursor that is at no message",
        "page read",
        "purge under a cursor",
        "wait cancelled with its cursor",
        "wait ended with its transaction",
        "wait ran out",
        "wait served",
    )
    model: CursorsModel

    def __init__(self) -> None:
        super().__init__()
        self.model = CursorsModel(QUEUES)
        self.core = Core(Limits(window_messages=2))
        self.core.configure()
        self.programs: dict[str, Client] = {}
        self.units: dict[str, tuple[str, bytes]] = {}
        self.asked: dict[int, tuple[str, int]] = {}
        """Program and request of each read that waits, by its number in the model."""
        self.names = 0
        first = self.core.connect()
        for queue in QUEUES:
            first.do(m.MsmqCreate(PATHS[queue], {"transactional": queue == TRANSACTIONAL}))
        self.model.now_ms = self.core.now_ms
        self._start_programs()

    def _start_programs(self) -> None:
        for program in PROGRAMS:
            client = self.programs[program] = self.core.connect()
            client.open_session(self.core.new_session_id())
            for queue, handle in HANDLES.items():
                access = m.RECEIVE_ACCESS | m.SEND_ACCESS
                assert client.do(m.MsmqOpen(handle, PATHS[queue], access)) == Done()

    def _unit(self, program: str, queue: str, *, wanted: bool) -> tuple[str, bytes]:
        """Return the transaction of a program by name and id; both empty: none is wanted."""
        if not wanted or queue == PLAIN:
            return "", b""
        if program not in self.units:
            self.names += 1
            self.units[program] = f"unit{self.names}", self.programs[program].begin()
            self.model.units[self.units[program][0]] = []
        return self.units[program]

    # -- what happens to messages

    @initialize(
        priorities=st.lists(st.sampled_from(range(2, 6)), min_size=2, max_size=4),
        expires=st.permutations((False, True)),
    )
    def fill(self, priorities: list[int], expires: list[bool]) -> None:
        for queue in QUEUES:
            for each in expires:
                self.send(queue, priorities, expires=each)

    @rule(
        queue=QUEUE,
        priorities=st.lists(st.sampled_from(range(2, 6)), min_size=1, max_size=4),
        expires=st.sampled_from((False, False, False, True)),
    )
    def send(self, queue: str, priorities: list[int], expires: bool) -> None:
        for priority in priorities:
            self.names += 1
            name = f"message{self.names}"
            is_transactional = queue == TRANSACTIONAL
            life_ms = LIFE_MS if expires else -1
            message = MessageData(body=name.encode(), priority=priority, expiry_ms=life_ms)
            self._do("bob", m.MsmqSend(HANDLES[queue], message, single=is_transactional))
            ends_ms = self.core.now_ms + LIFE_MS if expires else 0
            self.model.arrive(queue, name, 0 if is_transactional else priority, ends_ms)
            self._check_waits({})

    @precondition(lambda self: self.units)
    @rule(program=PROGRAM, commits=st.booleans())
    def end(self, program: str, commits: bool) -> None:
        if program in self.units:
            name, ident = self.units.pop(program)
            answer = self._do(program, c.Commit(ident) if commits else c.Backout(ident))
            assert not isinstance(answer, Refused), answer
            self._check_waits(self.model.commit(name) if commits else self.model.abort(name))

    @rule(queue=QUEUE, purges=SELDOM)
    def purge(self, queue: str, purges: bool) -> None:
        if not purges:
            return
        self.pass_time(0)
        answer = self._do("bob", m.MsmqPurge(HANDLES[queue]))
        assert isinstance(answer, Done), answer
        assert 0 <= answer.count - self.model.purge(queue) <= self.model.expired[queue], answer
        self._check_waits({})

    @rule(seconds=st.sampled_from((1, 2)))
    def pass_time(self, seconds: int) -> None:
        self.core.advance(seconds)
        self._check_waits(self.model.pass_time(self.core.now_ms))

    @rule(with_snapshot=st.booleans(), crashes=SELDOM)
    def crash(self, with_snapshot: bool, crashes: bool) -> None:
        if not crashes:
            return
        if with_snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self.model.crash()
        self.units.clear()
        self.asked.clear()
        self._start_programs()
        self.pass_time(0)

    # -- reading

    def _need(self, eye: Eye) -> None:
        if eye.name not in self.model.cursors:
            self._do(eye.program, m.MsmqCursor(HANDLES[eye.queue], eye.number))
            self.model.cursors[eye.name] = Cursor(eye.queue)

    def _waits(self, eye: Eye) -> bool:
        return any(read.cursor == eye.name for read in self.model.waiting.values())

    @rule(eye=EYE, start=st.sampled_from((CURRENT, NEXT, NEXT, REWINDING)), waits=st.booleans())
    def peek(self, eye: Eye, start: str, waits: bool) -> None:
        self._read(eye, start, peeks=True, in_unit=False, waits=waits)

    @rule(eye=EYE, in_unit=IN_UNIT, waits=WAITS)
    def receive(self, eye: Eye, in_unit: bool, waits: bool) -> None:
        self._read(eye, CURRENT, peeks=False, in_unit=in_unit, waits=waits)

    def _read(self, eye: Eye, start: str, *, peeks: bool, in_unit: bool, waits: bool) -> None:
        self._need(eye)
        if self._waits(eye):
            return  # a cursor is for one read at a time
        unit, ident = self._unit(eye.program, eye.queue, wanted=in_unit)
        pages = self.core.pages
        command = m.MsmqReceive(
            HANDLES[eye.queue],
            ident,
            peek=peeks,
            start=STARTS[start],
            cursor=eye.number,
            wait_ms=WAIT_MS if waits else 0,
        )
        request = self.programs[eye.program].send(command)
        asked = Read(eye.queue, start, eye.name, peeks, unit)
        wanted = self.model.read(asked)
        if waits and wanted == NOTHING:
            asked.deadline_ms = self.core.now_ms + WAIT_MS
            self.names += 1
            self.model.wait(self.names, asked)
            self.asked[self.names] = eye.program, request
        else:
            compare(self.programs[eye.program].answer(request), wanted)
        self.meet("page read", when=self.core.pages > pages)
        self._check_waits({})

    @rule(program=PROGRAM, queue=QUEUE, in_unit=IN_UNIT)
    def receive_first(self, program: str, queue: str, in_unit: bool) -> None:
        unit, ident = self._unit(program, queue, wanted=in_unit)
        answer = self._do(program, m.MsmqReceive(HANDLES[queue], ident))
        compare(answer, self.model.read(Read(queue, FIRST, peeks=False, unit=unit)))
        self._check_waits({})

    @rule(program=PROGRAM, eye=EYE, aborts=st.booleans(), in_unit=IN_UNIT)
    def receive_under(self, program: str, eye: Eye, aborts: bool, in_unit: bool) -> None:
        """Receive the message that a cursor is at; perhaps put it back."""
        cursor = self.model.cursors.get(eye.name)
        if cursor is None or cursor.at is None:
            return
        unit, ident = self._unit(program, eye.queue, wanted=in_unit)
        number = lookup_id_of((*cursor.at, 0))
        command = m.MsmqReceive(HANDLES[eye.queue], ident, start=m.CURRENT, lookup_id=number)
        compare(self._do(program, command), self.model.read_at(eye.queue, cursor.at, unit))
        self._check_waits({})
        if unit and aborts:
            self.end(program, commits=False)

    @rule(
        program=PROGRAM,
        eye=st.sampled_from([eye for eye in EYES if eye.queue == TRANSACTIONAL]),
        start=st.sampled_from((NEXT, REWINDING)),
        aborts=st.booleans(),
    )
    def receive_from_a_waiting_peek(self, program: str, eye: Eye, start: str, aborts: bool) -> None:
        """Peek to the end of the queue, and at the next message; meanwhile receive the last one."""
        self.peek(eye, CURRENT, waits=False)
        while (before := self.model.cursors[eye.name].at) is not None:
            self.peek(eye, start, waits=True)
            if self.model.cursors[eye.name].at == before:
                break
        self.receive_under(program, eye, aborts, in_unit=True)

    @rule(eye=EYE)
    def close(self, eye: Eye) -> None:
        if eye.name in self.model.cursors:
            answer = self._do(eye.program, m.MsmqCursor(HANDLES[eye.queue], eye.number, close=True))
            assert answer == Done(), answer
            self._check_waits(self.model.close(eye.name))

    # -- judging

    def _do(self, program: str, command: c.Command) -> Result:
        return self.programs[program].do(command)

    def _check_waits(self, ended: dict[int, str]) -> None:
        """Compare the answers of reads that waited; ended: those that ended unserved."""
        answers: dict[int, str | Letter] = {**ended, **self.model.serve()}
        for number, (program, request) in list(self.asked.items()):
            answer = self.programs[program].answer(request)
            if number in answers:
                compare(answer, answers[number])
                del self.asked[number]
            else:
                assert answer is None, f"read {number} of {program} is to wait, not {answer}"

    def teardown(self) -> None:
        for program in list(self.units):
            self.end(program, commits=program == "ada")
        self.pass_time(0)
        for eye in EYES:
            self.close(eye)
        for queue in QUEUES:
            wanted = [letter.name for letter in self.model.free(queue)]
            found: list[str] = []
            while one := texts(self._do("bob", m.MsmqReceive(HANDLES[queue]))):
                found += one
            assert found == wanted, f"{queue} holds {found}, not {wanted}"
        for client in self.programs.values():
            client.lose()
        check_snapshots(self.core.qm, self.core.replayed())


def compare(answer: Result | None, wanted: str | Letter) -> None:
    """An answer is a letter, no message, or the reason of a refusal."""
    if isinstance(wanted, Letter):
        assert isinstance(answer, Messages), f"{answer}, not {wanted}"
        assert answer.messages, f"nothing, not {wanted}"
        one = answer.messages[0]
        shown = one.message.body.decode(), (-one.lane, one.seq), one.backout_count
        assert shown == (wanted.name, wanted.place, wanted.aborts), f"{shown}, not {wanted}"
    elif wanted == NOTHING:
        assert answer == Messages([]), f"{answer}, not nothing"
    else:
        assert isinstance(answer, Refused), f"{answer}, not {wanted}"
        assert Reason(answer.reason).name == wanted, f"{answer}, not {wanted}"
