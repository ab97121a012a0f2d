"""The program that the trigger monitor starts: real workers, which end when it is told to."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

import adapter
import adapter.testing
from adapter.mqi import TriggerMessage
from mqk_demo import producer, queues
from mqk_demo.flights import flight_of, result_of
from tests.unit.mqk_demo.flight_lines import table

TIMEOUT_S = 60.0
LINES = [line for line in table(120) if flight_of(line).departed]


@pytest.fixture
def manager() -> Iterator[adapter.testing.TestQueueManager]:
    with adapter.testing.queue_manager("DEMO") as running:
        yield running


@pytest.fixture
def qm(manager: adapter.testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        for name in (queues.IN, queues.DONE):
            connection.define_queue(name)
        yield connection


@pytest.fixture
def crew(
    manager: adapter.testing.TestQueueManager, qm: adapter.Connection
) -> Iterator["subprocess.Popen[str]"]:
    """A crew of two at work."""
    trigger = TriggerMessage(queue=queues.IN, user_data="2")
    process = subprocess.Popen(
        [sys.executable, "-m", "mqk_demo.crew", trigger.to_tmc2()],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"MQK_QMGR": manager.address},
    )  # fmt: skip
    try:
        await_that(lambda: inputs(qm) == 2)
        yield process
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
    await_that(lambda: inputs(qm) == 0)  # its workers end with it


def inputs(qm: adapter.Connection) -> int:
    return qm.queue(queues.IN).status().open_input_count


def await_that(check: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not check():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_the_workers_do_what_there_is_and_end_when_told(
    qm: adapter.Connection, crew: "subprocess.Popen[str]"
) -> None:
    producer.produce(qm.queue(queues.IN), LINES)
    await_that(lambda: qm.queue(queues.DONE).depth() == len(LINES))
    crew.send_signal(signal.SIGTERM)
    out, _ = crew.communicate(timeout=TIMEOUT_S)
    assert crew.returncode == 0
    told = [json.loads(line) for line in out.splitlines()]
    assert len(told) == 2
    assert sum(one["done"] for one in told) == len(LINES)
    done = [message.body.decode() for message in qm.queue(queues.DONE).browse()]
    assert sorted(done) == sorted(map(result_of, LINES))


def test_when_one_worker_ends_by_itself_the_crew_ends(
    qm: adapter.Connection, crew: "subprocess.Popen[str]"
) -> None:
    """The queue is closed then, and the queue manager has a new crew started."""
    os.kill(children(crew.pid)[0], signal.SIGKILL)
    assert crew.wait(TIMEOUT_S) == 1


def children(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)],
        capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    return [int(one) for one in found.stdout.split()]
