"""A broker and a queue manager as its own process, and client processes to set on it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

import adapter
from adapter.server.kafka_wiring import KafkaSettings
from adapter.server.main import Ready, ServerSettings
from benchmarks.clients import Task, Work

SERVER = """import sys
from adapter.server import main
main.SWITCH_INTERVAL_S = float(sys.argv[1]) / 1000
main.main()"""
CAUGHT_UP_S = 120.0


class Running:
    """A queue manager as a process of its own, on one port through all its lives.

    switch_interval_ms: as shipped, if not said.
    """

    def __init__(self, bootstrap: str, name: str, switch_interval_ms: float = 0.0) -> None:
        self._command = [sys.executable, "-m", "adapter.server.main"]
        if switch_interval_ms:
            self._command = [sys.executable, "-c", SERVER, str(switch_interval_ms)]
        self._settings = ServerSettings(
            queue_manager=name, kafka=KafkaSettings(bootstrap_servers=bootstrap), port=0
        )
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(self._settings))
        self._process.stdin.close()
        ready = msgspec.json.decode(self._process.stdout.readline(), type=Ready)
        self._settings.port = ready.port
        self.address = f"{ready.host}:{ready.port}"

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait(30)

    def stop(self) -> None:
        """End it cleanly."""
        self._process.terminate()
        self._process.wait(30)


@contextmanager
def started(bootstrap: str, name: str, switch_interval_ms: float = 0.0) -> Iterator[Running]:
    """Run a queue manager on a Kafka."""
    running = Running(bootstrap, name, switch_interval_ms)
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def queue_manager(bootstrap: str, name: str, switch_interval_ms: float = 0.0) -> Iterator[str]:
    """Run a queue manager on a Kafka; yields its address."""
    with started(bootstrap, name, switch_interval_ms) as running:
        yield running.address


def caught_up_s(address: str) -> float:
    """Wait until the movers have copied all there is; how long that took."""
    began = time.monotonic()
    with adapter.connect(address) as qm:
        while any(mover["lag_records"] for mover in qm.figures()["movers"].values()):
            if time.monotonic() - began > CAUGHT_UP_S:
                raise RuntimeError(f"the movers have not caught up in {CAUGHT_UP_S} s")
            time.sleep(0.02)
    return time.monotonic() - began


def run_clients(tasks: list[Task], program: str = "benchmarks.clients") -> list[Work]:
    """Run one process a task, all started together; returns every client's work."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in tasks
    ]
    for process, task in zip(processes, tasks, strict=True):
        _tell(process, msgspec.json.encode(task).decode())
    for process in processes:
        _line(process)
    for process in processes:
        _tell(process, "go")
    work: list[Work] = []
    for process in processes:
        work += msgspec.json.decode(_line(process), type=list[Work])
        process.wait(30)
    return work


def _tell(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"a client process ended with status {process.wait(30)}")
    return line
