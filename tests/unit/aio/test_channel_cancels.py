"""Cancellations at every await of a verb: the connection stays whole.

Each example is one verb, or a few, whose task is cancelled at one of its waits: at once, when what
it waits for is there, behind a stall of the event loop or of the link, without an answer, or while
the connection is lost. Afterwards the connection works; no message is locked, lost or doubled, no
handle and no unit is open that the client does not know, and what a commit says is true.

`python -m tests.unit.aio.test_channel_cancels` tries all waits of all verbs; the tests try some.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

import pytest
from msgspec import Struct, field

import adapter
import adapter.aio
from adapter import errors as e
from adapter.aio.work import TaskWork
from adapter.client.replies import MODEL
from tests.support.examples import examples
from tests.support.loopback import Loopback, loopback

END_S = 10.0
"""No verb may take longer."""
STALL_S = 0.02
TRIED = 10
"""Of the waits of each verb, and the ways to cancel at it, that a test tries."""


class UnitDone(Struct):
    """What the program has put and got in a unit. is_committed: it was told so."""

    ident: bytes
    put: list[bytes] = field(default_factory=list)
    got: list[bytes] = field(default_factory=list)
    is_committed: bool = False


class Site:
    """One connection, a queue of its own, and what the program was told."""

    def __init__(
        self, server: Loopback, operator: adapter.Connection, name: str, qm: adapter.aio.Connection
    ) -> None:
        self.server = server
        self.operator = operator
        self.name = name
        self.qm = qm
        self.queue = qm.queue(name)
        self.got: list[bytes] = []
        self.put: list[bytes] = []
        self.offered: list[bytes] = []
        """All that the program has tried to put."""
        self.units: list[UnitDone] = []
        self.cuts = 0
        """How often the link was cut."""

    def seed(self, *bodies: bytes) -> None:
        """Have messages on the queue."""
        for body in bodies:
            self.operator.put(self.name, body)
        self.put += bodies
        self.offered += bodies

    def begin(self, unit: adapter.aio.Unit | TaskWork) -> UnitDone:
        """Note what is done in a unit."""
        self.units.append(UnitDone(unit.id))
        return self.units[-1]

    async def put_one(self, body: bytes) -> None:
        self.offered.append(body)
        await self.queue.put(body)
        self.put.append(body)

    async def put_in(self, done: UnitDone, body: bytes, *, wait: bool = True) -> None:
        """Put in the unit of the with statement."""
        self.offered.append(body)
        await self.queue.put(body, wait=wait)
        done.put.append(body)

    async def get_one(self, timeout: float = 0) -> None:  # noqa: ASYNC109 -- it is of the get
        message = await self.queue.get(timeout=timeout)
        if message is not None:
            self.got.append(message.body)

    async def count_units(self) -> None:
        """Count what was done in units that were committed, whether the program was told or not."""
        for done in self.units:
            outcome = await self.qm.outcome(done.ident)
            assert outcome == "committed" or not done.is_committed, f"it is {outcome}"
            if outcome == "committed":
                self.put += done.put
                self.got += done.got


Verb = Callable[[Site], Coroutine[Any, Any, None]]


async def put(site: Site) -> None:
    await site.put_one(b"a")


async def put_long(site: Site) -> None:
    """Put what fills the link."""
    for n in range(3):
        await site.put_one(b"%d" % n + bytes(1_000_000))


async def get(site: Site) -> None:
    await site.get_one()


async def get_waiting(site: Site) -> None:
    await site.get_one(timeout=0.5)
    await site.get_one(timeout=0.5)
    await site.get_one(timeout=0.01)


async def get_in_order(site: Site) -> None:
    message = await site.queue.get(logical_order=True)
    if message is not None:
        site.got.append(message.body)


async def work_in_a_unit(site: Site) -> None:
    async with site.qm.unit() as unit:
        done = site.begin(unit)
        message = await site.queue.get()
        if message is not None:
            done.got.append(message.body)
        await site.put_in(done, b"x")
        await site.put_in(done, b"y", wait=False)
    done.is_committed = True


async def go_on_in_a_unit(site: Site) -> None:
    """Catch the cancellation of each verb inside the unit, and commit."""
    with suppress(e.BackedOut, e.UnitEnded):
        async with site.qm.unit() as unit:
            done = site.begin(unit)
            for n in range(3):
                with suppress(asyncio.CancelledError):
                    await site.put_in(done, b"w%d" % n, wait=n == 1)
            await unit.commit()
            done.is_committed = True


async def fail_in_a_unit(site: Site) -> None:
    with suppress(KeyError):
        async with site.qm.unit():
            await site.queue.get()
            raise KeyError


async def commit_in_flight(site: Site) -> None:
    for n in range(3):
        unit = site.qm.unit()
        unit.begin()
        done = site.begin(unit)
        try:
            site.offered.append(b"f%d" % n)
            await site.queue.put(b"f%d" % n, unit=unit)
            done.put.append(b"f%d" % n)
            await unit.commit(wait=False)
        except asyncio.CancelledError:
            with suppress(e.UnitEnded, e.BackedOut):
                await unit.backout()
            raise
    await site.qm.flush()
    for done in site.units:
        done.is_committed = True


async def browse(site: Site) -> None:
    async for _ in site.queue.browse():
        pass


async def ask(site: Site) -> None:
    try:
        await site.qm.queue(f"{site.name}.BESIDE").request(b"?", timeout=0.01)
    except e.NoReply:
        pass
    except e.ConnectionBroken as error:
        # The link was cut, and the cancellation has not come yet: nothing else ends in this way.
        if site.cuts == 0 or "and the reply with it: ask again" not in str(error):
            raise


async def open_and_close(site: Site) -> None:
    async with site.qm.queue(site.name, open_for="input_exclusive"):
        pass


async def work(site: Site) -> None:
    await _work(site)


async def work_ahead(site: Site) -> None:
    await _work(site, prefetch=4, commits=2)


async def _work(site: Site, prefetch: int = 1, commits: int = 1) -> None:
    async for unit in site.queue.units(timeout=0, prefetch=prefetch, commits=commits):
        done = site.begin(unit)
        async with unit:
            done.got += [message.body for message in unit.messages]


async def put_many(site: Site) -> None:
    bodies = [b"m%d" % n for n in range(4)]
    site.offered += bodies
    await site.queue.put_many(bodies, unit_size=1)
    site.put += bodies


async def look(site: Site) -> None:
    await site.queue.depth()


VERBS: dict[str, Verb] = {
    "put": put,
    "put, long": put_long,
    "get": get,
    "get, waiting": get_waiting,
    "get, in order": get_in_order,
    "unit": work_in_a_unit,
    "unit, going on": go_on_in_a_unit,
    "unit, failing": fail_in_a_unit,
    "commits in flight": commit_in_flight,
    "browse": browse,
    "request": ask,
    "open": open_and_close,
    "units": work,
    "units, ahead": work_ahead,
    "put_many": put_many,
    "depth": look,
}


class Cancelled:
    """Awaits a verb, and calls something when it waits for the n-th time. seen: how often it did.

    act: with what is waited for; None: for the next turn of the loop.
    """

    def __init__(self, number: int, act: Callable[[asyncio.Future[Any] | None], None]) -> None:
        self.seen = 0
        self._number = number
        self._act = act

    @types.coroutine
    def drive(self, verb: Coroutine[Any, Any, None]) -> Generator[Any, Any, None]:
        error: BaseException | None = None
        while True:
            try:
                waits_for = verb.send(None) if error is None else verb.throw(error)
            except StopIteration:
                return
            self.seen += 1
            if self.seen == self._number:
                self._act(waits_for)
            error = None
            try:
                yield waits_for
            except BaseException as raised:  # noqa: BLE001 -- it is the verb's
                error = raised


class Way(Struct, frozen=True):
    """How a task is cancelled at a wait. cancel: with the task and what it waits for. after: what
    ends what was stalled.
    """

    cancel: Callable[[Site, asyncio.Task[Any], asyncio.Future[Any] | None], None]
    after: Callable[[Site], None] | None = None


def at_once(_site: Site, task: asyncio.Task[Any], _future: asyncio.Future[Any] | None) -> None:
    task.cancel()


def with_the_answer(
    _site: Site, task: asyncio.Task[Any], future: asyncio.Future[Any] | None
) -> None:
    """Cancel between the arrival of what the task waits for and its next step."""
    if future is None:
        task.cancel()
    else:
        future.add_done_callback(lambda _done: task.cancel())


def behind_a_stall(
    _site: Site, task: asyncio.Task[Any], _future: asyncio.Future[Any] | None
) -> None:
    """Have everything come at once: the answer has arrived, and the loop has read nothing."""

    def stall() -> None:
        time.sleep(STALL_S)
        task.cancel()

    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, stall)  # what was submitted is sent before


def without_an_answer(
    site: Site, task: asyncio.Task[Any], _future: asyncio.Future[Any] | None
) -> None:
    """Cancel when the queue manager has done what was asked, and has not said so."""
    site.server.call(lambda: setattr(site.server, "holds", (object,)))
    asyncio.get_running_loop().call_later(STALL_S, task.cancel)


def on_a_stalled_link(
    site: Site, task: asyncio.Task[Any], _future: asyncio.Future[Any] | None
) -> None:
    site.server.stall()
    asyncio.get_running_loop().call_later(STALL_S, task.cancel)


def while_it_is_lost(
    site: Site, task: asyncio.Task[Any], _future: asyncio.Future[Any] | None
) -> None:
    """Cancel while the connection is lost, or is made again."""
    site.cuts += 1
    site.server.cut_all()
    asyncio.get_running_loop().call_later(0.005 * random.random(), task.cancel)


WAYS = {
    "at once": Way(at_once),
    "with the answer": Way(with_the_answer),
    "behind a stall": Way(behind_a_stall),
    "without an answer": Way(without_an_answer, lambda site: site.server.release()),
    "on a stalled link": Way(on_a_stalled_link, lambda site: site.server.stall(ends=True)),
    "while it is lost": Way(while_it_is_lost),
}


async def try_wait(site: Site, verb: Verb, number: int, way: Way | None) -> int:
    """Cancel a verb at one wait, and see that everything is whole; return how many it had."""
    await site.put_one(b"warm")
    site.seed(b"1", b"2")

    acted = asyncio.Event()

    def act(waits_for: asyncio.Future[Any] | None) -> None:
        assert way is not None
        way.cancel(site, task, waits_for)
        acted.set()

    this = Cancelled(number, act)

    async def run() -> None:
        try:
            await this.drive(verb(site))
        finally:
            acted.set()  # fewer waits may do, if answers come soon
            await asyncio.sleep(0)  # what was put off comes now

    task = asyncio.create_task(run())
    async with asyncio.timeout(END_S):
        if way is not None and way.after is not None:
            await acted.wait()
            await asyncio.sleep(2 * STALL_S)
            way.after(site)
        with suppress(asyncio.CancelledError, e.BackedOut):
            await task
        await check(site)
    return this.seen


async def check(site: Site) -> None:
    """See that the connection works, and that nothing is lost, doubled or left open."""
    with suppress(e.InDoubt, e.BackedOut):  # of commits in flight, once
        await site.qm.flush()
    await use(site)
    deadline_s = time.monotonic() + END_S / 2
    while (left := what_is_left(site)) and time.monotonic() < deadline_s:
        await asyncio.sleep(0.005)
        await use(site)
    assert not left, left
    await site.queue.close()
    while open_by(site) and time.monotonic() < deadline_s:
        await use(site)
    assert not open_by(site), "a handle is open of a queue object that is closed or was not made"
    await site.count_units()
    seen = site.server.bodies(site.name) + site.got
    assert len(set(seen)) == len(seen), f"doubled: {short(seen)}"
    lost = set(site.put) - set(seen)
    assert not lost, f"lost: {short(lost)}"
    assert set(seen) <= set(site.offered), short(seen)
    figures = site.qm.statistics()
    assert figures["unanswered"] == 0, f"{figures['unanswered']} unanswered"


async def use(site: Site) -> None:
    """Put and get."""
    name = f"{site.name}.BESIDE"
    await site.qm.put(name, b"for the check", unit=adapter.NO_UNIT)
    bodies = []
    while (message := await site.qm.get(name, unit=adapter.NO_UNIT)) is not None:
        bodies.append(message.body)
    assert b"for the check" in bodies, "a message went to nobody"
    await site.qm.queues(name)  # behind the close of the last get, which did not wait for it


def what_is_left(site: Site) -> str:
    """Say what of the connection is open at the queue manager that its client does not know."""

    def open_there() -> tuple[int, int]:
        connection = site.server.qm.connections[max(site.server.qm.connections)]
        return len(connection.handles), len(connection.units)

    handles, units = site.server.call(open_there)
    known = site.qm.statistics()
    if units or known["units"] > 0:
        return f"{units} units are open, {known['units']} here"
    return "" if handles == known["handles"] else f"{handles} handles, {known['handles']} known"


def open_by(site: Site) -> int:
    """Count the handles of the queue that no object of the program has any more."""

    def handles() -> int:
        connections = site.server.qm.connections
        of = connections[max(connections)].handles.values()
        return sum(getattr(getattr(one, "queue", None), "name", "") == site.name for one in of)

    return site.server.call(handles)


def short(bodies: Any) -> list[bytes]:
    return [body[:10] for body in bodies]


async def try_waits(
    verb: Verb, wanted: Callable[[list[tuple[int, str]]], list[tuple[int, str]]]
) -> list[str]:
    """Cancel a verb at the waits, and in the ways, that are wanted; return what was wrong."""
    problems: list[str] = []
    with loopback() as server, adapter.connect(server.address, heartbeat_s=0) as operator:
        operator.define_object("model", MODEL)
        count = await _try(server, operator, "Q0", verb, 0, None)
        cases = [(number, name) for number in range(1, count + 1) for name in WAYS]
        for place, (number, name) in enumerate(wanted(cases), 1):
            try:
                await _try(server, operator, f"Q{place}", verb, number, WAYS[name])
            except Exception as error:  # noqa: BLE001 -- all are tried
                server.release()
                problems.append(
                    f"wait {number} of {count}, {name}: {type(error).__name__}: {error}"
                )
    return problems


async def _try(
    server: Loopback,
    operator: adapter.Connection,
    name: str,
    verb: Verb,
    number: int,
    way: Way | None,
) -> int:
    for one in (name, f"{name}.BESIDE"):
        operator.define_queue(one)
    qm = await adapter.aio.connect(server.address, heartbeat_s=0, reconnect_timeout_s=5.0)
    async with qm:
        return await try_wait(Site(server, operator, name, qm), verb, number, way)


@pytest.mark.parametrize("name", VERBS)
async def test_a_cancellation_leaves_the_connection_whole(name: str) -> None:
    chance = random.Random(name)

    def some(cases: list[tuple[int, str]]) -> list[tuple[int, str]]:
        return chance.sample(cases, min(examples(TRIED), len(cases)))

    assert await try_waits(VERBS[name], some) == []


def main(only: str = "") -> None:
    """Try every wait of every verb in every way, or of verbs whose names have this in them."""
    failed = 0
    for name, verb in VERBS.items():
        if only in name:
            found = asyncio.run(try_waits(verb, lambda cases: cases))
            failed += len(found)
            print(f"{name}: {len(found)}", *found, sep="\n    ", flush=True)
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
