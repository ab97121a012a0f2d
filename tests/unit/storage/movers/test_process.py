"""The handle of the movers' process, where the system starts no process for a while."""

import os
import queue
import subprocess
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from adapter.host import launch
from adapter.storage.movers import process
from adapter.storage.movers.process import (
    MoverChild,
    MoverProcess,
    MoverReport,
    MoverRun,
    MoverSettings,
)
from adapter.storage.movers.settings import KafkaCluster
from adapter.storage.topics.specs import TopicSettings
from tests.support.backlog import until

NOWHERE = KafkaCluster("127.0.0.1:1")
SETTINGS = MoverSettings(
    queue_manager="QM1",
    source=NOWHERE,
    destination=NOWHERE,
    topics=TopicSettings.for_brokers(1),
)


def no_process(*_: object, **__: object) -> None:
    raise BlockingIOError(11, "Resource temporarily unavailable")


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("place", "name", "fails", "why"),
    [
        (subprocess, "Popen", no_process, "Resource temporarily unavailable"),
        (threading.Thread, "start", no_thread, "can't start new thread"),
    ],
)
def test_movers_that_the_system_does_not_start_are_tried_again(
    place: object,
    name: str,
    fails: Callable[..., None],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As those that ended: a queue manager goes on without them, and says what is wrong."""
    monkeypatch.setattr(launch, "program", lambda _: ["sleep", "600"])
    movers = MoverProcess(SETTINGS)
    assert movers.failure() is None
    with monkeypatch.context() as short:
        short.setattr(place, name, fails)
        for begin in (movers.start, movers.restart):
            begin()
            failure = movers.failure()
            assert failure is not None
            assert failure.startswith("the movers' process cannot be started: ")
            assert why in failure
            assert movers.pid is None
    movers.restart()
    assert movers.failure() is None
    assert movers.pid is not None
    movers.stop()
    assert movers.failure() is None


class SlowRun:
    """A process that takes a while to be started."""

    made: ClassVar[list["SlowRun"]] = []

    def __init__(self, _settings: MoverSettings) -> None:
        self.is_begun.set()
        assert self.may_go_on.wait(10)
        self.has_ended = False
        self.made.append(self)

    def begin_again(self) -> bool:
        return False

    def end(self, _grace_s: float) -> None:
        self.has_ended = True

    is_begun: ClassVar[threading.Event] = threading.Event()
    may_go_on: ClassVar[threading.Event] = threading.Event()


def test_a_stop_ends_what_a_restart_beside_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MoverRun", SlowRun)
    movers = MoverProcess(SETTINGS)
    SlowRun.may_go_on.set()
    movers.start()
    SlowRun.may_go_on.clear()
    SlowRun.is_begun.clear()
    restart, stop = (threading.Thread(target=one) for one in (movers.restart, movers.stop))
    restart.start()
    assert SlowRun.is_begun.wait(10)
    stop.start()
    SlowRun.may_go_on.set()
    for thread in (restart, stop):
        thread.join(10)
    assert [one.has_ended for one in SlowRun.made] == [True, True]
    movers.restart()
    assert len(SlowRun.made) == 2
    movers.start()
    assert len(SlowRun.made) == 3


class EndsAtOnce:
    """Movers of which one ends whenever it is started, each time for the same reason."""

    made: ClassVar[list["EndsAtOnce"]] = []

    def __init__(self, _settings: MoverSettings) -> None:
        self.starts = 0
        self.failures: dict[str, str] = {}
        self.is_ready, self.holding, self.parked = True, "", {}  # type: ignore[var-annotated]
        self.made.append(self)

    def start(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.starts += 1
        self.failures = {"stream": "finds no progress"}

    def stop(self) -> None:
        """It has ended."""

    def statistics(self) -> dict[str, dict[str, int]]:
        return {"stream": {"position": 5, "holding": 1}}


class CommandLine:
    """The standard input of a process: without an end, at which it would end the tests."""

    def __init__(self) -> None:
        self._lines: queue.Queue[bytes] = queue.Queue()

    def write(self, line: bytes) -> None:
        self._lines.put(line)

    def flush(self) -> None:
        """It is read at once."""

    def read(self, _size: int) -> bytes:
        return self._lines.get()


class PipedProcess:
    """Stands for a process that runs: its two pipes."""

    returncode = None

    def __init__(self, stdin: Any, stdout: Any) -> None:
        self.stdin, self.stdout = stdin, stdout

    def poll(self) -> None:
        return None


def test_a_mover_that_ends_again_at_once_is_reported_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its figures are what they were at the last look: none of them has changed."""
    monkeypatch.setattr(process, "MoverThread", EndsAtOnce)
    monkeypatch.setattr(process, "REPORT_S", 0.001)
    reports, to_parent = os.pipe()
    commands = CommandLine()
    child = MoverChild(os.fdopen(to_parent, "w"))
    run = MoverRun.__new__(MoverRun)
    run.state, run._silent, run._failure = MoverReport(), False, ""
    run._changed = threading.Condition()
    run.process = PipedProcess(commands, os.fdopen(reports, "rb"))  # type: ignore[assignment]
    threads = [
        threading.Thread(target=child.run, args=(SETTINGS, commands), daemon=True),
        threading.Thread(target=run._keep_state, daemon=True),
    ]
    for thread in threads:
        thread.start()
    for starts in range(1, 30):
        assert run.wait_for(lambda state: bool(state.failures), 10)
        assert run.failure() == "finds no progress"
        assert EndsAtOnce.made[0].starts == starts
        assert run.begin_again()
        until(lambda starts=starts: EndsAtOnce.made[0].starts > starts)  # type: ignore[misc]
    child.stop()
    threads[0].join(10)
