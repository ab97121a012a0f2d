"""How soon a crowd of clients is back after a take-over: an owner that is killed, and its standby.

    python -m benchmarks.crowd [--clients 2000] [--idle 10] [--frozen]

Each client has a session with a recorded outcome, and waits for a message. Printed are the CPU that
idle connections cost, when the first and the last client were back, what that cost, and the memory
of the new owner. --frozen: the owner is stopped (SIGSTOP), and noticed by its silence.

The clients are processes of this machine: with two cores it is they that take most of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

import adapter
from adapter import aio
from adapter.localkafka import LocalKafka
from benchmarks.stack import HERE, Running, line, tell

PROCESSES = 4
AT_ONCE = 100
"""Connections that a process makes at a time, in the beginning."""
BACK_S = 120.0
QUEUE = "CROWD"
SPARE_FILES = 256


class Came(Struct):
    """When the clients of one process came back. away_s: of each, by its own clock."""

    away_s: list[float]
    cpu_s: float


def run_clients(addresses: str, count: int) -> None:
    """Be one process of clients: told what to do on standard input."""
    logging.getLogger("adapter.client").setLevel(logging.ERROR)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    asyncio.run(_clients(addresses, count))


async def _clients(addresses: str, count: int) -> None:
    back: asyncio.Queue[float] = asyncio.Queue()
    turns = asyncio.Semaphore(AT_ONCE)

    async def connect() -> aio.Connection:
        async with turns:
            qm = await aio.connect(
                addresses,
                connect_timeout_s=60.0,
                reconnect_timeout_s=BACK_S,
                on_reconnect=lambda new: back.put_nowait(new.away_s),
            )
            await qm.put(QUEUE, b"x")  # durable: a session with an outcome
            return qm

    connections = await asyncio.gather(*(connect() for _ in range(count)))
    gets = [asyncio.create_task(qm.get("SILENT", timeout=None)) for qm in connections]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    before = time.process_time()
    assert not any(one.done() for one in gets)
    away_s = [await back.get() for _ in range(count)]
    came = Came(away_s, time.process_time() - before)
    print(json.dumps({"away_s": came.away_s, "cpu_s": came.cpu_s}), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    os._exit(0)  # nobody looks at how they end


@contextmanager
def processes(addresses: str, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Run the processes of clients."""
    with ExitStack() as stack:
        found = []
        for at in range(PROCESSES):
            share = count // PROCESSES + (at < count % PROCESSES)
            command = HERE.command("-m", "benchmarks.crowd", "--of", addresses, str(share))
            process = subprocess.Popen(
                command,
                env=HERE.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.kill)
            found.append(process)
        yield found


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd", description=__doc__)
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--idle", type=float, default=10.0, help="seconds for which they are idle")
    parser.add_argument(
        "--frozen", action="store_true", help="stop the owner instead of killing it"
    )
    parser.add_argument("--of", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.of:
        run_clients(given.of[0], int(given.of[1]))
        return
    with LocalKafka() as kafka:
        measure(kafka.bootstrap_servers, given.clients, given.idle, frozen=given.frozen)


def measure(bootstrap: str, count: int, idle_s: float, *, frozen: bool) -> None:
    """Kill or stop the owner of so many clients, and print what followed."""
    settings = {"heartbeat_ms": 1000}
    owner = Running(bootstrap, "CROWD", settings=settings)
    standby = Running(bootstrap, "CROWD", settings={**settings, "standby": True})
    try:
        with adapter.connect(owner.address) as qm:
            qm.define_queue(QUEUE)
            qm.define_queue("SILENT")
        began_s = time.monotonic()
        with processes(f"{owner.address},{standby.address}", count) as clients:
            for one in clients:
                line(one)
            took_s = time.monotonic() - began_s
            print(f"{count} clients connected in {took_s:.1f} s")
            _show_idle(owner, idle_s)
            before_s, memory = _cpu_s(standby.pid), _rss_mb(standby.pid)
            os.kill(owner.pid, signal.SIGSTOP if frozen else signal.SIGKILL)
            for one in clients:
                tell(one, "go")
            came = [json.loads(line(one)) for one in clients]
            away_s = sorted(each for one in came for each in one["away_s"])
            cpu_s = _cpu_s(standby.pid) - before_s, sum(one["cpu_s"] for one in came)
            print(
                f"back: first {away_s[0]:.2f} s, median {away_s[len(away_s) // 2]:.2f} s, "
                f"last {away_s[-1]:.2f} s; CPU of the new owner {cpu_s[0]:.1f} s, of the clients "
                f"{cpu_s[1]:.1f} s; the new owner has {_rss_mb(standby.pid):.0f} MB, it had "
                f"{memory:.0f}"
            )
            _show_idle(standby, idle_s)
    finally:
        os.kill(owner.pid, signal.SIGKILL)
        standby.stop()


def _show_idle(running: Running, idle_s: float) -> None:
    before_s = _cpu_s(running.pid)
    time.sleep(idle_s)
    used = (_cpu_s(running.pid) - before_s) / idle_s if idle_s else 0.0
    print(f"idle: the owner uses {used:.2f} of a core, and has {_rss_mb(running.pid):.0f} MB")


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    for each in Path(f"/proc/{pid}/status").read_text().splitlines():
        if each.startswith("VmRSS:"):
            return int(each.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
