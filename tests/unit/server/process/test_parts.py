"""A part is begun, asked and ended by the server in one order, whatever it does."""

import asyncio
from typing import Any

import pytest

from adapter.errors import StartError
from adapter.runtime.owner.clock import SystemClock
from adapter.server.process.parts import AcceptOwn, Part
from adapter.server.server import Server
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import NoMovers
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog


class Noting(Part):
    """Notes what it is told."""

    def __init__(self, name: str, told: list[tuple[str, str]], fails_in: str = "") -> None:
        self._name, self._told, self._fails_in = name, told, fails_in

    def _note(self, what: str) -> None:
        self._told.append((self._name, what))
        if what == self._fails_in:
            raise StartError(f"{self._name} does not {what}", "")

    async def prepare(self) -> None:
        self._note("prepare")

    async def start(self, accept: AcceptOwn) -> None:
        self._note("start")

    async def stop(self) -> None:
        self._note("stop")

    async def end(self) -> None:
        self._note("end")

    def abandon(self) -> None:
        self._note("abandon")

    def figures(self) -> dict[str, Any]:
        return {"commands": {"notes": len(self._told)}} if self._name == "a" else {}

    def undone(self) -> dict[str, str]:
        return {self._name: "of a test"}


def make(*parts: Part) -> Server:
    settings = ServerSettings(queue_manager="QM1", kafka=KafkaSettings(bootstrap_servers=""))
    ledger = MemoryLedger(MemoryLog("QM1 in memory"))
    return Server(settings, ledger, SystemClock(), NoMovers(), parts=parts)


@pytest.mark.parametrize("ends", ["stop", "crash"])
def test_parts_begin_in_their_order_and_end_in_the_opposite(ends: str) -> None:
    told: list[tuple[str, str]] = []

    async def live() -> None:
        server = make(Noting("a", told), Noting("b", told))
        await server.start("127.0.0.1", 0)
        figures = server.figures()
        assert (figures.undone, figures.commands) == (
            dict.fromkeys("ab", "of a test"),
            {"notes": 4},
        )
        await getattr(server, ends)()

    asyncio.run(live())
    begun = [("a", "prepare"), ("b", "prepare"), ("a", "start"), ("b", "start")]
    ended = [("b", "stop"), ("a", "stop"), ("b", "end"), ("a", "end")]
    assert told == begun + ended


def test_a_start_that_fails_abandons_all() -> None:
    told: list[tuple[str, str]] = []

    async def live() -> None:
        server = make(Noting("a", told), Noting("b", told, "prepare"))
        with pytest.raises(StartError, match="b does not prepare"):
            await server.start("127.0.0.1", 0)

    asyncio.run(live())
    assert [what for _, what in told] == ["prepare", "prepare", "abandon", "abandon"]
