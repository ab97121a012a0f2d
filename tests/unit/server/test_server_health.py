"""What a server says of itself to those who watch it."""

import asyncio
from functools import partial

from adapter.runtime.owner import lifecycle
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.server.monitor import http
from adapter.server.server import Server
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import MoverWatch, NoMovers, WatchBounds
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.movers.parking import Held
from tests.unit.runtime.owner.test_owner import until

SETTINGS = ServerSettings(queue_manager="QM1", kafka=KafkaSettings(bootstrap_servers=""))


class SickMovers(NoMovers):
    """Movers that hold, or that have ended."""

    def __init__(self) -> None:
        self.text = ""
        self.end: str | None = None

    def failure(self) -> str | None:
        return self.end

    @property
    def holding(self) -> str:
        return self.text

    @property
    def parked(self) -> dict[str, Held]:
        return {"mq.QM1.q.A": Held(0, 0, "no such topic")}


def test_what_it_says_through_its_life() -> None:
    movers = SickMovers()
    said: list[tuple[str, bool, str]] = []

    def note(server: Server) -> None:
        health = http.ready(server)
        said.append((health.state, health.ok, health.reason))

    async def live() -> None:
        ledger = MemoryLedger(MemoryLog("QM1 in memory"))
        server = Server(SETTINGS, ledger, SystemClock(), movers)
        note(server)
        assert server.owner.why_not == lifecycle.WHY_NOT[OwnerState.TAKING_OVER]
        assert server.queue_statuses() == []
        await server.start("127.0.0.1", 0)
        note(server)
        movers.text = "a topic is missing"
        note(server)
        movers.text, movers.end = "", "out of memory"
        note(server)
        figures = server.figures()
        assert figures.owner.state == "running"
        assert figures.movers_hold == "the movers ended: out of memory"
        assert figures.movers_parked == {"mq.QM1.q.A": "no such topic"}
        movers.end = None
        await server.stop()
        note(server)
        assert server.state is OwnerState.STOPPED

    asyncio.run(live())
    assert said == [
        ("taking over", False, lifecycle.WHY_NOT[OwnerState.TAKING_OVER]),
        ("running", True, ""),
        ("running", False, "a topic is missing"),
        ("running", False, "the movers ended: out of memory"),
        ("stopped", False, "the queue manager is stopped"),
    ]


class Dying(SickMovers):
    """Movers that run for a moment whenever they are started again."""

    def restart(self) -> None:
        self.end = None


def has_restarted(server: Server, movers: int) -> bool:
    return server.figures().mover_restarts == movers


def test_movers_that_end_again_and_again_hold() -> None:
    """Between two ends they run, and tell nothing of themselves: that must not look well."""
    movers = Dying()
    bounds = WatchBounds(check_s=0.001)

    async def live() -> None:
        server = Server(SETTINGS, MemoryLedger(MemoryLog("QM1 in memory")), SystemClock(), movers)
        server.movers.watch.bounds = bounds
        await server.start("127.0.0.1", 0)
        try:
            await end_and_end_again(server)
            bounds.steady_s = 0.0
            await until(lambda: http.ready(server).ok)
            assert server.figures().movers == {}
        finally:
            await server.stop()

    async def end_and_end_again(server: Server) -> None:
        for ends, is_ready in ((1, True), (2, False), (3, False)):
            movers.end = "the ledger is another one"
            await until(partial(has_restarted, server, ends))
            await until(lambda: movers.end is None)
            assert http.ready(server).ok is is_ready
        assert "the ledger is another one" in http.ready(server).reason
        figures = server.figures().movers
        assert {name: one["holding"] for name, one in figures.items()} == {"stream": 1, "events": 1}

    asyncio.run(live())


def has_started(watch: MoverWatch, restarts: int) -> bool:
    return watch.restarts == restarts


class Partial(Dying):
    """Of its two movers, one ends."""

    @property
    def failures(self) -> dict[str, str]:
        return {"events": self.end} if self.end else {}

    def statistics(self) -> dict[str, dict[str, int]]:
        return {"stream": {"holding": 0}, "events": {"holding": int(self.end is not None)}}


def test_one_mover_that_ends_is_reported_while_the_other_copies() -> None:
    bounds = WatchBounds(check_s=0.001)
    movers = Partial()
    parked: list[object] = []

    async def live() -> None:
        watch = MoverWatch(movers, parked.append, bounds)
        running = asyncio.create_task(watch.run())
        for restarts in (1, 2):
            movers.end = "it was fenced"
            assert watch.trouble == "the events mover ended: it was fenced"
            assert watch.figures() == {"stream": {"holding": 0}, "events": {"holding": 1}}
            await until(partial(has_started, watch, restarts))
        assert movers.end is None
        assert watch.trouble == "the events mover ended: it was fenced (and again: 2 times now)"
        assert watch.figures() == {"stream": {"holding": 0}, "events": {"holding": 1}}
        bounds.steady_s = 0.0
        await until(lambda: not watch.trouble)
        running.cancel()

    asyncio.run(live())


def test_parked_topics_are_reported_while_a_mover_is_not_started_again() -> None:
    """A pause before a restart is the mover's alone."""
    bounds = WatchBounds(check_s=0.001, restarts_at_once=-20)
    movers = Partial()
    movers.end = "it was fenced"
    parked: list[object] = []

    async def live() -> None:
        watch = MoverWatch(movers, parked.append, bounds)
        running = asyncio.create_task(watch.run())
        await until(lambda: len(parked) > 3)
        assert watch.restarts == 0
        running.cancel()

    asyncio.run(live())
