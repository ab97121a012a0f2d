"""The web service of examples/fastapi under load: answers a second, and how late its loop is.

32 clients ask for a price, each again when it has its answer. An answer takes a request and a reply
by way of a queue, whose workers are tasks of the service. A heartbeat beside the service
(benchmarks/heartbeat.py) tells whether anything blocks its event loop.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec
from msgspec import Struct

import adapter
from adapter.localkafka.ports import free_port
from benchmarks.heartbeat import Lateness
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager
from tests.support.pinned import install

TOP = Path(__file__).parents[1]
RUNS = 3
CLIENTS = 32
SECONDS = 5.0
WARM_UP_S = 1.0
START_S = 30.0
STOP_S = 10.0
POLL_S = 0.05
LATE_MS_MAX = 20.0
ORDER = {"customer": "Ada", "widgets": 2}
QUEUES = ("SHOP.ORDERS", "SHOP.QUESTIONS")


class Load(Struct):
    """What clients have seen: answers a second, how long each took, and the loop's lateness."""

    rate: float
    took_ms: list[float]
    late: Lateness


def measure(bootstrap: str, runs: int = RUNS, seconds: float = SECONDS) -> Rows:
    """Answers a second, their latency, and the heartbeat's lateness while they are given."""
    rows: Rows = {
        "rate": Row(f"answers a second, {CLIENTS} clients", "/s"),
        "p50": Row("answer, p50", "ms"),
        "p99": Row("answer, p99", "ms"),
        "late-p99": Row("heartbeat late, p99", "ms"),
        "late-max": Row("heartbeat late, max", "ms", limit=LATE_MS_MAX),
        "late-any": Row("the same, with the time without a core, max", "ms"),
    }
    with TemporaryDirectory() as folder, queue_manager(bootstrap, "WEB") as address:
        site = install(Path(folder), "fastapi", "uvicorn")
        define_queues(address)
        for run in range(runs):
            with service(address, site) as shop:
                asyncio.run(load(shop.url, WARM_UP_S))
                got = asyncio.run(load(shop.url, seconds))
            percentiles = statistics.quantiles(got.took_ms, n=100)
            late = got.late
            lates = (late.p99_ms, late.max_ms, late.any_max_ms)
            figures = (got.rate, percentiles[49], percentiles[98], *lates)
            for row, figure in zip(rows.values(), figures, strict=True):
                row.runs.append(figure)
            show(rows, f"after run {run + 1} of {runs}")
    return rows


def define_queues(address: str) -> None:
    """Define the queues of the service."""
    with adapter.connect(address) as qm:
        for name in QUEUES:
            qm.define_queue(name, replace=True)


class Service:
    """The service with a heartbeat, as a process: at url."""

    def __init__(self, address: str, site: str, settings: Mapping[str, str]) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "uvicorn", "--no-access-log", "--log-level", "warning"),
                *("--app-dir", str(TOP / "examples" / "fastapi"), "--port", str(port)),
                *("--factory", "benchmarks.heartbeat:application"),
            ],
            cwd=TOP,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join((str(TOP), site)),
                "MQK_QMGR": address,
                "HEARTBEAT_APP": "shop:app",
                **settings,
            },
        )

    async def wait_until_up(self) -> None:
        """Wait until it serves."""
        until_s = time.monotonic() + START_S
        async with aiohttp.ClientSession(self.url) as session:
            while True:
                with suppress(aiohttp.ClientConnectionError):
                    async with session.get("/health") as answer:
                        if answer.status == 200:
                            return
                if self._process.poll() is not None or time.monotonic() > until_s:
                    raise RuntimeError("the service has not started")
                await asyncio.sleep(POLL_S)

    def terminate(self) -> None:
        """Ask it to stop, when it has answered what it was asked."""
        self._process.terminate()

    def end(self) -> int:
        """See that it ends; returns its exit status."""
        self.terminate()
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(STOP_S)


@contextmanager
def service(address: str, site: str, **settings: str) -> Iterator[Service]:
    """Run the service on the queue manager at an address, and stop it by SIGTERM at the end.

    site: a folder with FastAPI and uvicorn. settings: its environment.
    """
    running = Service(address, site, settings)
    try:
        asyncio.run(running.wait_until_up())
        yield running
    finally:
        status = running.end()
    if status != -signal.SIGTERM:  # uvicorn raises it again when everything is closed
        raise RuntimeError(f"the service ended with {status}")


async def load(url: str, seconds: float, clients: int = CLIENTS) -> Load:
    """Have clients ask for so many seconds, each again when it has its answer."""
    took_ms: list[float] = []
    async with aiohttp.ClientSession(url) as session:
        await lateness(session)
        began_s = time.monotonic()

        async def ask() -> None:
            while (now_s := time.monotonic()) < began_s + seconds:
                async with session.post("/prices", json=ORDER) as answer:
                    assert await answer.json() == {"price": "6 EUR"}
                took_ms.append(1000 * (time.monotonic() - now_s))

        await asyncio.gather(*(ask() for _ in range(clients)))
        rate = len(took_ms) / (time.monotonic() - began_s)
        return Load(rate, took_ms, await lateness(session))


async def lateness(session: aiohttp.ClientSession) -> Lateness:
    """Ask how late the heartbeats were since this was asked last."""
    async with session.get("/heartbeat") as answer:
        return msgspec.json.decode(await answer.read(), type=Lateness)
