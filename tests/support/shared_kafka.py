"""One broker for all processes of a test run: the first one has it, the others ask for its address.

Brokers are the greater part of what a run with Kafka costs, and names of topics are unique anyway.
The process that pytest was started as serves a socket; the broker is started when a test first asks
for it, and ends with that process. It must not know what tests do with the broker.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Lock, Thread
from typing import Protocol

from msgspec import Struct

from adapter.localkafka import LocalKafka, LocalKafkaError

PATIENT = {"broker.session.timeout.ms": "60000", "broker.heartbeat.interval.ms": "1000"}
"""A broker that is not heard of leads nothing until it is: alone, nobody leads in its place, and
a busy machine keeps it from being heard of for seconds."""


class AnyKafka(Protocol):
    """A running Kafka, of this process or not: what most tests need of one."""

    @property
    def bootstrap_servers(self) -> str: ...


class SharedKafka(Struct, frozen=True):
    """A running broker. No test may stop, kill or pause it, or have a proxy before it: the fixture
    killable_kafka is for that.
    """

    bootstrap_servers: str


class KafkaOfTheRun:
    """The broker of a run and the socket where processes ask for it; in pytest's first process."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mqk-run-"))
        self.address = str(self._folder / "kafka")
        self._kafka = LocalKafka(settings=PATIENT)
        self._is_started = False
        self._lock = Lock()
        self._listener = Listener(self.address, family="AF_UNIX", backlog=8)
        Thread(target=self._serve, daemon=True, name="kafka of the run").start()

    def get(self) -> SharedKafka:
        """Start the broker if it is not there yet; raises LocalKafkaError."""
        with self._lock:
            if not self._is_started:
                self._kafka.start()
                self._is_started = True
            return SharedKafka(self._kafka.bootstrap_servers)

    def close(self) -> None:
        """End the broker, and answer nobody any more."""
        with suppress(OSError):
            self._listener.close()
        with self._lock:  # not amid a start
            self._kafka.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                with self._listener.accept() as asking:
                    self._answer(asking)

    def _answer(self, asking: Connection) -> None:
        try:
            found = ("", self.get().bootstrap_servers)
        except LocalKafkaError as problem:
            found = (str(problem), "")
        with suppress(OSError):  # whoever asked has ended
            asking.send(found)


def ask(address: str) -> SharedKafka:
    """Return the broker of the run, from another process of it; raises LocalKafkaError."""
    with Client(address, family="AF_UNIX") as asking:
        problem, bootstrap_servers = asking.recv()
    if problem:
        raise LocalKafkaError(problem)
    return SharedKafka(bootstrap_servers)
