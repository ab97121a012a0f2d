"""Readers of a queue are started and end, while messages come and programs receive them, too.

The activation service is stepped: its readers are no threads, but end when the machine says so.
Judged by activation_model.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.results import Messages, Refused
from adapter.servicebroker import ActivationService, ServiceBroker, activation
from tests.simulation.activation_model import BEHIND_S, ActivationModel, Reader
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client, Core

QUEUE = "Work"
MOST = 2
TURNS_MAX = 50
"""After which the service must have no more to do."""
PICK = st.integers(0, 5)
SELDOM = st.sampled_from((False, False, True))


class CoreSession:
    """A session with a core, as far as the service needs one."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def _ask(self, command: Any, kind: type, **options: object) -> Any:
        del options
        answer = self.client.do(command)
        assert isinstance(answer, kind), answer
        return answer


class SteppedService(ActivationService):
    """Its readers end as the machine says. problem: of the reader that ends."""

    problem = ""

    def _read(self, name: str, procedure: str) -> str:
        del name, procedure
        return self.problem


class Threads:
    """Where the service starts its threads: they run when they are called."""

    def __init__(self) -> None:
        self.started: list[Callable[[], None]] = []

    def thread(self, name: str, run: Callable[[], None], ended: object) -> Threads:
        del name, ended
        self.started.append(run)
        return self

    def is_alive(self) -> bool:
        return True


class Running:
    """A reader: its connection, its open unit, and what ends it."""

    def __init__(self, client: Client, reader: Reader, end: Callable[[], None]) -> None:
        self.client, self.reader, self.end = client, reader, end
        self.unit = b""


class ActivationMachine(JudgedMachine):
    """One queue with activation, its service, and other programs."""

    events = (
        "a receive that waits has the message",
        "activation turned off",
        "crash while readers run",
        "limit of readers reached",
        "messages came back",
        "one more reader",
        "pause after a failure",
        "queue turned OFF",
        "reader found nothing",
        "reader started",
    )
    model: ActivationModel

    def __init__(self) -> None:
        super().__init__()
        self.model = ActivationModel(MOST)
        self.core = Core()
        self.core.configure()
        self.patch = pytest.MonkeyPatch()
        self.threads = Threads()
        self.patch.setattr(activation, "watched", self.threads)
        self.patch.setattr(activation, "time", self)
        self.patch.setattr(activation.log, "disabled", True)
        self.readers: list[Running] = []
        self.count = 0
        self._connect()
        attributes = {"activation_procedure": "a:b", "max_queue_readers": MOST}
        self._ok(b.BrokerCreate("queue", QUEUE, attributes | {"poison_message_handling": False}))
        self._ok(b.BrokerCreate("queue", "Own"))
        self._ok(b.BrokerCreate("service", "work", {"queue": QUEUE, "contracts": b.DEFAULT}))
        self._ok(b.BrokerCreate("service", "own", {"queue": "Own"}))
        self._begin()

    def monotonic(self) -> float:
        """Return the time, as time.monotonic() does."""
        return self.core.elapsed_ms / 1000

    def _connect(self) -> None:
        self.sender = self.core.connect()
        self.other = self.core.connect()
        self.waiting: list[tuple[Client, int]] = []
        self.holding: list[tuple[Client, bytes]] = []
        self.session = cast("ServiceBroker", CoreSession(self.core.connect()))

    def _begin(self) -> None:
        """Let the service begin with a new session."""
        if not hasattr(self, "service"):
            self.service = SteppedService(self.session, allow=["a:b"])
        self.following = self.service._begin(self.session)
        self._settle()

    def _ok(self, command: c.Command, client: Client | None = None) -> Any:
        answer = (client or self.sender).do(command)
        assert not isinstance(answer, Refused), answer
        return answer

    def _settle(self) -> None:
        """Let the service do all it has to do; judge what it starts."""
        self.model.now_s = self.monotonic()
        for _ in range(TURNS_MAX):
            self.model.judge_ends()
            before = self.following.number
            self.service._turn(self.session, self.following, 0)
            started, self.threads.started = self.threads.started, []
            for end in started:
                self.model.start()
                self.meet("reader started")
                client = self.core.connect()
                self.readers.append(Running(client, self.model.readers[-1], end))
            if not started and self.following.number == before and not self.service._has_due():
                break
        else:
            raise AssertionError("the service has always more to do")
        self.meet("limit of readers reached", when=len(self.readers) >= self.model.most > 0)
        assert not self.model.owes(), "a reader should have been started"

    # -- messages and other programs

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        unit = self.sender.begin()
        for _ in range(count):
            self.count += 1
            handle = self.count.to_bytes(16, "big")
            self._ok(b.BrokerBegin(unit, handle, "own", "work", group=handle))
            self._ok(b.BrokerSend(unit, [handle], body=b"x"))
        self._ok(c.Commit(unit))
        held = self.model.held
        self.model.arrive(count)
        self.meet("a receive that waits has the message", when=self.model.held > held)
        self._served()
        self._settle()

    def _served(self) -> None:
        """Know which receives that waited have messages now."""
        for client, request in list(self.waiting):
            answer = client.answer(request)
            if answer is not None:
                self.waiting.remove((client, request))
                if isinstance(answer, Messages) and answer.messages:
                    self.holding.append((client, self._unit_of[client]))
        assert (len(self.waiting), len(self.holding)) == (self.model.waits, self.model.held)

    _unit_of: dict[Client, bytes]

    @rule(waits=SELDOM)
    def wait(self, waits: bool) -> None:
        """Let a program wait for a message, where none is."""
        if waits and self.model.is_on and not self.model.available:
            client = self.core.connect()
            unit = client.begin()
            self._unit_of = getattr(self, "_unit_of", {}) | {client: unit}
            request = client.send(b.BrokerReceive(unit, QUEUE, 1, wait_ms=-1))
            self.waiting.append((client, request))
            self.model.waits += 1
            self._settle()

    @rule(commits=st.booleans())
    def end_other(self, commits: bool) -> None:
        """End a transaction of a program that has received."""
        if self.holding:
            client, unit = self.holding.pop()
            self._ok(c.Commit(unit) if commits else c.Backout(unit), client)
            self.model.held -= 1
            if not commits:
                self._came_back(1)
            self._settle()

    def _came_back(self, count: int) -> None:
        self.meet("messages came back", when=count > 0)
        self.model.arrive(count)
        self._served()

    @rule()
    def receive_by_another(self) -> None:
        if self.model.is_on:
            unit = self.other.begin()
            found = self._ok(b.BrokerReceive(unit, QUEUE, 1), self.other).messages
            assert bool(found) == self.model.receive()
            self._ok(c.Commit(unit), self.other)
            self._settle()

    # -- readers

    @rule(pick=PICK, commits=st.booleans())
    def read(self, pick: int, commits: bool) -> None:
        """Let a reader receive a message; what it had received is committed before, or not."""
        if not self.readers:
            return
        one = self.readers[pick % len(self.readers)]
        if one.unit:
            self._ok(c.Commit(one.unit) if commits else c.Backout(one.unit), one.client)
            back, one.reader.holds, one.unit = one.reader.holds, 0, b""
            if not commits:
                self._came_back(back)
        if self.model.is_on:
            one.unit = one.client.begin()
            found = self._ok(b.BrokerReceive(one.unit, QUEUE, 1), one.client).messages
            assert bool(found) == self.model.receive()
            one.reader.holds = len(found)
            self.meet("reader found nothing", when=not found)
        self._settle()

    @rule(pick=PICK, commits=st.booleans(), fails=SELDOM)
    def end_reader(self, pick: int, commits: bool, fails: bool) -> None:
        if not self.readers:
            return
        one = self.readers.pop(pick % len(self.readers))
        if one.unit and commits:
            self._ok(c.Commit(one.unit), one.client)
            one.reader.holds = 0
        self._end(one, "it failed" if fails else "")
        self._settle()

    def _end(self, one: Running, problem: str) -> None:
        back, one.reader.holds = one.reader.holds, 0
        one.client.lose()
        self._came_back(back)
        self.model.end(one.reader, failed=bool(problem))
        self.service.problem = problem
        one.end()

    # -- what else happens

    @rule(seconds=st.sampled_from((1, 1, 3, 6, 6, 13, 70)))
    def advance(self, seconds: int) -> None:
        self.core.advance(seconds)
        self._settle()

    @rule(is_active=st.booleans(), most=st.integers(0, 3))
    def alter(self, is_active: bool, most: int) -> None:
        given = {"activation_status": is_active, "max_queue_readers": most}
        self._ok(b.BrokerAlter("queue", QUEUE, given))
        self.meet("activation turned off", when=self.model.is_active and not is_active)
        self.model.is_active, self.model.most = is_active, most
        self.model.last_s = self.monotonic()
        self._settle()

    @rule(is_on=st.booleans())
    def turn(self, is_on: bool) -> None:
        self._ok(b.BrokerAlter("queue", QUEUE, {"status": is_on}))
        self.core.advance(0)
        self.meet("queue turned OFF", when=self.model.is_on and not is_on)
        self.model.is_on = is_on
        if not is_on:
            self.model.waits = 0
        self.model.last_s = self.monotonic()
        self._served()
        self._settle()

    @rule(crashes=SELDOM, ends=st.booleans())
    def crash(self, crashes: bool, ends: bool) -> None:
        """The queue manager dies: readers end with it, or connect again."""
        if not crashes:
            return
        self.meet("crash while readers run", when=self.readers)
        back = self.model.held + sum(one.reader.holds for one in self.readers)
        self.core.crash()
        self.core.advance(0)
        self._connect()
        self.model.waits = self.model.held = 0
        self.model.available += back
        for one in self.readers:
            one.reader.holds, one.unit = 0, b""
            one.client = self.core.connect()
        if ends:
            for one in list(self.readers):
                self.readers.remove(one)
                self._end(one, "connection lost")
        self.model.last_s = self.monotonic()
        self._begin()

    # -- judging

    def teardown(self) -> None:
        """Turn everything on, let readers work: no message may be left."""
        try:
            self.turn(is_on=True)
            self.alter(is_active=True, most=MOST)
            while self.holding:
                self.end_other(commits=False)
            for _ in range(100):
                if not self.model.available and not self.readers:
                    break
                if self.readers:
                    self.read(0, commits=True)
                    self.end_reader(0, commits=True, fails=False)
                else:
                    self.advance(int(2 * BEHIND_S))
            assert self.model.available == 0, "messages are left that nobody reads"
        finally:
            self.patch.undo()
