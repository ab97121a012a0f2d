"""Programs send messages that ask for everything that MSMQ has; each is in one place at the end.

Two computers, `QM1` and `FAR`; judged by conservation_model.py.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, JOURNAL, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused, Result
from adapter.core.model.msmq_queue import lookup_id_of
from tests.simulation import conservation_model as model
from tests.simulation.computers import Computers, connected
from tests.simulation.conservation_model import SIZE, ConservationModel, Letter, Queue
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client
from tests.support.hard_state import check_snapshots
from tests.support.msmq import delivered, drain

HERE, THERE = "QM1", "FAR"
MOVES = (("t", "t;retry"), ("t;retry", "t"))
OWN = ("t", "n", "x", "d", "admin")
REMOTE = ("far t", "far n")
MISSING = "far missing"
TARGETS = ("t", "t", "t", "n", "n", "x", "far t", "far n", MISSING)
LIFE_MS, REACH_MS = 2_000, 1_000
ADMIN = 50
"""The handle by which acknowledgments are read."""


def path_of(name: str) -> str:
    """The path name of a queue."""
    computer = THERE if name.startswith("far ") else HERE
    return f"{computer}\\private$\\{name.removeprefix('far ')}"


HANDLES = {
    name: number for number, name in enumerate((*OWN[:4], "t;retry", *REMOTE, MISSING), start=1)
}
ATTRIBUTES: dict[str, dict[str, bool | int | str | None]] = {
    "t": {"transactional": True, "journaling": True, "quota_kb": 2, "journal_quota_kb": 1},
    "n": {"journaling": True, "quota_kb": 2},
    "x": {"transactional": True},
    "d": {"transactional": True},
    "admin": {},
    "far t": {"transactional": True},
    "far n": {},
}
PROGRAM = st.sampled_from(("ada", "bob"))
SELDOM = st.sampled_from((False, False, True))
IN_UNIT = st.sampled_from((True, True, False))


class ConservationMachine(JudgedMachine):
    """Two computers, programs on the first one, and the model."""

    events = (
        *(f"acknowledgment {kind:04x}" for kind in model.CLASSES),
        "copy in a journal",
        "copy in the journal of the computer",
        "crash in a transaction",
        "dead letter",
        "dead letter of the application",
        "journal full",
        "life of the first message",
        "lock conflict",
        "message arrived there",
        "message discarded",
        "message moved",
        "message rejected",
        "send to a queue that is deleted",
        "transaction aborted",
    )
    model: ConservationModel

    def __init__(self) -> None:
        super().__init__()
        self.model = ConservationModel(
            {
                "t": Queue(transactional=True, quota=5, journals=2),
                "t;retry": Queue(transactional=True, quota=5),
                "n": Queue(quota=5, journals=1_000_000),
                "x": Queue(transactional=True),
                "d": Queue(transactional=True),
                "far t": Queue(there=True, transactional=True),
                "far n": Queue(there=True),
            }
        )
        self.computers = Computers((HERE, THERE), Limits())
        self.here, self.there = (self.computers.cores[name] for name in (HERE, THERE))
        self.programs: dict[str, Client] = {}
        self.units: dict[str, tuple[str, bytes]] = {}
        self.names = 0
        self.reader = connected(self.there)
        first = connected(self.here)
        for name, attributes in ATTRIBUTES.items():
            (self.reader if name in REMOTE else first).do(m.MsmqCreate(path_of(name), attributes))
        for name in REMOTE:
            self.reader.do(m.MsmqOpen(HANDLES[name], path_of(name), m.RECEIVE_ACCESS))
        self.model.now_ms = self.here.now_ms
        self._start_programs()

    def _start_programs(self) -> None:
        for program in ("ada", "bob"):
            client = self.programs[program] = connected(self.here)
            for name in HANDLES:
                self._open(client, name)

    def _open(self, client: Client, name: str) -> None:
        access = m.SEND_ACCESS
        if not name.startswith("far "):
            access = m.RECEIVE_ACCESS | m.MOVE_ACCESS | (0 if ";" in name else m.SEND_ACCESS)
        assert client.do(m.MsmqOpen(HANDLES[name], path_of(name), access)) == Done()

    def _unit(self, program: str, *, wanted: bool) -> tuple[str, bytes]:
        if not wanted:
            return "", b""
        if program not in self.units:
            self.names += 1
            self.units[program] = f"unit{self.names}", self.programs[program].begin()
            self.model.units[self.units[program][0]] = model.Unit()
        return self.units[program]

    # -- sending

    @initialize(
        own_dead=st.booleans(),
        journal=st.sampled_from((0, DEAD_LETTER)),
        limits=st.sampled_from((0, LIFE_MS, REACH_MS)),
    )
    def fill(self, own_dead: bool, journal: int, limits: int) -> None:
        for queues, mode in ((["t", "t", "t", "x"], "single"), (["n", "n"], "none")):
            self.send("ada", queues, mode, 15, journal, own_dead, priority=3, limits=0)
        self.send("ada", ["far t", "x"], "single", 15, journal, own_dead, 0, limits)

    @rule(
        program=PROGRAM,
        queues=st.lists(st.sampled_from(TARGETS), min_size=1, max_size=5),
        mode=st.sampled_from(("none", "none", "single", "unit", "unit", "unit")),
        asks=st.sampled_from((0, 2, 13, 15)),
        journal=st.sampled_from((0, DEAD_LETTER, DEAD_LETTER, JOURNAL, DEAD_LETTER | JOURNAL)),
        own_dead=st.booleans(),
        priority=st.sampled_from(range(2, 6)),
        limits=st.sampled_from((0, 0, 0, LIFE_MS, REACH_MS)),
    )
    def send(
        self,
        program: str,
        queues: list[str],
        mode: str,
        asks: int,
        journal: int,
        own_dead: bool,
        priority: int,
        limits: int,
    ) -> None:
        unit, ident = self._unit(program, wanted=mode == "unit")
        for queue in queues:
            self.names += 1
            name = f"message{self.names}"
            header = MsmqHeader(
                acknowledge=asks,
                administration_queue=path_of("admin"),
                journal=journal,
                dead_letter_queue=path_of("d") if own_dead else "",
                reach_ms=REACH_MS if limits == REACH_MS else -1,
            )
            message = MessageData(
                body=name.ljust(SIZE, ".").encode(),
                message_id=self.names.to_bytes(24, "big"),
                priority=priority,
                expiry_ms=LIFE_MS if limits == LIFE_MS else -1,
                msmq=header,
            )
            command = m.MsmqSend(HANDLES[queue], message, ident, mode == "single")
            answer = self.programs[program].do(command)
            assert not isinstance(answer, Refused), answer
            letter = Letter(
                name,
                mode != "none",
                asks,
                bool(journal & DEAD_LETTER),
                own_dead,
                bool(journal & JOURNAL),
                0 if mode != "none" else priority,
                self.here.now_ms + LIFE_MS if limits == LIFE_MS else 0,
                self.here.now_ms + REACH_MS if limits == REACH_MS else 0,
            )
            self.model.send(letter, queue, unit)

    @precondition(lambda self: self.units)
    @rule(program=PROGRAM, commits=st.booleans())
    def end(self, program: str, commits: bool) -> None:
        if program in self.units:
            name, ident = self.units.pop(program)
            answer = self._do(program, c.Commit(ident) if commits else c.Backout(ident))
            assert not isinstance(answer, Refused), answer
            (self.model.commit if commits else self.model.abort)(name)
            self.pass_time(0)

    # -- receiving

    @rule(
        program=PROGRAM,
        queue=st.sampled_from(("t", "t", "n", "x", "t;retry")),
        in_unit=IN_UNIT,
        count=st.sampled_from(range(1, 4)),
        rejects=st.booleans(),
    )
    def receive(self, program: str, queue: str, in_unit: bool, count: int, rejects: bool) -> None:
        """Receive messages, and perhaps reject the last one."""
        unit, ident = self._unit(program, wanted=in_unit and queue != "n")
        for _ in range(count):
            answer = self._do(program, m.MsmqReceive(HANDLES[queue], ident))
            letter = self.model.receive(queue, unit)
            compare(answer, letter)
            if unit and rejects and letter is not None:
                number = lookup_of(answer)
                done = self._do(program, m.MsmqReject(HANDLES[queue], number, ident))
                assert done == Done(1), done
                self.model.reject(unit, letter)

    @rule(queue=st.sampled_from(REMOTE))
    def receive_there(self, queue: str) -> None:
        answer = self.reader.do(m.MsmqReceive(HANDLES[queue]))
        compare(answer, self.model.receive(queue, ""))

    @rule(program=PROGRAM, way=st.sampled_from(MOVES), in_unit=IN_UNIT)
    def move(self, program: str, way: tuple[str, str], in_unit: bool) -> None:
        """Move the first message."""
        source, target = way
        unit, ident = self._unit(program, wanted=in_unit)
        first = self._do(program, m.MsmqReceive(HANDLES[source], peek=True))
        letter = next((one for one in self.model.queues[source].letters if not one.holder), None)
        compare(first, letter)
        if letter is not None:
            number = lookup_of(first)
            command = m.MsmqMove(HANDLES[source], HANDLES[target], number, ident)
            assert self._do(program, command) == Done(1)
            self.model.move(source, target, letter, unit)

    # -- leaving a queue unreceived

    @rule(queue=st.sampled_from(("t", "n", "x", "t;retry")), purges=SELDOM)
    def purge(self, queue: str, purges: bool) -> None:
        if purges:
            answer = self._do("ada", m.MsmqPurge(HANDLES[queue]))
            assert answer == Done(self.model.remove(queue, model.PURGED)), answer

    @rule()
    def delete(self) -> None:
        """Delete a queue and create it again; what has received from it keeps it."""
        answer = self._do("ada", m.MsmqDelete(path_of("x")))
        if any(letter.holder for letter in self.model.queues["x"].letters):
            assert isinstance(answer, Refused), answer
            assert answer.reason == Reason.QUEUE_IN_USE, answer
            return
        assert answer == Done(self.model.remove("x", model.DELETED)), answer
        self._do("ada", m.MsmqCreate(path_of("x"), ATTRIBUTES["x"]))
        for client in self.programs.values():
            client.do(c.Close(HANDLES["x"]))
            self._open(client, "x")

    @rule(seconds=st.sampled_from((1, 2)))
    def pass_time(self, seconds: int) -> None:
        self.computers.advance(seconds)
        self.model.pass_time(self.here.now_ms)

    @rule()
    def travel(self) -> None:
        for route in (*self.computers.routes.values(),) * 2:
            route.pump()
        self.model.travel()

    @rule(with_snapshot=st.booleans(), crashes=SELDOM)
    def crash(self, with_snapshot: bool, crashes: bool) -> None:
        if crashes:
            # Of what is not in memory, as after a snapshot, ends are only known coarsely.
            with_snapshot = with_snapshot and not self.model.any_ends()
            self.computers.crash(HERE, with_snapshot=with_snapshot)
            for name, _ in self.units.values():
                self.model.abort(name, crashed=True)
            self.units.clear()
            self._start_programs()
            self.pass_time(0)

    def _do(self, program: str, command: c.Command) -> Result:
        return self.programs[program].do(command)

    # -- the end

    def teardown(self) -> None:
        for program in list(self.units):
            self.end(program, commits=program == "ada")
        self.travel()
        self.pass_time(0)
        self.model.check()
        for core in self.computers.cores.values():
            check_snapshots(core.qm, core.replayed())
        self._check_copies()
        for name, queue in self.model.queues.items():
            at = self.reader if queue.there else self.programs["ada"]
            wanted = [letter.name for letter in queue.letters]
            wanted += [letter for letter, _ in self.model.dead.get(name, [])]
            found = self._names(at, path_of(name))
            assert sorted(found) == sorted(wanted), f"{name} holds {found}, not {wanted}"

    def _check_copies(self) -> None:
        """Dead letters and acknowledgments with their classes, and copies in journals."""
        ada, known = self.programs["ada"], self.model
        wanted = {
            "SYSTEM$;DEADXACT": known.dead["xact"],
            "SYSTEM$;DEADLETTER": known.dead["here"],
        }
        for name, letters in wanted.items():
            dead = self._kinds(ada, f"{HERE}\\{name}")
            assert sorted(dead) == sorted(letters), f"{name} holds {dead}, not {letters}"
        left = self._kinds(self.reader, f"{THERE}\\SYSTEM$;DEADLETTER")
        assert sorted(left) == sorted(known.dead["there"])
        assert not self._kinds(self.reader, f"{THERE}\\SYSTEM$;DEADXACT")
        journal = self._names(ada, f"{HERE}\\SYSTEM$;JOURNAL")
        assert sorted(journal) == sorted(known.computer_journal)
        for name in ("t", "n"):
            found = self._names(ada, path_of(name) + ";journal")
            assert sorted(found) == sorted(known.journals[name]), f"journal of {name}"
        self._check_reports(ada)

    def _check_reports(self, client: Client) -> None:
        found = []
        client.do(m.MsmqOpen(ADMIN, path_of("admin"), m.RECEIVE_ACCESS))
        while one := delivered(client.do(m.MsmqReceive(ADMIN))):
            header = one[0].message.msmq or MsmqHeader()
            name = f"message{int.from_bytes(one[0].message.correlation_id, 'big')}"
            found.append((name, header.message_class))
        assert sorted(found) == sorted(self.model.reports)

    def _names(self, client: Client, path: str) -> list[str]:
        return [name for name, _ in self._kinds(client, path)]

    def _kinds(self, client: Client, path: str) -> list[tuple[str, int]]:
        return [(body.rstrip("."), kind) for body, kind in drain(client, path)]


def compare(answer: Result, letter: Letter | None) -> None:
    """A read is answered with a letter, or with none."""
    assert isinstance(answer, Messages), f"{answer}, not {letter}"
    names = [one.message.body.decode().rstrip(".") for one in answer.messages]
    assert names == ([letter.name] if letter is not None else []), f"{names}, not {letter}"


def lookup_of(answer: Result) -> int:
    """The lookup id of the message that a read is answered with."""
    (one,) = delivered(answer)
    return lookup_id_of((-one.lane, one.seq, 0))
