"""`make instructions`: instructions of a round trip in the queue manager, its mover and a client.

    python -m benchmarks.instructions [--check]

A round trip is a unit of two puts and a unit of two gets of 2 KB. Instructions are counted by
callgrind, so that figures can be compared where times cannot: on a busy machine, and from one day
to another. They are those of one Python, one C compiler and one set of libraries.

--check counts one figure, which takes less than a minute, and fails if it has risen by more than
5 % over the one in results.json. It counts again before it fails: on a busy machine a round trip
takes longer, and what timers do meanwhile is counted with it, so that the least count is the best.
Where valgrind is not installed nothing is counted, and a line says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import confluent_kafka
import msgspec
from msgspec import Struct

import adapter
from adapter.localkafka import LocalKafka
from adapter.storage.movers.settings import STREAM
from benchmarks import callgrind
from benchmarks.callgrind import Counted, Profile
from benchmarks.counted_clients import PATIENT_S, CountedTask
from benchmarks.results import RESULTS, Row, Rows, save, show
from benchmarks.stack import HERE, Code, Running, caught_up_s, compiled_here, line, started, tell
from benchmarks.usage import child
from native import target

PART = "instructions"
ABOUT = "instructions of a round trip in the queue manager, the mover and a client"
RISE_MAX = 1.05
COUNTS_MAX = 3
"""How often a check counts before it fails."""
QUEUE = "COUNTED"
MOVERS = "adapter.storage.movers.process"
WARM_UP = 208
"""Round trips before those that are counted: what is done once is done then."""
END_S = 60.0
LOOK_S = 0.05
CHECKED = "qm-waiting"

Counting = Callable[[int], AbstractContextManager[Counted]]
"""What is entered while a load's round trips are done. Given the process of the clients."""


class Load(Struct, frozen=True):
    """Round trips whose instructions are counted. limit: the target of the compiled modules."""

    about: str
    kind: str
    count: int
    threads: int = 1
    limit: float = 0.0


class Figure(Struct, frozen=True):
    """What was counted for a load."""

    load: Load
    profile: Profile

    @property
    def instructions(self) -> int:
        """Of one round trip."""
        return round(self.profile.total / self.load.count)


QUEUE_MANAGER = {
    "qm-waiting": Load("queue manager, every verb waits", "waiting", 200, limit=350_000),
    "qm-deferred": Load("queue manager, puts deferred", "deferred", 200, limit=250_000),
    "qm-16": Load("queue manager, every verb waits, 16 clients", "waiting", 640, 16, 250_000),
}
"""Of the main thread."""
MOVER = {"mover": Load("mover that catches up", "waiting", 640, 16)}
CLIENT = {
    "client-waiting": Load("client, every verb waits", "waiting", 300, limit=200_000),
    "client-flight": Load("client, 8 units ahead, commits in flight", "in flight", 300, 1, 150_000),
}


def measure(bootstrap: str) -> Rows:
    """Count everything: in Python, and with the compiled modules if they were made."""
    if callgrind.missing():
        print(f"nothing is counted: {callgrind.missing()}", file=sys.stderr)
        return {}
    compiled = compiled_here()
    if compiled is None:
        print("compiled modules are not counted: `make compiled` makes them", file=sys.stderr)
    rows: Rows = {}
    for name, code in (("pure", HERE), ("compiled", compiled)):
        for key, figure in counted(bootstrap, name, code).items() if code is not None else ():
            limit = figure.load.limit if code is compiled else 0.0
            row = Row(f"{figure.load.about}, {name}", "instr", limit=limit)
            row.runs.append(figure.instructions)
            rows[f"{key}-{name}"] = row
            print(f"\n{row.name}: {figure.instructions:,}; the dearest functions:", file=sys.stderr)
            print(*callgrind.dearest(figure.profile, figure.load.count), sep="\n", file=sys.stderr)
    return rows


def counted(bootstrap: str, name: str, code: Code) -> dict[str, Figure]:
    """Count each load."""
    with counted_queue_manager(bootstrap, f"{name}1", code) as (running, folder):
        found = {
            key: count_queue_manager(running, folder, load, code)
            for key, load in QUEUE_MANAGER.items()
        }
        for key, load in MOVER.items():
            found[key] = count_mover(running, folder, load, code)
    with started(bootstrap, f"{name}2".upper(), code=code) as running:
        define_queue(running)
        for key, load in CLIENT.items():
            found[key] = count_client(running, load, code)
    return found


@contextmanager
def counted_queue_manager(bootstrap: str, name: str, code: Code) -> Iterator[tuple[Running, Path]]:
    """Run a queue manager whose instructions can be counted; yields also where they go."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        with started(bootstrap, name.upper(), code=under_callgrind(code, folder)) as running:
            define_queue(running)
            yield running, folder


def under_callgrind(code: Code, folder: Path) -> Code:
    """Return code that runs under callgrind. Hashes are the same in each run."""
    prefix = ("env", "PYTHONHASHSEED=0", *callgrind.command(folder))
    return msgspec.structs.replace(code, prefix=prefix)


def define_queue(running: Running) -> None:
    """Define the queue that all loads use."""
    with adapter.connect(running.address, heartbeat_s=PATIENT_S) as qm:
        qm.define_queue(QUEUE)


def count_queue_manager(running: Running, folder: Path, load: Load, code: Code) -> Figure:
    """Count what the queue manager's main thread executes."""
    done = work(running.address, load, code, lambda _: callgrind.count(running.pid, folder))
    return Figure(load, done.main_thread())


def count_client(running: Running, load: Load, code: Code) -> Figure:
    """Count what a process of clients executes, in all its threads."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        watched = under_callgrind(code, folder)
        done = work(running.address, load, watched, lambda pid: callgrind.count(pid, folder))
        return Figure(load, done.all_threads())


def count_mover(running: Running, folder: Path, load: Load, code: Code) -> Figure:
    """Count what the mover executes to copy what was done while it was frozen.

    So its transactions are as large as they can be, and as many in each count.
    """
    caught_up_s(running.address)
    mover = child(running.pid, MOVERS)

    @contextmanager
    def frozen(_: int) -> Iterator[Counted]:
        with (
            callgrind.count(mover, folder) as counted,
            adapter.connect(running.address, heartbeat_s=PATIENT_S) as qm,
        ):
            before = qm.figures()["movers"][STREAM]["copied"]
            os.kill(mover, signal.SIGSTOP)
            try:
                yield counted
            finally:
                os.kill(mover, signal.SIGCONT)
            await_copies(qm, before + 2 * load.count)

    return Figure(load, work(running.address, load, code, frozen).all_threads())


def await_copies(qm: adapter.Connection, wanted: int) -> None:
    """Wait until so many messages are copied."""
    until_s = time.monotonic() + END_S
    while qm.figures()["movers"][STREAM]["copied"] < wanted:
        if time.monotonic() > until_s:
            raise RuntimeError(f"the mover has not copied everything in {END_S:.0f} s")
        time.sleep(LOOK_S)


def work(address: str, load: Load, code: Code, counting: Counting) -> Counted:
    """Have clients do a load; its round trips are counted, without those that warm up."""
    task = CountedTask(address, load.kind, QUEUE, WARM_UP, load.count, load.threads)
    command = code.command("-m", "benchmarks.counted_clients")
    with subprocess.Popen(
        command, env=code.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        tell(process, msgspec.json.encode(task).decode())
        line(process)
        with counting(process.pid) as counted:
            tell(process, "go")
            line(process)
        tell(process, "end")
        process.wait(END_S)
    return counted


def versions() -> dict[str, str]:
    """Return what the figures depend on beside the code."""
    if callgrind.missing():
        return {}
    return {
        "valgrind": callgrind.version(),
        "python": f"{platform.python_version()} {platform.python_compiler()}",
        "compiler": target.c_compiler().partition("] ")[2].partition("\n")[0],
        "mypy": metadata.version("mypy"),
        "msgspec": msgspec.__version__,
        "librdkafka": confluent_kafka.libversion()[0],
        "uvloop": metadata.version("uvloop"),
    }


class Comparison(Struct, frozen=True):
    """What a figure is beside the recorded one. may_be: it has not risen too much."""

    may_be: bool
    text: str


def compared(found: int, recorded: Mapping[str, Any], now: Mapping[str, str]) -> Comparison:
    """Compare a figure. recorded: results.json. now: the versions that the figure depends on."""
    about = recorded["measured"].get(PART, {})
    others = [f"{name} {about.get(name)}" for name, one in now.items() if about.get(name) != one]
    if others:
        text = f"{found:,} instructions; {RESULTS.name} has figures of {', '.join(others)}"
        return Comparison(True, f"{text}: nothing is compared")
    row = recorded["parts"][PART].get(f"{CHECKED}-compiled")
    if row is None:
        text = f"{found:,} instructions; {RESULTS.name} has none of compiled modules"
        return Comparison(True, f"{text}: nothing is compared")
    rise = found / row["median"]
    text = (
        f"{row['name']}: {found:,} instructions, {rise:.3f} of the {row['median']:,.0f} "
        f"in {RESULTS.name}"
    )
    if rise <= RISE_MAX:
        return Comparison(True, text)
    cure = f"more than {RISE_MAX}: make it cheaper, or record the new one (make instructions)"
    return Comparison(False, f"{text}, {cure}")


def check() -> str:
    """Count one figure, and compare it; returns what is wrong, or ""."""
    code = compiled_here()
    if code is None or callgrind.missing():
        why = callgrind.missing() or "the compiled modules are not made (make compiled)"
        print(f"instructions were not counted: {why}")
        return ""
    recorded, least = json.loads(RESULTS.read_text()), sys.maxsize
    with LocalKafka() as kafka:
        for number in range(COUNTS_MAX):
            with counted_queue_manager(kafka.bootstrap_servers, f"C{number}", code) as counts:
                figure = count_queue_manager(*counts, QUEUE_MANAGER[CHECKED], code)
            least = min(least, figure.instructions)
            found = compared(least, recorded, versions())
            print(found.text)
            if found.may_be:
                return ""
    return f"none of {COUNTS_MAX} counts is within {RISE_MAX} of what is recorded"


def main() -> None:
    """Count everything and record it, or check."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare one figure with results.json")
    if parser.parse_args().check:
        sys.exit(check() or None)
    if callgrind.missing():
        print(f"nothing is counted: {callgrind.missing()}")
        return
    with LocalKafka() as kafka:
        rows = measure(kafka.bootstrap_servers)
    save(PART, rows, versions())
    show(rows, f"{PART}: {ABOUT}")


if __name__ == "__main__":
    main()
