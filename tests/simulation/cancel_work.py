"""Tasks whose gets are cancelled at random moments, on the driver of adapter.aio as it is.

Client and queue manager run on one event loop of virtual time. Between them are links on which
each chunk of bytes takes a time of its own; they break, and the queue manager crashes. A seed says
everything that happens. Even seeds get outside of units: there no cancellation may raise a backout
count. Odd ones get in units too, and by the loop of a worker.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from unittest import mock

import adapter
from adapter.aio.channel import TaskChannel
from adapter.aio.context import TaskContext
from adapter.aio.in_process import PipeEnd
from adapter.aio.link import TaskHandshake, TaskLink
from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.pipe import Accept
from adapter.connection.channel.link.port import HostNotReached
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import Timeouts
from adapter.core.contract import commands as c
from adapter.errors import BackedOut
from tests.support.scripted import Client, ScriptedManager
from tests.support.virtual_time import VirtualClock, VirtualLoop

LATENCY_S = 0.001
TASKS_MAX = 6
"""Gets that wait at the same time."""
PAUSES_S = (0.0, 0.0, 0.0005, 0.001, 0.003, 0.01)
PUTS_MAX = 3
"""For each round of gets."""
AT_ARRIVALS = 0.3
"""Of what arrives: how often a get is cancelled right behind it."""
REST_S = 5.0
"""In such a time everything is back that was given back."""


class SlowEnd(PipeEnd):
    """One end of a link that takes its time, with each chunk another."""

    def __init__(self, loop: asyncio.AbstractEventLoop, chance: random.Random) -> None:
        super().__init__(loop)
        self._chance = chance
        self._last_s = 0.0

    def call(self, work: Callable[[], None]) -> None:
        due_s = self._loop.time() + self._chance.random() * LATENCY_S
        self._last_s = max(due_s, self._last_s + 1e-6)  # what was sent first arrives first
        self._loop.call_at(self._last_s, work)


class ReportingLink(TaskLink):
    """Reports that something has arrived: the tasks that waited for it have not gone on yet."""

    def __init__(self, report: Callable[[], None]) -> None:
        super().__init__("the simulation", leaves_process=False)
        self._report = report

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._report()


class SlowDialer:
    """A TaskDialer of such links."""

    def __init__(self, accept: Accept, report: Callable[[], None], chance: random.Random) -> None:
        self._accept = accept
        self._report = report
        self._chance = chance

    @property
    def place(self) -> str:
        return "the simulation"

    def toward(self, address: Address) -> None:
        """Nothing else is to be had."""

    async def dial(self, timeout_s: float) -> TaskLink:
        loop = asyncio.get_running_loop()
        ours, theirs = SlowEnd(loop, self._chance), SlowEnd(loop, self._chance)
        ours.join(theirs)
        link = ReportingLink(self._report)
        ours.begin(lambda: link)
        theirs.call(lambda: theirs.begin(self._accept))
        await asyncio.sleep(self._chance.random() * LATENCY_S)
        if self._chance.random() < 0.05:
            raise HostNotReached("as the seed says")
        return link


class CancelAuditor:
    """Knows what was put and what was got."""

    def __init__(self) -> None:
        self.trace: Callable[[str], object] | None = None
        self.met: Counter[str] = Counter()
        self.put: list[bytes] = []
        self.got: list[bytes] = []

    def note(self, what: str) -> None:
        """Count something that has a name among the faults."""
        self.met[what] += 1
        self.say(what)

    def say(self, what: str) -> None:
        if self.trace is not None:
            self.trace(what)

    def got_one(self, message: adapter.Message, *, uncounted: bool) -> None:
        """Judge a message that a program has got for good."""
        self.say(f"got {message.body!r}")
        assert message.body in self.put, f"{message.body!r} was not put"
        assert message.body not in self.got, f"{message.body!r} was got twice"
        if uncounted:
            assert not message.backout_count, f"{message.body!r} was counted as backed out"
        self.got.append(message.body)

    def check(self) -> None:
        """Judge the end: everything has been got."""
        lost = sorted(set(self.put) - set(self.got))
        assert not lost, f"{lost} were lost"


class CancelWork:
    """One run."""

    def __init__(self, seed: int) -> None:
        self.auditor = CancelAuditor()
        self._seed = seed
        self._chance = random.Random(seed)
        self._in_units = seed % 2 == 1
        self._is_up = True
        self._cancels = 0
        self._getting: list[asyncio.Task[None]] = []

    @property
    def met(self) -> Counter[str]:
        """What has been met, and how often."""
        return self.auditor.met

    def run(self, cancels: int) -> None:
        """Cancel so many gets; judge what was got."""
        logging.getLogger("adapter.client").setLevel(logging.ERROR)
        random.seed(self._seed)  # the pauses between attempts to connect
        self._loop = VirtualLoop()
        # The driver reads the machine's clock: a seed would be another one where that is slow.
        with (
            mock.patch("time.monotonic", self._loop.time),
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
        ):
            runner.run(self._run(cancels))

    async def _run(self, cancels: int) -> None:
        self._manager = ScriptedManager("QM1", self._loop, VirtualClock(self._loop))
        dialer = SlowDialer(self._accept, self._arrived, self._chance)
        self._channel = TaskChannel(TaskHandshake([dialer], {}), Timeouts())
        await self._first_link()
        qm = adapter.aio.Connection(TaskContext(self._channel, "", adapter.Schemas(None)))
        await self._channel.ask([Pending(c.DefineQueue("Q", {}))])
        queue = qm.queue("Q")
        disturbing = asyncio.create_task(self._disturb())
        while self._cancels < cancels:
            await self._round(qm, queue)
        disturbing.cancel()
        self._is_up = True
        await asyncio.sleep(REST_S)
        self._check_server()
        async for unit in queue.units(timeout=0):
            async with unit:
                self.auditor.got_one(unit.messages[0], uncounted=not self._in_units)
        self.auditor.check()
        await qm.close()

    async def _first_link(self) -> None:
        while True:
            with suppress(adapter.errors.QueueManagerNotAvailable):
                await self._channel.connect_first()
                return

    def _accept(self) -> Client:
        if not self._is_up:
            raise ConnectionRefusedError
        return self._manager.accept()

    async def _round(self, qm: adapter.aio.Connection, queue: adapter.aio.Queue) -> None:
        """Put some messages, have some tasks get, and cancel these."""
        chance = self._chance
        putting = [
            asyncio.create_task(self._put(queue)) for _ in range(chance.randint(0, PUTS_MAX))
        ]
        ways = [self._get, self._get_if_any]
        if self._in_units:
            ways += [self._get_in_unit, self._work]
        self._getting = [
            asyncio.create_task(chance.choice(ways)(qm, queue))
            for _ in range(chance.randint(1, TASKS_MAX))
        ]
        for task in self._getting:
            await self._pause()
            self._cancel(task)
        for task in [*self._getting, *putting]:
            with suppress(asyncio.CancelledError, BackedOut):
                await task

    def _cancel(self, task: asyncio.Task[None]) -> None:
        if not task.done() and not task.cancelling():
            self._cancels += 1
            self.auditor.note(f"get cancelled {self._moment(task)}")
            task.cancel()

    def _arrived(self) -> None:
        """Cancel a get now and then between the arrival of its answer and its next step."""
        if self._getting and self._chance.random() < AT_ARRIVALS:
            self._cancel(self._chance.choice(self._getting))

    async def _pause(self) -> None:
        """Let some turns of the loop pass, or some time."""
        for _ in range(self._chance.randint(0, 4)):
            await asyncio.sleep(0)
        pause_s = self._chance.choice(PAUSES_S)
        if pause_s:
            await asyncio.sleep(pause_s * self._chance.random())

    async def _put(self, queue: adapter.aio.Queue) -> None:
        body = b"%d" % len(self.auditor.put)
        self.auditor.put.append(body)
        await queue.put(body)

    async def _get(self, qm: adapter.aio.Connection, queue: adapter.aio.Queue) -> None:
        timeout = self._chance.choice([None, None, 0.002])
        self._note(await queue.get(timeout=timeout))

    async def _get_if_any(self, qm: adapter.aio.Connection, queue: adapter.aio.Queue) -> None:
        self._note(await queue.get())

    async def _get_in_unit(self, qm: adapter.aio.Connection, queue: adapter.aio.Queue) -> None:
        async with qm.unit():
            message = await queue.get(timeout=None)
        self._note(message)

    async def _work(self, qm: adapter.aio.Connection, queue: adapter.aio.Queue) -> None:
        """Do some units of a loop, which gets none ahead or some."""
        units = queue.units(prefetch=self._chance.choice([0, 4]))
        for _ in range(self._chance.randint(1, 3)):
            async with await anext(units) as unit:
                await asyncio.sleep(self._chance.random() * LATENCY_S)
            if not unit.failed:
                self._note(unit.messages[0])

    def _note(self, message: adapter.Message | None) -> None:
        if message is not None:
            self.auditor.got_one(message, uncounted=not self._in_units)

    async def _disturb(self) -> None:
        """Break the link now and then, and let the queue manager crash."""
        while True:
            await asyncio.sleep(self._chance.expovariate(20))
            if self._chance.random() < 0.7:
                self.auditor.note("link lost while gets wait")
                self._manager.cut_here()
                continue
            self.auditor.note("crash while gets wait")
            self._is_up = False
            self._manager.die()
            await asyncio.sleep(self._chance.random() * 0.2)
            self._is_up = True

    def _moment(self, task: asyncio.Task[None]) -> str:
        request = waited_for(task)
        if not self._channel.is_connected:
            return "while the connection is lost"
        if request is None or not request.sent:
            return "before it was sent"
        if request.answer is not None:
            return "when it was answered"
        return "at its commit" if isinstance(request.command, c.Commit) else "under way"

    def _check_server(self) -> None:
        """Nothing may be left of a get that was cancelled."""
        sessions = self._manager.qm.connections.values()
        assert not any(one.units for one in sessions), "units were left open"
        assert not any(one.waiters for one in sessions), "gets still wait"
        figures = self._channel.statistics()
        assert (figures["unanswered"], figures["units"]) == (0, 0), figures


def waited_for(task: asyncio.Task[Any]) -> Pending | None:
    """Return the request that a task waits for: the innermost one of its coroutines."""
    found = None
    waiting: Awaitable[Any] | None = task.get_coro()  # type: ignore[assignment]
    while (frame := getattr(waiting, "cr_frame", None)) is not None:
        request = frame.f_locals.get("request")
        found = request if isinstance(request, Pending) else found
        waiting = getattr(waiting, "cr_await", None)
    return found
