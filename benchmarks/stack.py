"""A broker and a queue manager as its own process, and client processes to set on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

import adapter
from adapter.server.main import Ready
from benchmarks.clients import Task, Work
from benchmarks.usage import Spent, spending
from native import target

SERVER = """import sys
from adapter.server import main
main.SWITCH_INTERVAL_S = float(sys.argv[1]) / 1000
main.main()"""
CAUGHT_UP_S = 120.0


class Code(Struct, frozen=True):
    """The code that queue managers and clients run: a folder with the packages, and a Python.

    compiled: a folder with some of the packages, which come before those. All of them come before
    what is installed in that Python. prefix: a command that runs the Python. variables: of the
    environment, beside those that are there.
    """

    folder: Path
    python: str = sys.executable
    compiled: Path | None = None
    prefix: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}

    def command(self, *arguments: str) -> list[str]:
        """Return what runs Python with these arguments."""
        return [*self.prefix, self.python, "-P", *arguments]

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of its processes."""
        folders = filter(None, (self.compiled, self.folder))
        path = os.pathsep.join(map(str, folders))
        return {**os.environ, **self.variables, "PYTHONPATH": path}


HERE = Code(Path(__file__).parents[1])


def compiled_here() -> Code | None:
    """This code with its compiled modules; None unless `make compiled` has made them of it."""
    folder = target.usable()
    return None if folder is None else msgspec.structs.replace(HERE, compiled=folder)


def code_in(folder: Path) -> Code:
    """The code of another checkout, with the Python of its .venv if it has one."""
    python = folder / ".venv/bin/python"
    return Code(folder, str(python) if python.exists() else sys.executable)


class Running:
    """A queue manager as a process of its own, on one port through all its lives.

    switch_interval_ms: as shipped, if not said. settings: further ones, of ServerSettings. log: the
    file that its log goes to, if it is kept.
    """

    def __init__(
        self,
        bootstrap: str,
        name: str,
        switch_interval_ms: float = 0.0,
        code: Code = HERE,
        settings: Mapping[str, object] = {},
        log: Path | None = None,
    ) -> None:
        self._code = code
        self._log = log
        self._command = code.command("-m", "adapter.host.program", "adapter.server.main")
        if switch_interval_ms:
            self._command = code.command("-c", SERVER, str(switch_interval_ms))
        self._settings = {
            "queue_manager": name, "kafka": {"bootstrap_servers": bootstrap}, "port": 0,
        } | dict(settings)  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves, or stands by."""
        with (self._log or Path(os.devnull)).open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._code.folder,
                env=self._code.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(self._settings))
        self._process.stdin.close()
        ready = msgspec.json.decode(self._process.stdout.readline(), type=Ready)
        self._settings["port"] = ready.port
        self.host = ready.host
        self.address = f"{ready.host}:{ready.port}"

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self.await_end()

    def stop(self) -> None:
        """End it cleanly."""
        self._process.terminate()
        self.await_end()

    def await_end(self) -> None:
        """Wait until it has ended."""
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def stand_by(self) -> None:
        """Start it as a standby, and wait until it follows the owner."""
        self._settings["standby"] = True
        self.start()


@contextmanager
def started(
    bootstrap: str,
    name: str,
    switch_interval_ms: float = 0.0,
    code: Code = HERE,
    settings: Mapping[str, object] = {},
) -> Iterator[Running]:
    """Run a queue manager on a Kafka."""
    running = Running(bootstrap, name, switch_interval_ms, code, settings)
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def queue_manager(
    bootstrap: str, name: str, switch_interval_ms: float = 0.0, code: Code = HERE
) -> Iterator[str]:
    """Run a queue manager on a Kafka; yields its address."""
    with started(bootstrap, name, switch_interval_ms, code) as running:
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


class Done(Struct):
    """Every client's work, and what it cost, by role."""

    work: list[Work]
    spent: Spent

    @property
    def rate(self) -> float:
        """Operations a second of all clients together."""
        return sum(one.count / one.seconds for one in self.work)

    @property
    def cpu_us(self) -> dict[str, float]:
        """What each role used for one operation."""
        return self.spent.each(sum(one.count + one.warm_up for one in self.work))


class Program(Struct, frozen=True):
    """A client process: it prints "ready", waits for a line, and prints its Works as JSON.

    task: the line that it reads before, if it reads one.
    """

    command: list[str]
    task: str = ""
    folder: Path | None = None
    environment: Mapping[str, str] | None = None


def run_clients(tasks: list[Task], program: str = "clients", code: Code = HERE) -> Done:
    """Run one process a task, all started together. program: a file of this folder."""
    command = code.command(str(Path(__file__).parent / f"{program}.py"))
    return run_programs(
        [
            Program(command, msgspec.json.encode(task).decode(), code.folder, code.environment)
            for task in tasks
        ]
    )


def run_programs(programs: list[Program]) -> Done:
    """Run client processes, all started together."""
    processes = [
        subprocess.Popen(
            program.command,
            cwd=program.folder,
            env=program.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for program in programs
    ]
    for process, program in zip(processes, programs, strict=True):
        if program.task:
            tell(process, program.task)
    for process in processes:
        line(process)
    with spending() as spent:
        for process in processes:
            tell(process, "go")
        lines = [line(process) for process in processes]
    for process in processes:
        with process:
            process.wait(30)
    work = [one for line in lines for one in msgspec.json.decode(line, type=list[Work])]
    return Done(work, spent)


def tell(process: subprocess.Popen[str], text: str) -> None:
    """Write a line to a client process."""
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


def line(process: subprocess.Popen[str]) -> str:
    """Read a line of a client process; raises RuntimeError if it has ended instead."""
    assert process.stdout is not None
    found = process.stdout.readline()
    if not found:
        raise RuntimeError(f"a client process ended with status {process.wait(30)}")
    return found
