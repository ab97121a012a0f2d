"""A queue manager's server as a process: started, killed as crashes do, looked at from outside.

It does not know what a queue manager does; it reads what the process prints and what the system
says of it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from adapter.host import launch
from adapter.host.logs import LogSettings
from adapter.localkafka import free_port
from adapter.runtime.owner.owner import QUIESCE_S
from adapter.runtime.owner.parts import HEARTBEAT_S
from adapter.server.main import Ready
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.own_schemas import NO_REGISTRY
from adapter.server.settings import ServerSettings

HOST = "127.0.0.1"
START_S = 60.0
STOP_S = 20.0
POLL_S = 0.01
CODE = 'exec "$0" -m adapter.host.program "$3" <"$1"'
LIMITED = 'ulimit -n "$2"; ' + CODE
PROGRAM, OFTEN_WRITTEN = "adapter.server.main", "tests.support.often_written"
FAILING = "tests.support.failing_steps"


class ServerProcess:
    """One queue manager on a Kafka; a context manager that leaves no process behind.

    port: 0 for a free one, which is kept across restarts. files: its limit of open files.
    options: of librdkafka's. http_port: of the endpoint for monitoring, 0 for none.
    quiesce_s: how long units are given when it is told to end. take_over: from one that is alive.
    registry, network: the settings schema_registry and network. standby: it follows another one.
    heartbeat_s: how often an idle owner writes. ledger_key_file, audit: the settings.
    environment: variables beside those of this process. often_written: it takes a snapshot and
    trims its ledger after a few entries. steps_fail: that too, and some steps of core fail.
    """

    def __init__(
        self,
        queue_manager: str,
        bootstrap_servers: str,
        folder: Path,
        *,
        host: str = HOST,
        port: int = 0,
        files: int = 0,
        options: dict[str, str] | None = None,
        http_port: int = 0,
        http_if_free: bool = False,
        quiesce_s: float = QUIESCE_S,
        take_over: bool = False,
        registry: str = NO_REGISTRY,
        network: bool = False,
        standby: bool = False,
        heartbeat_s: float = HEARTBEAT_S,
        ledger_key_file: str = "",
        audit: bool = False,
        environment: Mapping[str, str] = {},
        often_written: bool = False,
        steps_fail: bool = False,
    ) -> None:
        self.queue_manager = queue_manager
        self.port = port or free_port()
        self._output, self._settings = (folder / f"{self.port}.{kind}" for kind in ("log", "json"))
        self._command: list[str | Path] = [
            *("/usr/bin/env", *(f"{name}={value}" for name, value in environment.items())),
            *("/bin/sh", "-c", LIMITED if files else CODE),
            sys.executable,
            self._settings,
            str(files),
            FAILING if steps_fail else OFTEN_WRITTEN if often_written else PROGRAM,
        ]
        kafka = KafkaSettings(
            bootstrap_servers=bootstrap_servers,
            options=options or {},
            ledger_key_file=ledger_key_file,
        )
        settings = ServerSettings(
            queue_manager=queue_manager,
            kafka=kafka,
            host=host,
            port=self.port,
            http_port=http_port,
            http_if_free=http_if_free,
            quiesce_ms=round(quiesce_s * 1000),
            take_over=take_over,
            registry=registry,
            network=network,
            standby=standby,
            heartbeat_ms=round(heartbeat_s * 1000),
            audit=audit,
            log=LogSettings(format="text"),  # so that the only JSON is its line for programs
        )
        self._told = settings
        self.write_settings(msgspec.json.encode(settings))
        self._lives: list[launch.Child] = []
        self._begin = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for life in self._lives:
            life.kill()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of its present life."""
        return self._lives[-1].pid

    def write_settings(self, told: bytes) -> None:
        """Say what it is told on standard input from now on."""
        self._settings.write_bytes(told)

    def stand_by(self) -> None:
        """Let its next lives be a standby's."""
        self._told = msgspec.structs.replace(self._told, standby=True)
        self.write_settings(msgspec.json.encode(self._told))

    def launch(self) -> None:
        """Start it; does not wait until it serves."""
        self._begin = self._output.stat().st_size if self._output.exists() else 0
        self._lives.append(launch.start(self._command, output=self._output))

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self.launch()
        self.await_ready()

    def await_ready(self) -> Ready:
        """Wait for the line that says that it serves."""
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            for line in self.said().splitlines():
                if line.startswith('{"queue_manager":') and line.endswith("}"):
                    return msgspec.json.decode(line, type=Ready)
            assert self._lives[-1].exit_status() is None, f"it ended:\n{self.said()}"
            time.sleep(POLL_S)
        raise AssertionError(f"it does not serve:\n{self.said()}")

    def await_said(self, text: str, timeout_s: float = START_S) -> None:
        """Wait until it has logged or printed this in its present life."""
        deadline_s = time.monotonic() + timeout_s
        while text not in self.said():
            assert time.monotonic() < deadline_s, f"it did not say {text!r}:\n{self.said()}"
            time.sleep(POLL_S)

    def freeze(self) -> None:
        """SIGSTOP, as a machine that pauses does to it."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT: it goes on where it was."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, to it alone: its movers' process notices by itself, as after a crash."""
        os.kill(self.pid, signal.SIGKILL)
        assert self.await_end() == -signal.SIGKILL, self.said()

    def ask_to_end(self) -> None:
        """SIGTERM, as an operator or a service manager does."""
        os.kill(self.pid, signal.SIGTERM)

    def await_end(self, timeout_s: float = STOP_S) -> int:
        """Wait until it has ended; its exit status."""
        status = self._lives[-1].wait(timeout_s)
        assert status is not None, f"it did not end in {timeout_s} s:\n{self.said()}"
        return status

    def said(self) -> str:
        """What it printed and logged in its present life."""
        with self._output.open("rb") as file:
            file.seek(self._begin)
            return file.read().decode(errors="replace")

    def sentence(self) -> str:
        """Its last sentence for people."""
        sentences = [line for line in self.said().splitlines() if line.startswith("mqk: ")]
        assert sentences, f"it said no sentence:\n{self.said()}"
        return sentences[-1].removeprefix("mqk: ")

    def movers_pid(self) -> int:
        """The process id of its movers; fails if they do not run."""
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and _parent_and_command(folder) == (self.pid, "movers"):
                return int(folder.name)
        raise AssertionError(f"no movers run:\n{self.said()}")

    def rss_bytes(self) -> int:
        """Memory that it has in use."""
        return self._memory("VmRSS")

    def peak_rss_bytes(self) -> int:
        """The most memory that it had in use since forget_peak()."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        """Count the peak from now on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def open_files(self) -> int:
        """How many files and sockets it has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def _memory(self, name: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"{name} is not told of process {self.pid}")


def _parent_and_command(folder: Path) -> tuple[int, str]:
    """The parent of a process, and "movers" if it is one of movers."""
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
        parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return 0, ""  # it has ended meanwhile
    return int(parent), "movers" if b"adapter.storage.movers.process" in words else ""
