"""A real trigger monitor starts real programs when the queue manager says so, through all kills."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
import adapter.testing
from adapter.mqi import TriggerMessage
from tests.support.shared_kafka import AnyKafka

TIMEOUT_S = 60.0
WORKER = """
import os, sys
import adapter
from adapter.mqi import TriggerMessage

trigger = TriggerMessage.from_argv(sys.argv)
done = trigger.user_data
with adapter.connect(os.environ["MQK_QMGR"], queue_manager=trigger.queue_manager) as qm:
    with qm.queue(trigger.queue, open_for="input") as source:
        found = True
        while found:
            with qm.unit():
                message = source.get(timeout=0.2)
                found = message is not None
                if found:
                    qm.put(done, message)
"""


class Monitor:
    """`mqk trigger-monitor` in a process of its own, that serves a queue."""

    def __init__(self, manager: adapter.testing.TestQueueManager, qm: adapter.Connection) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "adapter.cli", "trigger-monitor", "-q", "INITQ"],
            stderr=subprocess.PIPE, text=True, env=os.environ | {"MQK_QMGR": manager.address},
        )  # fmt: skip
        await_that(lambda: qm.queue("INITQ").status().open_input_count == 1)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send it a signal; returns its status and what it said."""
        self._process.send_signal(number)
        _, said = self._process.communicate(timeout=TIMEOUT_S)
        return self._process.returncode, said

    def kill_at_last(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate(timeout=TIMEOUT_S)


def await_that(check: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not check():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.fixture(params=["memory", "kafka"])
def manager(
    request: pytest.FixtureRequest, unique_name: Callable[..., str]
) -> Iterator[adapter.testing.TestQueueManager]:
    """The same in memory and on a real Kafka."""
    kafka: AnyKafka | None = request.getfixturevalue("kafka") if request.param == "kafka" else None
    servers = kafka.bootstrap_servers if kafka is not None else None
    with adapter.testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as running:
        yield running


@pytest.fixture
def qm(manager: adapter.testing.TestQueueManager, tmp_path: Path) -> Iterator[adapter.Connection]:
    """A queue whose first message starts a worker, which puts what it gets on the queue DONE."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    with manager.connect() as connection:
        for name in ("INITQ", "DONE", "DEAD"):
            connection.define_queue(name)
        connection.alter_queue_manager(dead_letter_queue="DEAD")
        connection.define_process("WORKER", appl_id=f"{sys.executable} {worker}", user_data="DONE")
        connection.define_queue(
            "WORK", trigger_control=True, trigger_type="FIRST", initiation_queue="INITQ",
            process="WORKER",
        )  # fmt: skip
        yield connection


@pytest.fixture
def start(
    manager: adapter.testing.TestQueueManager, qm: adapter.Connection
) -> Iterator[Callable[[], Monitor]]:
    monitors: list[Monitor] = []

    def begin() -> Monitor:
        monitors.append(Monitor(manager, qm))
        return monitors[-1]

    yield begin
    for monitor in monitors:
        monitor.kill_at_last()


def worked(qm: adapter.Connection, *bodies: str) -> None:
    """Wait until the worker has done just these, in this order, and has closed its queue."""
    for body in bodies:
        message = qm.get("DONE", timeout=TIMEOUT_S)
        assert message is not None
        assert message.body.decode() == body
    await_that(lambda: qm.queue("WORK").status().open_input_count == 0)
    assert qm.queue("DONE").depth() == 0


def test_work_is_done_whatever_is_killed(
    manager: adapter.testing.TestQueueManager,
    qm: adapter.Connection,
    start: Callable[[], Monitor],
) -> None:
    first = start()
    with qm.unit():
        for body in ("a", "b", "c"):
            qm.put("WORK", body)
    worked(qm, "a", "b", "c")

    assert first.end(signal.SIGKILL)[0] == -signal.SIGKILL
    await_that(lambda: qm.queue("INITQ").status().open_input_count == 0)
    qm.put("WORK", "while no monitor was there")
    assert qm.queue("INITQ").depth() == 0
    second = start()
    worked(qm, "while no monitor was there")

    manager.crash()
    manager.start()
    await_that(lambda: qm.queue("INITQ").status().open_input_count == 1)
    qm.put("WORK", "after a restart")
    worked(qm, "after a restart")

    status, said = second.end(signal.SIGTERM)
    assert status == 0, said
    assert said.count("started program") == 2
    assert said.splitlines()[-1] == "mqk: the trigger monitor has ended"
    assert qm.queue("DEAD").depth() == 0


def test_what_cannot_be_started_is_a_dead_letter(
    qm: adapter.Connection, start: Callable[[], Monitor]
) -> None:
    qm.define_process("WORKER", appl_id="/nowhere/worker", env_data="&", replace=True)
    monitor = start()
    qm.put("WORK", "a")
    message = qm.get("DEAD", timeout=TIMEOUT_S)
    assert message is not None
    assert message.dead_letter is not None
    assert (message.feedback, message.dead_letter.reason) == (265, 265)
    assert message.dead_letter.destination == "INITQ"
    assert TriggerMessage.from_bytes(message.body).queue == "WORK"
    status, said = monitor.end(signal.SIGINT)
    assert status == 130
    assert "/nowhere/worker" in said
