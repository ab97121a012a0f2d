"""How long messages are under way at a fixed rate, put to get, beside RabbitMQ and Artemis.

The load is open: messages are due at fixed moments, and their latencies count from then. A closed
load, whose clients wait for an answer before they go on, puts nothing during a pause of the server,
and so sees each pause once; here every message that was due in it is late.

All servers are measured at the same rates: shares of what the slowest of them does, where messages
are got in the same mode. A program has a rate of its own, whatever the server could do; and each at
shares of its own best would measure fast servers under a load that the others never saw.
"""

from __future__ import annotations

import functools
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from msgspec import Struct

import adapter
from benchmarks.clients import Task
from benchmarks.peers import servers
from benchmarks.peers.variants import JavaPrograms, installed, java_programs
from benchmarks.results import Row, Rows, show
from benchmarks.stack import (
    HERE,
    Code,
    Done,
    compiled_here,
    queue_manager,
    run_clients,
    run_programs,
)

QUEUE = "LATENCY"
CLIENTS = "paced_clients"
MODES = {"ahead": "prefetch", "asked": "every verb waits"}
"""How messages are got."""
POLLED = {"RabbitMQ"}
"""Whose clients can wait for messages only if these are sent ahead."""
OF_ALL = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
LIMIT_MS = 10.0
"""Of p99.9 at half of what the slowest does."""


class Amount(Struct, frozen=True):
    """How much is measured.

    modes: how messages are got. putters: connections that put, each waiting for every put. shares:
    of what the slowest does, in percent. before_s: how long every way is run before, because Java
    compiles while it runs, the broker's too. most_s: for finding out what each does. warm_up_s: of
    the Java clients each time.
    """

    runs: int = 3
    modes: tuple[str, ...] = tuple(MODES)
    putters: int = 8
    shares: tuple[int, ...] = (25, 50, 75)
    seconds: float = 5.0
    before_s: float = 8.0
    most_s: float = 3.0
    warm_up_s: float = 2.0


AMOUNT = Amount()


class Way(Struct, frozen=True):
    """One way to put and get, on one server.

    mode: how messages are got, of MODES. measure: at so many messages a second, or 0 for as many as
    it can, for so many seconds.
    """

    key: str
    name: str
    mode: str
    measure: Callable[[float, float], Done]


class Passed(Struct):
    """What one measurement found: messages a second that were got, and latencies in order."""

    rate: float
    ms: list[float]
    cpu_us: Mapping[str, float]

    def of_all(self, share: float) -> float:
        """Return the latency that such a share of the messages had at most."""
        return self.ms[min(int(len(self.ms) * share), len(self.ms) - 1)]


def measure(
    bootstrap: str, amount: Amount = AMOUNT, peers: Sequence[servers.Peer] = servers.PEERS
) -> Rows:
    """What each does, then every way at each rate in turn, in every other run backwards."""
    with running(bootstrap, amount, peers) as ways:
        rows = {f"{way.key}-most": Row(f"{way.name}: as fast as it can", "msg/s") for way in ways}
        for way in ways:
            most = passed(way.measure(0, amount.most_s))
            rows[f"{way.key}-most"].note(most.rate, most.cpu_us)
        ways = [*sleepers(amount), *ways]
        rows |= dict(rows_of(ways, amount))
        for run in range(amount.runs):
            for share in amount.shares:
                for way in ways[:: -1 if run % 2 else 1]:
                    rate = slowest(rows, ways, way.mode) * share / 100
                    rows[f"{way.mode}-rate-{share}"].runs[run:] = [rate]
                    note(rows, f"{way.key}-{share}", passed(way.measure(rate, amount.seconds)))
            show(rows, f"after run {run + 1} of {amount.runs}")
    print(f"\n{table(rows, ways, amount)}", file=sys.stderr, flush=True)
    return rows


def slowest(rows: Rows, ways: list[Way], mode: str) -> float:
    """What the slowest does in a mode, in messages a second."""
    found = [rows.get(f"{way.key}-most") for way in ways if way.mode == mode]
    return min(row.median for row in found if row is not None)


def rows_of(ways: list[Way], amount: Amount) -> Iterator[tuple[str, Row]]:
    """The figures of every way at each rate; ours beside Artemis at half."""
    keys = {way.key for way in ways}
    for share in amount.shares:
        for mode in amount.modes:
            name = f"{MODES[mode]}: {share} % of what the slowest does"
            yield f"{mode}-rate-{share}", Row(name, "msg/s")
        for way in ways:
            for of in OF_ALL:
                row = Row(f"{way.name}: {share} %, {of}", "ms")
                other = f"artemis-{way.mode}"
                if share == 50 and of == "p99.9" and way.key.startswith("mqk"):
                    row.limit = LIMIT_MS
                    if other in keys:
                        row.against, row.at_most = f"{other}-{share}-{of}", 1.0
                yield f"{way.key}-{share}-{of}", row


def note(rows: Rows, key: str, found: Passed) -> None:
    """Add a run."""
    for of, share in OF_ALL.items():
        rows[f"{key}-{of}"].runs.append(found.of_all(share))


def passed(done: Done) -> Passed:
    """Put together what clients have done; everything that was put must have been got."""
    got = [ms for work in done.work for ms in work.put_to_get_ms]
    getters = [work for work in done.work if work.put_to_get_ms]
    put = sum(work.count for work in done.work if not work.put_to_get_ms)
    if put and put != len(got):
        raise RuntimeError(f"{put} messages were put, and {len(got)} were got")
    rate = sum(work.count / work.seconds for work in getters)
    return Passed(rate, sorted(got), done.spent.each(len(got)))


@contextmanager
def running(bootstrap: str, amount: Amount, peers: Sequence[servers.Peer]) -> Iterator[list[Way]]:
    """Start every server that this machine has; prints which ones it lacks."""
    ways: list[Way] = []
    with ExitStack() as stack:
        for code in filter(None, (HERE, compiled_here())):
            name = "LATENCYC" if code.compiled else "LATENCY"
            address = stack.enter_context(queue_manager(bootstrap, name, code=code))
            ways += ours(address, amount, code)
        programs = stack.enter_context(java_programs())
        for peer in installed(peers):
            port = stack.enter_context(peer.running(fsync=False))
            ways += others(peer, port, programs, amount)
        if amount.before_s:
            for way in ways:
                way.measure(0, amount.before_s)
        yield ways


def ours(address: str, amount: Amount, code: Code) -> list[Way]:
    """The SDK's clients: one process with all putters, and one that gets."""
    with adapter.connect(address) as qm:
        qm.define_queue(QUEUE)
    system = "mqk compiled" if code.compiled else "mqk"

    def measure_mode(mode: str, rate: float, seconds: float) -> Done:
        task = Task(address=address, kind=mode, queue=QUEUE, seconds=seconds, rate=rate)
        putting = Task(
            address=address,
            kind="put",
            queue=QUEUE,
            threads=amount.putters,
            seconds=seconds,
            rate=rate,
        )
        return run_clients([task, putting], CLIENTS, code)

    return [
        Way(
            f"{system.replace(' ', '-')}-{mode}",
            f"{system}, {MODES[mode]}",
            mode,
            functools.partial(measure_mode, mode),
        )
        for mode in amount.modes
    ]


def others(peer: servers.Peer, port: int, programs: JavaPrograms, amount: Amount) -> list[Way]:
    """The Java clients of a peer, in one process."""

    def measure_mode(mode: str, rate: float, seconds: float) -> Done:
        arguments = [peer.name.lower(), str(port), mode, QUEUE, str(amount.putters)]
        arguments += [str(rate), str(amount.warm_up_s), str(seconds)]
        return run_programs([programs("peers.Paced", *arguments)])

    return [
        Way(
            f"{peer.name.lower()}-{mode}",
            f"{peer.name}, {MODES[mode]}",
            mode,
            functools.partial(measure_mode, mode),
        )
        for mode in amount.modes
        if mode == "ahead" or peer.name not in POLLED
    ]


def sleepers(amount: Amount) -> list[Way]:
    """As many threads as there are putters that only sleep until messages are due."""

    def measure_sleep(rate: float, seconds: float) -> Done:
        task = Task(
            address="", kind="sleep", queue="", threads=amount.putters, seconds=seconds, rate=rate
        )
        return run_clients([task], CLIENTS)

    name = "threads that only sleep"
    return [Way(f"sleep-{mode}", name, mode, measure_sleep) for mode in amount.modes]


def table(rows: Rows, ways: list[Way], amount: Amount) -> str:
    """The medians as a table of Markdown for each mode."""
    lines = []
    for mode in amount.modes:
        rates = [rows[f"{mode}-rate-{share}"].median for share in amount.shares]
        heads = [
            f"{share} %: {rate:,.0f} msg/s"
            for share, rate in zip(amount.shares, rates, strict=True)
        ]
        lines += [
            f"| {MODES[mode]}; ms: {', '.join(OF_ALL)} | as fast as it can | {' | '.join(heads)} |",
            "|---|---|" + "---|" * len(heads),
            *(line(rows, way, amount) for way in ways if way.mode == mode),
            "",
        ]
    return "\n".join(lines)


def line(rows: Rows, way: Way, amount: Amount) -> str:
    """One way's line of the table."""
    most = rows.get(f"{way.key}-most")
    cells = [f"{most.median:,.0f} msg/s" if most else ""]
    for share in amount.shares:
        found = [statistics.median(rows[f"{way.key}-{share}-{of}"].runs) for of in OF_ALL]
        cells.append(" · ".join(f"{ms:.1f}" for ms in found))
    return f"| {way.name} | {' | '.join(cells)} |"
