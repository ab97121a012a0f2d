"""A broker and a queue manager as its own process, and client processes to set on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from adapter.server.kafka_wiring import KafkaSettings
from adapter.server.main import Ready, ServerSettings
from benchmarks.clients import Task, Work


class Running:
    """A queue manager as a process of its own, on one port through all its lives."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self._settings = ServerSettings(
            queue_manager=name, kafka=KafkaSettings(bootstrap_servers=bootstrap), port=0
        )
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "adapter.server.main"],
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
def started(bootstrap: str, name: str) -> Iterator[Running]:
    """Run a queue manager on a Kafka."""
    running = Running(bootstrap, name)
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def queue_manager(bootstrap: str, name: str) -> Iterator[str]:
    """Run a queue manager on a Kafka; yields its address."""
    with started(bootstrap, name) as running:
        yield running.address


def run_clients(tasks: list[Task]) -> list[Work]:
    """Run one process a task, all started together; returns every client's work."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.clients"],
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
