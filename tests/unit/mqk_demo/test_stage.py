"""The whole play on a queue manager in memory: real processes, and a kill in the middle."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import adapter.testing
from adapter.localkafka import LocalKafka
from mqk_demo import queues, run
from mqk_demo import stage as stages
from mqk_demo.flights import flight_of, result_of
from mqk_demo.processes import Process
from mqk_demo.producer import produce
from mqk_demo.screen import Screen
from mqk_demo.stage import Stage
from tests.unit.mqk_demo.flight_lines import table

LINES = table(1200)
FIRST = 800
"""Flights that are put at once: more than half of them, at which the queue manager is killed."""
HELD_MAX_S = 60.0


class NoKafka:
    bootstrap_servers = "nowhere:9092"


class Manager:
    """A queue manager in this process, as the stage knows one in a process of its own."""

    def __init__(self, manager: adapter.testing.TestQueueManager) -> None:
        self._manager = manager

    def check(self) -> None:
        assert self._manager.is_running

    def kill(self) -> None:
        if self._manager.is_running:
            self._manager.crash()


class Producer:
    """Puts the flights of this test: the real producer takes none but the real table.

    The last flights are put when commits are held, so that the workers still have some to commit.
    """

    name = "producer"

    def __init__(
        self, manager: adapter.testing.TestQueueManager, are_held: threading.Event
    ) -> None:
        self._manager = manager
        self._are_held = are_held
        self._thread = threading.Thread(target=self._produce)
        self._thread.start()

    def _produce(self) -> None:
        with self._manager.connect() as qm, qm.queue(queues.IN) as queue:
            produce(queue, LINES[:FIRST])
            self._are_held.wait(HELD_MAX_S)
            produce(queue, LINES[FIRST:])

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def check(self) -> None:
        """It ends with no other status than 0."""

    def kill(self) -> None:
        self._are_held.set()
        self._thread.join()

    def stop(self, _grace_s: float) -> int:
        self._thread.join()
        return 0

    def all_figures(self) -> list[dict[str, float]]:
        return [{"put": len(LINES), "seconds": 1.0}]


class InMemory(Stage):
    """The stage without a Kafka; trigger monitor and workers are the real ones."""

    def __init__(self, manager: adapter.testing.TestQueueManager, folder: Path) -> None:
        super().__init__(cast(LocalKafka, NoKafka()), folder)
        self.starts = 0
        self._tested = manager
        self._are_held = threading.Event()

    def _hold_commits(self) -> None:
        super()._hold_commits()
        self._are_held.set()

    def _start_manager(self) -> None:
        self.starts += 1
        self._tested.start()
        self._manager = cast(Process, Manager(self._tested))

    def _run(self, name: str, module: str, arguments: list[str]) -> Process:
        if name != "producer":
            return super()._run(name, module, arguments)
        self._cast.append(cast(Process, Producer(self._tested, self._are_held)))
        return self._cast[-1]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemory]:
    with adapter.testing.queue_manager(queues.QUEUE_MANAGER) as manager:
        manager.stop()
        port = int(manager.address.rpartition(":")[2])
        monkeypatch.setattr(stages, "free_port", lambda: port)
        with InMemory(manager, tmp_path) as ready:
            yield ready


def test_half_of_a_short_run_is_left_however_late_it_is_looked_at(
    stage: InMemory, tmp_path: Path
) -> None:
    half = FIRST // 2
    stage.open()
    stage.hold_half_way(FIRST)
    stage.begin(tmp_path / "none", len(LINES))
    with Screen(quiet=True) as screen:
        run.handle(stage, FIRST, FIRST - 1, screen)
        assert stage.depths().handled <= half + stages.WORKERS * queues.UNIT_SIZE
        assert stage.kill_and_restart().commits_held >= 1
        run.handle(stage, len(LINES), len(LINES), screen)
    stage.end()


def test_workers_that_the_trigger_monitor_starts_do_every_flight_once(
    stage: InMemory, tmp_path: Path
) -> None:
    with Screen(quiet=True) as screen:
        played = run.play(stage, tmp_path / "none", len(LINES), screen)
    done, aside = (
        [message.body.decode() for message in stage.qm.queue(name).browse()]
        for name in (queues.DONE, queues.BACKOUT)
    )
    departed = [line for line in LINES if flight_of(line).departed]
    assert sorted(done) == sorted(map(result_of, departed))
    assert sorted(aside) == sorted(set(LINES) - set(departed))
    assert stage.starts == 2
    assert played["restart"].commits_held >= 1
    assert "started program" in stage.said()
