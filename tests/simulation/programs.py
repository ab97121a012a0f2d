"""What programs do to a queue manager, drawn at random.

Each operation as the queue manager is asked for it, and as the auditor is told of it. It knows no
ledger and no owner, and decides nothing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

from msgspec import Struct

from adapter.core.contract import commands as c
from adapter.core.contract.message import ID_LENGTH, Delivered
from adapter.core.contract.message import MessageData as CoreMessage
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Done,
    Messages,
    Opened,
    PutDone,
    Refused,
    Result,
    Statuses,
    UnitOutcome,
)
from tests.simulation.operations import Message, Op
from tests.simulation.world import DONE, GONE, MOVES, PUT, Answer
from tests.support.core import Client

STANDING = ("A", "B", "F")
"""Queues that are always there; F delivers in the order of arrival."""
PASSING = "T"
"""A queue that is defined and deleted again and again."""
MOVING = "M"
"""A queue that moves what came back too often; it is there in some runs. It is given persistent
messages only: how often others came back nobody knows for certain after a doubt."""
QUEUES = (*STANDING, PASSING, MOVING)
HANDLES = {name: number for number, name in enumerate(QUEUES, 1)}
MODES = c.INPUT | c.OUTPUT | c.BROWSE
CORRELATIONS = ("c1", "c2", "c3")
GROUPS = ("g1", "g2")
EXPIRIES_MS = (2_000, 10_000, 60_000)
WAITS_MS = (1_000, 10_000, -1)
UNITS_MAX = 3
MOVES_FROM = 221
"""Seeds from here on have a queue that moves what came back too often."""
AHEAD_FROM = 301
"""Seeds from here on have units ahead, and one-way operations."""
ONE_WAY = frozenset({"begin_unheard", "touch", "put_deferred"})
DURABLE_KINDS = frozenset({"commit", "backout", "define", "delete", "purge"})


class Sent(Struct):
    """An operation that was asked for: it may have to be asked for again."""

    op: Op
    command: c.Command


class Temper(Struct):
    """What one seed likes to do: weights, and bounds of depth."""

    put: float
    get: float
    end: float
    hard: float
    expiring: float
    depth_max: int

    @classmethod
    def of(cls, rng: random.Random) -> Temper:
        """Draw one."""
        return cls(
            put=rng.uniform(20, 45),
            get=rng.uniform(10, 30),
            end=rng.uniform(6, 25),
            hard=rng.choice([0.3, 0.7, 0.7, 0.95]),
            expiring=rng.choice([0.0, 0.1, 0.4]),
            depth_max=rng.choice([10, 60, 100_000, 100_000]),
        )


class Program:
    """One client program: its connection, what it was not told, its open units."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.client = client
        self.unanswered: dict[int, Sent] = {}
        """By number, until the queue manager is told that the outcome was seen."""
        self.heard: list[int] = []
        """Of those, whose outcome is known here."""
        self.asked: dict[int, Op] = {}
        """By request, what was decided, and is not answered yet."""
        self.units: dict[str, bytes] = {}
        self.asks_about: list[tuple[str, bytes]] = []
        self.places: dict[str, list[tuple[str, tuple[int, int, int]]]] = {}
        """By queue, where a browse showed which message."""

    @property
    def commits_in_flight(self) -> int:
        """How many commits are decided, and not answered yet."""
        return sum(op.kind == "commit" for op in self.asked.values())

    def forget_connection(self) -> None:
        """Drop what ends with a connection."""
        self.asked.clear()
        self.units.clear()
        self.places.clear()


class Programs:
    """Draws what a program does next."""

    def __init__(self, rng: random.Random, seed: int = 0) -> None:
        self.rng = rng
        moves, self._ahead = seed >= MOVES_FROM, seed >= AHEAD_FROM
        self.standing = (*STANDING, MOVING) if moves else STANDING
        self.queues = (*self.standing[:3], PASSING, *self.standing[3:])
        self._drawn = ["A", "A", "B", "F", PASSING] + [MOVING] * 2 * moves
        self.temper = temper = Temper.of(rng)
        self._bodies = itertools.count(1)
        self._units = itertools.count(1)
        self._groups = itertools.count(1)
        self._parts: list[tuple[str, int, bool]] = []
        """Of groups that are being put: group, number, whether it is the last."""
        verbs: dict[Callable[[Program, int], Sent | None], float] = {
            self.begin: 8,
            self.put: temper.put,
            self.get: temper.get,
            self.get_selected: 6,
            self.get_whole: 5,
            self.get_place: 4,
            self.browse: 6,
            self.status: 4,
            self.end: temper.end,
            self.ask: 2,
            self.purge: 0.6,
            self.change_passing: 7,
        }
        if self._ahead:
            verbs[self.touch] = 8
        self._verbs = list(verbs)
        self._weights = list(itertools.accumulate(verbs.values()))

    def next(self, program: Program, now_ms: int) -> Sent:
        """Draw an operation."""
        while True:
            verb = self.rng.choices(self._verbs, cum_weights=self._weights)[0]
            sent = verb(program, now_ms)
            if sent is not None:
                return sent

    def begin(self, program: Program, now_ms: int) -> Sent | None:
        """MQBEGIN."""
        if len(program.units) >= UNITS_MAX:
            return None
        number = next(self._units)
        name, ident = f"u{number}", program.client.session + number.to_bytes(8, "big")
        program.units[name] = ident
        if not self._ahead:
            return Sent(Op(program.name, "begin", now_ms, unit=name), c.Begin(ident))
        kind, ahead = self.rng.choice(["begin", "begin_unheard"]), self.rng.random() < 0.6
        op = Op(program.name, kind, now_ms, unit=name, flag=ahead)
        return Sent(op, c.Begin(ident, ahead))

    def touch(self, program: Program, now_ms: int) -> Sent | None:
        """Say that what a unit got is shown, or that of one that has ended."""
        units = [*program.units.items(), *program.asks_about[-1:]]
        if not units:
            return None
        unit, ident = self.rng.choice(units)
        return Sent(Op(program.name, "touch", now_ms, unit=unit), c.Touch(ident))

    def put(self, program: Program, now_ms: int) -> Sent:
        """MQPUT, of several messages if in a unit."""
        rng = self.rng
        unit, ident = self._unit(program)
        queue = self._queue()
        count = rng.choice([1, 1, 1, 2, 5]) if unit else 1
        hard = queue == MOVING
        told, given = zip(*(self._message(now_ms, hard=hard) for _ in range(count)), strict=True)
        is_deferred = self._ahead and bool(unit) and rng.random() < 0.5
        kind, options = ("put_deferred", c.DEFERRED) if is_deferred else ("put", 0)
        op = Op(program.name, kind, now_ms, unit=unit, queue=queue, messages=told)
        return Sent(op, c.Put(HANDLES[queue], list(given), ident, options))

    def _message(self, now_ms: int, *, hard: bool) -> tuple[Message, CoreMessage]:
        rng = self.rng
        body = f"m{next(self._bodies)}"
        priority = rng.choice([0, 0, 0, 4, 5, 9])
        hard = rng.random() < self.temper.hard or hard
        expiry_ms = rng.choice(EXPIRIES_MS) if rng.random() < self.temper.expiring else -1
        correlation = rng.choice(CORRELATIONS) if rng.random() < 0.5 else ""
        group, number, last = self._part()
        expires_ms = now_ms + expiry_ms if expiry_ms > 0 else 0
        told = Message(body, priority, hard, expires_ms, correlation, group, number, last)
        return told, CoreMessage(
            body=body.encode(),
            message_id=ident_of(body),
            correlation_id=ident_of(correlation),
            group_id=ident_of(group),
            group_seq=number,
            last_in_group=last,
            priority=priority,
            persistence=int(hard),
            expiry_ms=expiry_ms,
        )

    def _part(self) -> tuple[str, int, bool]:
        """Draw a group that never ends, none, or a part of one that comes in any order."""
        rng = self.rng
        roll = rng.random()
        if roll > 0.45:
            return "", 1, False
        if roll > 0.25:
            return rng.choice(GROUPS), 1, False
        if not self._parts:
            name, size = f"p{next(self._groups)}", rng.choice([1, 2, 2, 3])
            self._parts = [(name, number, number == size) for number in range(1, size + 1)]
            rng.shuffle(self._parts)
        return self._parts.pop()

    def get_whole(self, program: Program, now_ms: int) -> Sent:
        """MQGET with MQGMO_ALL_MSGS_AVAILABLE: the first of a group, if all of it is there."""
        unit, ident = self._unit(program)
        queue, wait_ms = self._queue(), self._wait_ms()
        op = Op(program.name, "get", now_ms, unit=unit, queue=queue, wait_ms=wait_ms, whole=True)
        return Sent(op, c.Get(HANDLES[queue], ident, wait_ms, options=c.ALL_MESSAGES))

    def get(self, program: Program, now_ms: int) -> Sent:
        """MQGET of what comes first."""
        unit, ident = self._unit(program)
        queue = self._queue()
        limit = self.rng.choice([1, 1, 2, 6]) if unit else 1
        wait_ms = self._wait_ms()
        op = Op(program.name, "get", now_ms, unit=unit, queue=queue, limit=limit, wait_ms=wait_ms)
        return Sent(op, c.Get(HANDLES[queue], ident, wait_ms, limit))

    def _wait_ms(self) -> int:
        return self.rng.choice(WAITS_MS) if self.rng.random() < 0.2 else 0

    def get_selected(self, program: Program, now_ms: int) -> Sent:
        """MQGET by ids."""
        unit, ident = self._unit(program)
        queue = self._queue()
        body, correlation, group = self._selection()
        limit = self.rng.choice([1, 3]) if unit else 1
        wait_ms = self._wait_ms()
        op = Op(
            program.name,
            "get",
            now_ms,
            unit=unit,
            queue=queue,
            limit=limit,
            body=body,
            correlation=correlation,
            group=group,
            wait_ms=wait_ms,
        )
        ids = ident_of(body), ident_of(correlation), ident_of(group)
        return Sent(op, c.Get(HANDLES[queue], ident, wait_ms, limit, *ids))

    def _selection(self) -> tuple[str, str, str]:
        rng = self.rng
        roll = rng.random()
        if roll < 0.3:
            newest = max(1, self._newest_body())
            return f"m{rng.randint(max(1, newest - 40), newest)}", "", ""
        correlation = rng.choice(CORRELATIONS) if roll < 0.8 else ""
        return "", correlation, rng.choice(GROUPS) if roll > 0.7 else ""

    def _newest_body(self) -> int:
        newest = next(self._bodies)
        self._bodies = itertools.count(newest)
        return newest - 1

    def get_place(self, program: Program, now_ms: int) -> Sent | None:
        """Get the message that a browse showed (MQGMO_MSG_UNDER_CURSOR).

        A get that is asked for again after a crash does not name a message that was not persistent:
        that may have been put again as well, at another place, and the auditor goes by its body.
        """
        unit, ident = self._unit(program)
        places = program.places.items()
        shown = [(name, one) for name, found in places for one in found if unit or not one[1][2]]
        if not shown:
            return None
        queue, (body, place) = self.rng.choice(shown)
        op = Op(program.name, "get", now_ms, unit=unit, queue=queue, place=body)
        return Sent(op, c.Get(HANDLES[queue], ident, place=place))

    def browse(self, program: Program, now_ms: int) -> Sent:
        """MQGET, browsing."""
        rng = self.rng
        queue, limit, again = self._queue(), rng.choice([1, 3, 20]), rng.random() < 0.4
        selection = self._selection() if rng.random() < 0.2 else ("", "", "")
        body, correlation, group = selection
        op = Op(
            program.name,
            "browse",
            now_ms,
            queue=queue,
            limit=limit,
            flag=again,
            body=body,
            correlation=correlation,
            group=group,
        )
        ids = ident_of(body), ident_of(correlation), ident_of(group)
        return Sent(op, c.Browse(HANDLES[queue], again, limit, *ids))

    def status(self, program: Program, now_ms: int) -> Sent:
        """INQUIRE_Q_STATUS."""
        queue = self._queue()
        return Sent(Op(program.name, "status", now_ms, queue=queue), c.AskStatus(queue))

    def end(self, program: Program, now_ms: int) -> Sent | None:
        """MQCMIT, or MQBACK."""
        if not program.units:
            return None
        unit = self.rng.choice(list(program.units))
        ident = program.units.pop(unit)
        program.asks_about.append((unit, ident))
        del program.asks_about[:-5]
        if self.rng.random() < 0.7:
            return Sent(Op(program.name, "commit", now_ms, unit=unit), c.Commit(ident))
        return Sent(Op(program.name, "backout", now_ms, unit=unit), c.Backout(ident))

    def ask(self, program: Program, now_ms: int) -> Sent | None:
        """Ask for the outcome of a unit."""
        if not program.asks_about:
            return None
        unit, ident = self.rng.choice(program.asks_about)
        return Sent(Op(program.name, "ask", now_ms, unit=unit), c.AskOutcome(ident))

    def purge(self, program: Program, now_ms: int) -> Sent:
        """CLEAR QLOCAL."""
        queue = self._queue()
        return Sent(Op(program.name, "purge", now_ms, queue=queue), c.PurgeQueue(queue))

    def change_passing(self, program: Program, now_ms: int) -> Sent:
        """Define, delete, open or close the queue that comes and goes."""
        name, roll = program.name, self.rng.random()
        if roll < 0.2:
            return self.define(program, PASSING, now_ms)
        if roll < 0.45:
            purge = self.rng.random() < 0.8
            op = Op(name, "delete", now_ms, queue=PASSING, flag=purge)
            return Sent(op, c.DeleteQueue(PASSING, purge))
        if roll < 0.6:
            return self.open(program, PASSING, now_ms)
        return Sent(Op(name, "close", now_ms, queue=PASSING), c.Close(HANDLES[PASSING]))

    def define(self, program: Program, queue: str, now_ms: int) -> Sent:
        """DEFINE QLOCAL."""
        fifo = queue == "F"
        depth_max = self.temper.depth_max if queue == "A" else 100_000
        attributes: dict[str, object] = {"max_depth": depth_max}
        if fifo:
            attributes["msg_delivery_sequence"] = "FIFO"
        if queue in MOVES:
            target, threshold = MOVES[queue]
            attributes |= {"backout_threshold": threshold, "backout_requeue_queue": target}
            attributes["backout_action"] = "MOVE"
        op = Op(program.name, "define", now_ms, queue=queue, limit=depth_max, flag=fifo)
        return Sent(op, c.DefineQueue(queue, attributes))

    def open(self, program: Program, queue: str, now_ms: int) -> Sent:
        """MQOPEN. What was shown through the handle before may be another queue's of its name."""
        program.places.pop(queue, None)
        op = Op(program.name, "open", now_ms, queue=queue)
        return Sent(op, c.Open(HANDLES[queue], queue, MODES))

    def _unit(self, program: Program) -> tuple[str, bytes]:
        if program.units and self.rng.random() < 0.7:
            unit = self.rng.choice(list(program.units))
            return unit, program.units[unit]
        return "", b""

    def _queue(self) -> str:
        return self.rng.choice(self._drawn)


def is_numbered(op: Op) -> bool:
    """Whether the outcome can be asked for again."""
    return op.kind in DURABLE_KINDS or (op.kind in ("put", "get") and not op.unit)


def again(op: Op, now_ms: int) -> Op:
    """The same operation, asked for later: what expires does so later too."""
    later = Op(op.client, op.kind, now_ms, number=op.number)
    for name in (
        "unit",
        "queue",
        "limit",
        "body",
        "correlation",
        "group",
        "place",
        "flag",
        "wait_ms",
        "whole",
    ):
        setattr(later, name, getattr(op, name))
    passed_ms = now_ms - op.now_ms
    later.messages = tuple(
        Message(
            m.body,
            m.priority,
            m.hard,
            m.expires_ms + passed_ms,
            m.correlation,
            m.group,
            m.number,
            m.last,
        )
        if m.expires_ms
        else m
        for m in op.messages
    )
    return later


def ident_of(text: str) -> bytes:
    """Make an id of 24 bytes; none of nothing."""
    return text.encode().ljust(ID_LENGTH, b".") if text else b""


def told(op: Op, result: Result) -> Answer:
    """Say an answer in the auditor's words."""
    if isinstance(result, Refused):
        reason = Reason(result.reason)
        return GONE if reason is Reason.BACKED_OUT else ("refused", reason.name)
    if isinstance(result, Messages):
        return ("got", [(body_of(one), one.backout_count) for one in result.messages])
    if isinstance(result, PutDone):
        assert len(result.message_ids) == len(op.messages), result
        return PUT
    if isinstance(result, UnitOutcome):
        return ("state", result.state)
    if isinstance(result, Statuses):
        return _status(result)
    assert isinstance(result, Done | Opened), result
    if op.kind == "purge" and isinstance(result, Done):
        return ("purged", result.count)
    return GONE if op.kind == "backout" else DONE


def _status(result: Statuses) -> Answer:
    if not result.queues:
        return ("status",)
    (found,) = result.queues
    counts = list(found.depth_by_priority)
    units = found.uncommitted_puts, found.uncommitted_gets
    return "status", found.current_depth, *units, found.waiting_gets, counts


def body_of(one: Delivered) -> str:
    """The body of a message that came with everything it was put with."""
    body = one.message.body.decode()
    assert one.message.message_id == ident_of(body), one
    return body
