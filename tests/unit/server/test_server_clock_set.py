"""The machine's clock is set under a running queue manager: a process of its own is asked."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import adapter
from adapter.errors import NoReply

HOUR_S, DAY_S = 3600, 86_400
WAIT_S = 30.0
NEAR = timedelta(minutes=5)


class Manager:
    """The process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process, self._said = process, process.stdout
        self.address = self._said.readline().strip()

    def step(self, seconds: float) -> None:
        """Set its time of day."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"step {seconds}\n")
        self._process.stdin.flush()
        assert self._said.readline() == "stepped\n"


@pytest.fixture
def manager() -> Iterator[Manager]:
    command = [sys.executable, "-m", "tests.support.stepped_process"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Manager(process)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(WAIT_S)
        finally:
            process.kill()


def test_waits_end_and_put_times_are_of_the_day(manager: Manager) -> None:
    with adapter.connect(manager.address) as qm:
        qm.define_queue("Q")
        queue = qm.queue("Q")
        ahead_s = 0
        for step_s in (-HOUR_S, HOUR_S + DAY_S, -DAY_S):
            began_s = time.monotonic()
            waits = threading.Thread(target=queue.get, kwargs={"timeout": 0.5})
            waits.start()
            while waits.is_alive() and not queue.status().waiting_gets:
                assert time.monotonic() < began_s + WAIT_S
            manager.step(step_s)
            ahead_s += step_s
            waits.join(WAIT_S)
            assert not waits.is_alive()
            with pytest.raises(NoReply):
                queue.request(b"anybody?", timeout=0.1)
            assert time.monotonic() < began_s + WAIT_S
            put_time = queue.put(b"x", expiry_s=2 * DAY_S).put_time
            assert abs(put_time - datetime.now(UTC) - timedelta(seconds=ahead_s)) < NEAR
            queue.purge()


def test_what_expires_does_so_by_the_day(manager: Manager) -> None:
    with adapter.connect(manager.address) as qm:
        qm.define_queue("Q")
        manager.step(DAY_S)
        qm.put("Q", b"put while the clock was ahead", expiry_s=0.1)
        manager.step(-DAY_S)
        assert qm.queue("Q").depth() == 1
        qm.put("Q", b"short", expiry_s=60)
        manager.step(61)
        message = qm.get("Q")
        assert message is not None
        assert message.body.startswith(b"put while")
        assert qm.get("Q") is None
