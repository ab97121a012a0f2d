"""The handle of the movers' process, where the system starts no process for a while."""

import subprocess
import threading
from collections.abc import Callable

import pytest

from adapter import launch
from adapter.movers.process import MoverProcess, MoverSettings
from adapter.movers.settings import KafkaCluster
from adapter.topics.admin import TopicSettings

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
