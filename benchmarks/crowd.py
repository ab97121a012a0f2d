"""How soon a crowd of clients is back: its owner is killed, stopped or switched to a standby.

    python -m benchmarks.crowd [--clients 2000] [--working 50] [--idle 10] [--fault kill]

Each client has a session with a recorded outcome. Some work: they put numbered messages, one unit
each; the others wait for a message each. Printed are the CPU that idle connections cost, when the
first and the last client were back, what that cost, and the memory of the new owner. Then each that
waits is sent its message, and what is on the queue is compared with what those who put were told.

--fault freeze: the owner is stopped (SIGSTOP), and noticed by its silence; switch: it is planned.

The clients are processes of this machine: with two cores it is they that take most of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

import adapter
from adapter import aio
from adapter.localkafka import LocalKafka
from benchmarks.numbered import Judgement, judge
from benchmarks.stack import HERE, Running, line, tell

PROCESSES = 4
AT_ONCE = 100
"""Connections that a process makes at a time, in the beginning."""
BACK_S = 120.0
BETWEEN_S = 0.1
"""Between two units of a client that works."""
QUEUE, NUMBERED, SILENT = "CROWD", "NUMBERED", "SILENT"


class Back(Struct):
    """When the clients of one process came back. away_s: of each, by its own clock."""

    away_s: list[float]
    cpu_s: float


class Told(Struct):
    """What the working clients of one process were told. put: of each, by its name. failed: units
    that were done again; unknown: those whose outcome nobody could say.
    """

    put: dict[str, int] = {}
    failed: int = 0
    unknown: int = 0


class Crowd(Struct, frozen=True):
    """What became of a crowd. away_s: how long each was away, in order. put, failed, judgement: of
    those who worked.
    """

    away_s: list[float]
    put: int
    failed: int
    judgement: Judgement


class WorkingClient:
    """Puts 0, 1, 2, ... by its name, one unit each, until it is told to stop."""

    def __init__(self, qm: aio.Connection, name: str, told: Told) -> None:
        self._qm = qm
        self._name = name
        self._told = told
        told.put[name] = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Put."""
        while not stop.is_set():
            if await self._put():
                self._told.put[self._name] += 1
            else:
                self._told.failed += 1
            await asyncio.sleep(BETWEEN_S)

    async def _put(self) -> bool:
        """Whether the next number is on the queue."""
        unit = self._qm.unit()
        try:
            async with unit:
                await self._qm.put(NUMBERED, f"{self._name} {self._told.put[self._name]}")
        except adapter.BackedOut:
            return False
        except adapter.InDoubt:
            outcome = await self._qm.outcome(unit.id)
            self._told.unknown += outcome not in ("committed", "backed out")
            return outcome == "committed"
        return True


def run_clients(addresses: str, count: int, working: int) -> None:
    """Be one process of clients: told what to do on standard input."""
    logging.getLogger("adapter.client").setLevel(logging.ERROR)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    asyncio.run(_clients(addresses, count, working))


async def _clients(addresses: str, count: int, working: int) -> None:
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
    told, stop = Told(), asyncio.Event()
    names = (f"{os.getpid()}.{number}" for number in range(working))
    puts = [
        asyncio.create_task(WorkingClient(qm, name, told).run(stop))
        for qm, name in zip(connections, names, strict=False)
    ]
    gets = [asyncio.create_task(qm.get(SILENT, timeout=None)) for qm in connections[working:]]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    before = time.process_time()
    assert not any(one.done() for one in (*gets, *puts))
    away_s = [await back.get() for _ in range(count)]
    _say(Back(away_s, time.process_time() - before))
    await asyncio.to_thread(sys.stdin.readline)
    stop.set()
    async with asyncio.timeout(BACK_S):
        await asyncio.gather(*puts, *gets)
    _say(told)
    await asyncio.to_thread(sys.stdin.readline)
    os._exit(0)  # nobody looks at how they end


def _say(what: Back | Told) -> None:
    print(msgspec.json.encode(what).decode(), flush=True)


@contextmanager
def processes(addresses: str, count: int, working: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Run the processes of clients."""
    with ExitStack() as stack:
        found = []
        for at in range(PROCESSES):
            shares = (f"{each // PROCESSES + (at < each % PROCESSES)}" for each in (count, working))
            process = subprocess.Popen(
                HERE.command("-m", "benchmarks.crowd", "--of", addresses, *shares),
                env=HERE.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            found.append(process)
        yield found


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crowd", description=__doc__)
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--working", type=int, default=50, help="so many of them put messages")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds for which they are idle")
    parser.add_argument("--fault", choices=FAULTS, default="kill", help="of the owner")
    parser.add_argument("--of", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.of:
        addresses, count, working = given.of
        run_clients(addresses, int(count), int(working))
        return
    with LocalKafka() as kafka:
        measure(kafka.bootstrap_servers, given.clients, given.working, given.idle, given.fault)


def kill(owner: Running) -> None:
    """SIGKILL."""
    os.kill(owner.pid, signal.SIGKILL)


def freeze(owner: Running) -> None:
    """SIGSTOP: connections stay open."""
    os.kill(owner.pid, signal.SIGSTOP)


def switch(owner: Running) -> None:
    """Tell the owner to switch to its standby, and wait until that serves."""
    with adapter.connect(owner.address, reconnect_timeout_s=0.0) as qm:
        qm.switch_queue_manager()


FAULTS: dict[str, Callable[[Running], None]] = {"kill": kill, "freeze": freeze, "switch": switch}


def measure(bootstrap: str, count: int, working: int, idle_s: float, fault: str) -> Crowd:
    """Do something to the owner of so many clients, and print and return what followed."""
    settings = {"heartbeat_ms": 1000}
    owner = Running(bootstrap, "CROWD", settings=settings)
    try:
        standby = Running(bootstrap, "CROWD", settings={**settings, "standby": True})
        try:
            return _measure(owner, standby, count, working, idle_s, FAULTS[fault])
        finally:
            standby.kill()
    finally:
        owner.kill()


def _measure(
    owner: Running,
    standby: Running,
    count: int,
    working: int,
    idle_s: float,
    strike: Callable[[Running], None],
) -> Crowd:
    with adapter.connect(owner.address) as qm:
        for name in (QUEUE, NUMBERED, SILENT):
            qm.define_queue(name, max_depth=999_999_999)
    began_s = time.monotonic()
    with processes(f"{owner.address},{standby.address}", count, working) as clients:
        for one in clients:
            line(one)
        print(f"{count} clients connected in {time.monotonic() - began_s:.1f} s")
        _show_idle(owner, idle_s)
        before_s, memory = _cpu_s(standby.pid), _rss_mb(standby.pid)
        strike(owner)
        for one in clients:
            tell(one, "go")
        came = [msgspec.json.decode(line(one), type=Back) for one in clients]
        away_s = sorted(each for one in came for each in one.away_s)
        cpu_s = _cpu_s(standby.pid) - before_s, sum(one.cpu_s for one in came)
        print(
            f"back: first {away_s[0]:.2f} s, median {away_s[len(away_s) // 2]:.2f} s, "
            f"last {away_s[-1]:.2f} s; CPU of the new owner {cpu_s[0]:.1f} s, of the clients "
            f"{cpu_s[1]:.1f} s; the new owner has {_rss_mb(standby.pid):.0f} MB, it had "
            f"{memory:.0f}"
        )
        _show_idle(standby, idle_s)
        with adapter.connect(standby.address) as qm:
            return _judge(qm, clients, away_s, count - working)


def _judge(
    qm: adapter.Connection, clients: list[subprocess.Popen[str]], away_s: list[float], waiting: int
) -> Crowd:
    """Send a message to each that waits, and compare what those who put were told."""
    qm.queue(SILENT).put_many([b"x"] * waiting)
    for one in clients:
        tell(one, "end")
    told = [msgspec.json.decode(line(one), type=Told) for one in clients]
    found = defaultdict(list)
    for message in qm.queue(NUMBERED).browse():
        name, number = message.text.split()
        found[name].append(int(number))
    judgement = Judgement(unknown=sum(one.unknown for one in told))
    for name, put in (pair for one in told for pair in one.put.items()):
        judgement += judge(put, found[name])
    crowd = Crowd(
        away_s,
        sum(sum(one.put.values()) for one in told),
        sum(one.failed for one in told),
        judgement,
    )
    print(f"{crowd.put} messages were put, {crowd.failed} units failed: {judgement}")
    return crowd


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
