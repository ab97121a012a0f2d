"""Programs with groups, segments, cursors, reports and dynamic queues, drawn at random.

Their auditor judges every answer. All is durable at once here: what an unfinished entry does to
messages is the other simulation's business. The queue manager crashes, with and without a
snapshot, or its owner takes over again.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.contract import answers, details
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, Delivered, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Opened, PutDone, Refused, Result
from adapter.core.model import report
from adapter.core.mq_layouts import dead_letter
from tests.simulation.letters import At, Handle, Letter, Queue, Wants
from tests.simulation.message_auditor import DEAD, MessageAuditor, Shown
from tests.simulation.programs import ident_of
from tests.simulation.work import CLIENTS, OBSERVER, Operation, Work, messages_of
from tests.simulation.work_auditor import Answer
from tests.support.by_hand import ByHand
from tests.support.core import Client, Core

STANDING = {"A": 1_000, "B": 32, "R": 1_000, DEAD: 1_000}
"""How long a message each takes uncut."""
OPENED = (("A", ""), ("A", "red"), ("B", ""), ("A", ""))
"""What each program has open under handles 1, 2, ...: which queue, and what it selects there."""
MODELS = {"TEMP": "TEMPDYN", "PERM": "PERMDYN"}
DYNAMIC_AT = 10
"""Handles of dynamic queues are numbered from here."""
DYNAMIC_MAX = 3
MODES = c.INPUT | c.OUTPUT | c.BROWSE
REPORTS = {
    "a": report.CONFIRM_ON_ARRIVAL,
    "d": report.CONFIRM_ON_DELIVERY,
    "e": report.EXPIRATION,
}
FEEDBACKS = tuple(report.FEEDBACK.values())
COLOURS = ("red", "green")
BY_PROGRAM = "p"
"""Begins the names of groups whose messages their program numbers, each number once."""
STEP = 16
"""Segments but the last one have a multiple of this many bytes."""


class Sent(Struct):
    """A get that waits, or waited: who sent it, and under which request."""

    client: Client
    request: int


class MessageWork(Work[MessageAuditor]):
    """One run; a seed says everything that happens."""

    UNITS_MAX = 1
    """As on MQ: of several that end in any order nobody says where a handle is in a group then."""
    COMMITTED = 0.65
    LOOK_EVERY = 8
    SECONDS = (0.5, 2, 10)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        rng = self.rng
        window = rng.choice([1, 3, 1_000, 1_000])
        self.is_owner = seed % 2 == 0
        self.expires = self.is_owner or window == 1_000
        """Whether messages do: what is not in memory goes some time later, and nobody says when."""
        self.core = ByHand() if self.is_owner else Core(Limits(window_messages=window))
        self.auditor = MessageAuditor()
        self.waits: dict[str, Sent] = {}
        self._groups: dict[bytes, str] = {NO_ID: ""}
        self._parts: list[Letter] = []
        self._connect()
        for name, longest in STANDING.items():
            self._do("ada", c.DefineQueue(name, {"max_message_length": longest}))
            self.auditor.defined(Queue(name, "", longest))
        for name, kind in MODELS.items():
            given = {"definition_type": kind}
            self._do("ada", c.DefineObject("model", name, given))
        self._do("ada", c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": DEAD}))
        self._open_all()
        self.operations = {
            self.put: 40,
            self.put_part: 14,
            self.get: 42,
            self.browse: 18,
            self.begin: 6,
            self.end: 7,
            self.make: 4,
            self.reopen: 6,
            self.close: 6,
            self.delete: 1.5,
            self.drain: 3,
            self.advance: 4,
            self.lose: 1.2,
            self.crash: 1.0,
        }

    def _step(self, operation: Operation) -> None:
        operation()
        self._see_served()

    def look(self) -> None:
        """Compare all queues, and what is on them, with what is expected."""
        found: dict[str, list[tuple[str, int, int]]] = {}
        eve = self.people[OBSERVER]
        for name in sorted(self.core.qm.queues):
            eve.do(c.Open(99, name, c.BROWSE))
            found[name] = []
            while messages := messages_of(eve.do(c.Browse(99, limit=1_000))):
                found[name] += [(*self._shown(one)[:2], one.backout_count) for one in messages]
            eve.do(c.Close(99))
        expected = dict(sorted(self.auditor.listing().items()))
        self.auditor.check(expected, found, "a look at all queues")

    # -- connections

    def _open_all(self, *people: str) -> None:
        for person in people or CLIENTS:
            for number, (queue, colour) in enumerate(OPENED, 1):
                self._open(person, number, queue, colour)

    def _open(self, person: str, number: int, queue: str, colour: str = "") -> None:
        selection = f"colour = '{colour}'" if colour else ""
        answer = self._do(person, c.Open(number, queue, MODES, "", selection))
        expected = self.auditor.open(person, number, queue, colour)
        self.auditor.check(expected, self._told(answer), "open", person, number, queue)

    def _begin_again(self) -> None:
        self.waits.clear()
        super()._begin_again()

    def _ways_to_crash(self) -> list[Operation]:
        return [self.core.crash] if self.expires else super()._ways_to_crash()

    def end(self) -> None:
        if not self.units:
            return
        super().end()
        if self.expires:  # what came back when its time was over goes with the next tick
            self._see_served()
            self._advance(0)

    # -- dynamic queues

    def make(self) -> None:
        """Open a model: a queue is made, of a name of its own or of a given one."""
        rng = self.rng
        person, model = rng.choice(CLIENTS), rng.choice(list(MODELS))
        number = self._free_number(person)
        if number is None:
            return
        wanted = rng.choice(["DYN.*", "DYN.ONE", "DYN.TWO"])
        answer = self._do(person, c.Open(number, model, MODES, wanted))
        name = answer.queue if isinstance(answer, Opened) else wanted
        assert name not in self.auditor.queues or isinstance(answer, Refused), answer
        expected = self.auditor.make(person, number, name, MODELS[model])
        self.auditor.check(expected, self._told(answer), "make", person, number, name)

    def _free_number(self, person: str) -> int | None:
        numbers = range(DYNAMIC_AT, DYNAMIC_AT + DYNAMIC_MAX)
        free = [one for one in numbers if (person, one) not in self.auditor.handles]
        return free[0] if free else None

    def reopen(self) -> None:
        """Open a dynamic queue that is there, or was."""
        person = self.rng.choice(CLIENTS)
        number = self._free_number(person)
        names = [name for name, queue in self.auditor.queues.items() if queue.kind]
        if number is not None:
            self._open(person, number, self.rng.choice([*names, *names, "DYN.ONE"]))

    def close(self) -> None:
        """Close a handle; it may be to delete its queue. A standing one is opened again."""
        rng, person = self.rng, self.rng.choice(CLIENTS)
        dynamic = rng.random() < 0.7
        first = DYNAMIC_AT if dynamic else 1
        number = first + rng.randrange(DYNAMIC_MAX)
        handle = self.auditor.handles.get((person, number))
        kind = handle.queue.kind if handle and not handle.queue.is_gone else ""
        delete = rng.choice(["", "DELETE", "PURGE"]) if kind == "PERMDYN" else ""
        ways = {"": c.KEEP, "DELETE": c.DELETE, "PURGE": c.PURGE}
        answer = self._do(person, c.Close(number, ways[delete]))
        expected = self.auditor.close(person, number, delete)
        self.auditor.check(expected, self._told(answer), "close", person, number, delete)
        if not dynamic:
            self._open(person, number, *OPENED[number - 1])

    def delete(self) -> None:
        """Delete a dynamic queue by its name."""
        names = [name for name, queue in self.auditor.queues.items() if queue.kind]
        if names:
            name, purge = self.rng.choice(names), self.rng.random() < 0.6
            answer = self._do("ada", c.DeleteQueue(name, purge))
            expected = self.auditor.delete(name, purge=purge)
            self.auditor.check(expected, self._told(answer), "delete", name, purge)

    # -- puts

    def put(self) -> None:
        """Put what goes on with the group that a handle is in, or breaks with it; or a new one."""
        rng = self.rng
        person, number, handle = self._handle()
        at = handle.at["put"]
        numbered = at is not None and at.group.startswith(BY_PROGRAM)
        logical = not numbered and rng.random() < 0.6
        unit = self._unit(person, at if logical else None)
        letter = self._letter(handle)
        if logical:
            self._goes_on(letter, at)
        self._put(person, number, letter, unit, logical=logical)

    def _goes_on(self, letter: Letter, at: At | None) -> None:
        rng = self.rng
        if at is None:
            letter.grouped = rng.random() < 0.7
            letter.segment = rng.random() < 0.15
        else:
            if rng.random() < 0.93:
                letter.hard = at.hard
            letter.grouped = at.in_group if rng.random() < 0.95 else not at.in_group
            letter.segment = rng.random() < (0.85 if at.in_message else 0.15)
        letter.last = letter.grouped and rng.random() < 0.4
        letter.end = letter.segment and rng.random() < 0.5

    def put_part(self) -> None:
        """Put a part of a group that its program numbers, in any order."""
        rng = self.rng
        person, number, handle = self._handle()
        if not self._parts:
            size, group = rng.choice([1, 2, 2, 3]), self._name(BY_PROGRAM)
            self._groups[ident_of(group)] = group
            for at in range(1, size + 1):
                self._parts += self._of_group(group, at, at == size)
            rng.shuffle(self._parts)
        letter = self._parts.pop()
        letter.hard = handle.queue.kind != "TEMPDYN" and rng.random() < 0.7
        self._put(person, number, letter, self._unit(person), logical=False)

    def _of_group(self, group: str, number: int, last: bool) -> list[Letter]:
        """Return a message of a group, in one piece or in two."""
        rng = self.rng
        common: dict[str, Any] = {"group": group, "number": number, "grouped": True, "last": last}
        common["priority"] = rng.choice([0, 4, 9])
        if rng.random() < 0.4:
            return [self._named(Letter("", **common), 10)]
        first = Letter("", segment=True, **common)
        second = Letter("", offset=STEP, end=True, **common)
        return [self._named(first, STEP), self._named(second, 5)]

    def _letter(self, handle: Handle) -> Letter:
        rng = self.rng
        asks = handle.queue.kind == "" and rng.random() < 0.3
        expires = self.expires and asks and rng.random() < 0.5
        gone = ["NOWHERE"] if rng.random() < 0.2 else []
        letter = Letter(
            "",
            priority=rng.choice([0, 0, 4, 9]),
            hard=handle.queue.kind != "TEMPDYN" and rng.random() < 0.6,
            colour=rng.choice(COLOURS),
            expires_ms=self.core.now_ms + rng.choice([1_000, 5_000]) if expires else 0,
            report="".join(rng.sample("ade", rng.randint(1, 3))) if asks else "",
            reply_to=rng.choice(["R", *gone, *self._dynamic()]) if asks else "",
            discards=asks and rng.random() < 0.2,
        )
        return self._named(letter, rng.choice([10, 10, STEP, 50, 80]))

    def _dynamic(self) -> list[str]:
        return [name for name, queue in self.auditor.queues.items() if queue.kind]

    def _named(self, letter: Letter, size: int) -> Letter:
        letter.name = self._name("m")
        letter.body = (f"{letter.name}." * size)[:size]
        return letter

    def _name(self, what: str) -> str:
        return f"{what}{next(self._numbers)}"

    def _put(self, person: str, number: int, letter: Letter, unit: str, *, logical: bool) -> None:
        asked = "put", person, number, letter.name, letter.group, letter.number, unit, logical
        left_ms = letter.expires_ms - self.core.now_ms
        message = _message(letter, left_ms if letter.expires_ms else -1)
        options = c.LOGICAL_ORDER if logical else 0
        answer = self._do(person, c.Put(number, [message], self._ident(unit), options))
        expected = self.auditor.put(person, number, letter, unit, logical=logical)
        if isinstance(answer, PutDone) and expected[0] == "put":
            known = self._groups.setdefault(answer.group_id, expected[2])
            assert list(self._groups.values()).count(known) == 1, f"{known} has two names"
        self.auditor.check(expected, self._told(answer), *asked)

    # -- gets

    def get(self) -> None:
        """Get with some options, in a unit or not; it may wait."""
        rng = self.rng
        person, number, handle = self._handle(idle=True)
        at = handle.at["get"]
        is_cut = at is not None and at.in_message
        wants = Wants(person, number)
        roll = rng.random()
        if roll < 0.7:
            is_whole = rng.random() < 0.4
            shape = rng.choice(["", "", "segments", "" if is_cut else "complete"])
            wants = wants._replace(logical=rng.random() < 0.8, whole=is_whole)
            wants = wants._replace(complete=shape == "complete", segments=shape == "segments")
        elif roll < 0.78:
            wants = wants._replace(under=True)
        elif roll < 0.84:
            wants = wants._replace(group=self._some_group())
        if handle.colour and not wants.logical:
            wants = wants._replace(whole=False)
        unit = self._unit(person, at if wants.logical else None)
        may_wait = handle.queue.name == "A" or bool(handle.queue.kind)
        if may_wait and not wants.under and rng.random() < 0.12:
            wants = wants._replace(name=self._name("w"))
        self._get(wants._replace(unit=unit))

    def browse(self) -> None:
        """Browse on, or from the first; lock, unlock, or look at the cursor again."""
        rng = self.rng
        person, number, handle = self._handle(idle=True)
        if rng.random() < 0.06:
            answer = self._do(person, c.Browse(number, options=c.UNLOCK))
            expected = self.auditor.unlock(person, number)
            self.auditor.check(expected, self._told(answer), "unlock", person, number)
            return
        wants = Wants(person, number, browses=True, restart=rng.random() < 0.3)
        roll = rng.random()
        if roll < 0.5:
            wants = wants._replace(logical=True, whole=rng.random() < 0.5)
        elif roll < 0.6:
            wants = wants._replace(under=True, restart=False)
        wants = wants._replace(lock=rng.random() < 0.25)
        if handle.queue.name == "A" and not wants.under and rng.random() < 0.08:
            wants = wants._replace(name=self._name("w"))
        self._get(wants)

    def _some_group(self) -> str:
        known = [one for one in self._groups.values() if one]
        return self.rng.choice(known[-6:]) if known else ""

    def _get(self, wants: Wants) -> None:
        options = (
            c.LOGICAL_ORDER * wants.logical
            | c.ALL_MESSAGES * wants.whole
            | c.COMPLETE * wants.complete
            | c.ALL_SEGMENTS * wants.segments
            | c.UNDER_CURSOR * wants.under
            | c.LOCK * wants.lock
        )
        group = next((one for one, name in self._groups.items() if name == wants.group), b"")
        group = group if wants.group else b""
        wait_ms = -1 if wants.name else 0
        command: c.Command = (
            c.Browse(wants.handle, wants.restart, options=options, wait_ms=wait_ms)
            if wants.browses
            else c.Get(
                wants.handle, self._ident(wants.unit), wait_ms, group_id=group, options=options
            )
        )
        client = self.people[wants.client]
        sent = Sent(client, client.send(command))
        result = client.answer(sent.request)
        if result is None:
            self.waits[wants.name] = sent
        expected = self.auditor.get(wants)
        self.auditor.check(expected, None if result is None else self._told(result), wants)

    def _see_served(self) -> None:
        """Compare what those were given that wait with what is due."""
        found: dict[str, Answer] = {}
        for name, sent in list(self.waits.items()):
            result = sent.client.answer(sent.request)
            if result is not None:
                found[name] = self._told(result)
                del self.waits[name]
        alive = {id(client) for client in self.people.values()}
        self.waits = {name: one for name, one in self.waits.items() if id(one.client) in alive}
        self.auditor.check(self.auditor.served, found, "those who wait")
        self.auditor.served = {}

    def drain(self) -> None:
        """Take a report, or a dead letter, from where it lies."""
        name = self.rng.choice(["R", "R", DEAD])
        self._open(OBSERVER, 1, name)
        self._get(Wants(OBSERVER, 1))
        self.people[OBSERVER].do(c.Close(1))
        self.auditor.close(OBSERVER, 1)

    def _handle(self, *, idle: bool = False) -> tuple[str, int, Handle]:
        """Choose a handle. idle: nothing waits under it, as a program that waits does nothing."""
        person = self.rng.choice(CLIENTS)
        busy = {one.handle for one in self.auditor.waiting if one.client == person and idle}
        known = self.auditor.handles.items()
        mine = {at[1]: one for at, one in known if at[0] == person and at[1] not in busy}
        number = self.rng.choice(list(mine))
        return person, number, mine[number]

    def _unit(self, person: str, at: At | None = None) -> str:
        """Choose a unit or none, mostly as what a handle goes on with needs it."""
        mine = self._mine(person)
        if at is not None and self.rng.random() < 0.9:
            return self.rng.choice(mine) if at.in_unit and mine else ""
        return self.rng.choice([*mine, ""])

    # -- words

    def _told(self, result: Result) -> Answer:
        """Say an answer in the auditor's words."""
        if isinstance(result, Refused):
            return "refused", Reason(result.reason).name
        if isinstance(result, (Done, Opened)):
            return "done", _warning(getattr(result, "warning", 0))
        warning = _warning(result.warning) if isinstance(result, (PutDone, Messages)) else ""
        if isinstance(result, PutDone):
            return "put", warning, self._groups[result.group_id], result.group_seq
        assert isinstance(result, Messages), result
        return "got", [self._shown(one) for one in result.messages], warning

    def _shown(self, one: Delivered) -> Shown:
        message = one.message
        name = message.message_id.rstrip(b".").decode("latin-1")
        header, body = dead_letter.split(message.format, message.body)
        if message.feedback in FEEDBACKS:
            name = f"{message.feedback} {message.correlation_id.rstrip(b'.').decode()}"
            name = f"{header.reason} {name}" if header else name
        group = self._groups[message.group_id]
        where = group, message.group_seq, message.last_in_group
        return name, message.offset, body.decode(), one.backout_count, *where


def _warning(reason: int) -> str:
    return Reason(reason).name if reason else ""


def _message(letter: Letter, expiry_ms: int) -> MessageData:
    """Make the message that a program puts."""
    flags = details.IN_GROUP * letter.grouped | details.LAST_IN_GROUP * letter.last
    flags |= details.SEGMENT * letter.segment | details.LAST_SEGMENT * letter.end
    flags |= details.SEGMENTATION_ALLOWED
    asked = sum(REPORTS[one] for one in letter.report)
    return MessageData(
        body=letter.body.encode(),
        message_id=ident_of(letter.name),
        group_id=ident_of(letter.group),
        group_seq=letter.number,
        priority=letter.priority,
        persistence=int(letter.hard),
        expiry_ms=expiry_ms,
        report=asked | answers.DISCARD * letter.discards,
        reply_to=letter.reply_to,
        properties={"colour": letter.colour},
        details=details.Details(flags=flags, offset=letter.offset),
    )
