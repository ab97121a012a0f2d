"""Movers in threads: what has ended by itself is started again, what was stopped is not."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from adapter.storage.movers import stream, thread
from adapter.storage.movers.errors import MoverError
from adapter.storage.movers.thread import PROJECTIONS, MoverThread
from tests.support.backlog import until
from tests.unit.storage.movers.test_stream import SETTINGS, NotedTopics


class EndingMover:
    """A mover that runs until it is stopped, or ended."""

    made: list[EndingMover]

    def __init__(self, _settings: object, projection: Any, _reader: object) -> None:
        self.name = projection.name
        self.holding, self.parked, self.is_ready = "", {}, False  # type: ignore[var-annotated]
        self.failure = ""
        self.over = threading.Event()
        self.made.append(self)

    def run(self) -> None:
        self.over.wait(20)
        if self.failure:
            raise MoverError(self.failure)

    def stop(self) -> None:
        self.over.set()

    def end(self) -> None:
        self.failure = "no progress"
        self.over.set()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[EndingMover]:
    monkeypatch.setattr(stream, "TopicAdmin", NotedTopics)
    monkeypatch.setattr(thread, "Mover", EndingMover)
    EndingMover.made = []
    return EndingMover.made


class AskedMovers:
    """Movers, and what is asked of them."""

    def __init__(self, made: list[EndingMover]) -> None:
        self.movers = MoverThread(SETTINGS)
        self.made = made
        self.is_stopped = False

    @property
    def running(self) -> list[EndingMover]:
        return [one for one in self.made if not one.over.is_set()]

    def ask(self, what: str, chance: random.Random) -> None:
        before, ended = len(self.made), len(self.movers.failures)
        if what == "start":
            self.movers.start()
            self.is_stopped = False
            assert len(self.made) == before + len(PROJECTIONS)
        elif what == "restart":
            self.movers.restart()
            wanted = 0 if self.is_stopped else ended if before else len(PROJECTIONS)
            assert len(self.made) == before + wanted
        elif what == "stop":
            self.movers.stop()
            self.is_stopped = True
            assert not self.running
        elif self.running:
            one = chance.choice(self.running)
            one.end()
            until(lambda: one.name in self.movers.failures)
        if self.made and not self.is_stopped:
            assert len(self.running) == len(PROJECTIONS) - len(self.movers.failures)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_asked_in_whatever_order(made: list[EndingMover], seed: int) -> None:
    """As of the process: after a stop nothing is started again but by a start."""
    chance = random.Random(seed)
    asked = AskedMovers(made)
    for _ in range(12):
        asked.ask(chance.choice(["start", "restart", "stop", "end"]), chance)
    asked.movers.stop()
