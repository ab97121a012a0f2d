"""A process full of clients, through the public SDK: `python -m benchmarks.clients`.

It reads a Task as JSON from standard input, connects every thread, prints "ready", waits for a
line, works for the given time and prints what it did as JSON.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle

import msgspec
from msgspec import Struct

import adapter

BODY = bytes(2048)
SMALL_BODY = bytes(200)
WARM_UP_S = 1.0
TRIGGERED = ".TRIGGERED"
"""What the name of a queue's triggered twin ends with."""
PACE_S = 0.002
"""Between puts whose trigger messages are awaited: the monitor is waiting again by then."""
ARRIVAL_S = 30.0
AHEAD = 8
"""Units ahead, and commits in flight."""


class Task(Struct, kw_only=True):
    """What the clients of this process do.

    kind: of the KINDS of the program. queues: how many queues the round trips take in turn, named
    by queue and a number; 0 for the one of that name. first: the number with which the first
    thread begins.
    messages: for put and get; the others work for so many seconds. rate: messages a second that
    all threads put together; 0 for as many as they can.
    """

    address: str
    kind: str
    queue: str
    queues: int = 0
    first: int = 0
    threads: int = 1
    seconds: float = 10.0
    messages: int = 0
    unit_size: int = 100
    warm_up_s: float = WARM_UP_S
    rate: float = 0.0


class Work(Struct):
    """What they did: round trips or messages, in how many seconds; latencies of commits in ms.

    moments_s: on the clock that all processes of a machine share. warm_up: how many more round
    trips were done before. put_to_get_ms: of each message, from when its put was due.
    """

    count: int
    seconds: float
    put_commit_ms: list[float]
    moments_s: list[float] = []
    warm_up: int = 0
    put_to_get_ms: list[float] = []


Client = Callable[[Task, int, threading.Barrier, list[Work]], None]
Kinds = Mapping[str, Client]


def round_trip(qm: adapter.Connection, queue: adapter.Queue) -> float:
    """A unit of two puts and a unit of two gets, each verb its own request; the put commit's ms."""
    with qm.unit():
        queue.put(BODY)
        queue.put(BODY)
        began = time.perf_counter()
    took = time.perf_counter() - began
    with qm.unit():
        queue.get()
        queue.get()
    return took * 1000


def round_trips(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """One client: warm up, then round trips until the time is over."""
    with adapter.connect(task.address) as qm:
        turns = cycle([qm.queue(name) for name in names(task, number)])
        repeat(lambda: round_trip(qm, next(turns)), task, go, work)


def repeat(once: Callable[[], float], task: Task, go: threading.Barrier, work: list[Work]) -> None:
    """Do something again and again, first to warm up; it returns how many ms a commit took."""
    go.wait()
    until = time.perf_counter() + task.warm_up_s
    warm_up = 0
    while time.perf_counter() < until:
        once()
        warm_up += 1
    latencies = []
    began = time.perf_counter()
    until = began + task.seconds
    while time.perf_counter() < until:
        latencies.append(once())
    seconds = time.perf_counter() - began
    work.append(Work(len(latencies), seconds, latencies, warm_up=warm_up))


def awaited_round_trips(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """The same with puts that are not answered and 8 units got ahead; each commit is awaited."""
    _round_trips_ahead(task, go, work, commits=1)


def round_trips_in_flight(
    task: Task, _number: int, go: threading.Barrier, work: list[Work]
) -> None:
    """The same, with 8 commits of each kind in flight."""
    _round_trips_ahead(task, go, work, commits=AHEAD)


def _round_trips_ahead(
    task: Task, go: threading.Barrier, work: list[Work], *, commits: int
) -> None:
    """Units of two puts, and of two gets; the queue has what is got ahead from the beginning."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        queue.put_many([BODY] * 2 * (AHEAD + 1))
        units = queue.units(2, prefetch=AHEAD, commits=commits)

        def round_trip_ahead() -> None:
            with qm.unit() as unit:
                queue.put(BODY, wait=False)
                queue.put(BODY, wait=False)
                unit.commit(wait=commits == 1)
            with next(units):
                pass

        go.wait()
        work.append(_counted(task, round_trip_ahead))


def _counted(task: Task, do: Callable[[], None]) -> Work:
    """Do something again and again: to warm up, and then until the time is over."""
    until = time.perf_counter() + WARM_UP_S
    warm_up = count = 0
    while time.perf_counter() < until:
        do()
        warm_up += 1
    began = time.perf_counter()
    until = began + task.seconds
    while time.perf_counter() < until:
        do()
        count += 1
    return Work(count, time.perf_counter() - began, [], warm_up=warm_up)


def names(task: Task, number: int) -> list[str]:
    """Return the queues of one client, in its order: each client begins with another."""
    if not task.queues:
        return [task.queue]
    first = task.first + number
    return [f"{task.queue}{(first + at) % task.queues}" for at in range(task.queues)]


def put_all(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Put so many messages in units."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        began = time.perf_counter()
        queue.put_many((BODY for _ in range(task.messages)), unit_size=task.unit_size)
        work.append(Work(task.messages, time.perf_counter() - began, []))


def get_all(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Get so many messages in units."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        began = time.perf_counter()
        got = _get_until(lambda count: count >= task.messages, task, queue, 30)
        work.append(Work(got, time.perf_counter() - began, []))


def _get_until(
    is_over: Callable[[int], bool], task: Task, queue: adapter.Queue, timeout_s: float
) -> int:
    """Get messages in units until it is over; how many. timeout_s: for the next one."""
    got = 0
    for unit in queue.units(size=task.unit_size, timeout=timeout_s):
        with unit:
            got += len(unit.messages)
        if is_over(got):
            break
    return got


def feed(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Put small messages in units until the time is over."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        began = time.perf_counter()
        count = queue.put_many(small_bodies(began + task.seconds), unit_size=task.unit_size)
        work.append(Work(count, time.perf_counter() - began, []))


def small_bodies(until: float) -> Iterator[bytes]:
    """Give bodies until a time."""
    while time.perf_counter() < until:
        yield SMALL_BODY


def drain(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Get messages in units until the time is over."""
    with adapter.connect(task.address) as qm, qm.queue(task.queue) as queue:
        go.wait()
        began = time.perf_counter()
        until = began + task.seconds
        got = _get_until(lambda _count: time.perf_counter() > until, task, queue, 5)
        work.append(Work(got, time.perf_counter() - began, []))


def put_in_turn(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Put messages to a queue and to its triggered twin in turn, at a pace that leaves time.

    Two Works: the first with the latencies of the plain puts, the second with those of the others
    and when each of them began.
    """
    with adapter.connect(task.address) as qm:
        plain, triggered = qm.queue(task.queue), qm.queue(task.queue + TRIGGERED)
        took: dict[adapter.Queue, list[float]] = {plain: [], triggered: []}
        moments: list[float] = []
        go.wait()
        started = time.monotonic()
        for _ in range(task.messages):
            for queue in (plain, triggered):
                time.sleep(PACE_S)
                began = time.monotonic()
                queue.put(BODY)
                took[queue].append((time.monotonic() - began) * 1000)
            moments.append(began)
        seconds = time.monotonic() - started
        work.append(Work(task.messages, seconds, took[plain]))
        work.append(Work(task.messages, seconds, took[triggered], moments))


def arrivals(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Get so many trigger messages from an initiation queue; when each arrived."""
    moments: list[float] = []
    with adapter.connect(task.address) as qm, qm.queue(task.queue, open_for="input") as queue:
        go.wait()
        while len(moments) < task.messages:
            assert queue.get(timeout=ARRIVAL_S) is not None
            moments.append(time.monotonic())
    work.append(Work(len(moments), moments[-1] - moments[0], [], moments))


KINDS: Kinds = {
    "rt": round_trips,
    "rt ahead": awaited_round_trips,
    "rt in flight": round_trips_in_flight,
    "put": put_all,
    "get": get_all,
    "feed": feed,
    "drain": drain,
    "in turn": put_in_turn,
    "arrivals": arrivals,
}


def run(kinds: Kinds) -> None:
    """Run the task that standard input names."""
    task = msgspec.json.decode(sys.stdin.readline(), type=Task)
    sys.setswitchinterval(0.0005)
    go = threading.Barrier(task.threads + 1)
    work: list[Work] = []
    threads = [
        threading.Thread(target=kinds[task.kind], args=(task, number, go, work))
        for number in range(task.threads)
    ]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    go.wait()
    for thread in threads:
        thread.join()
    print(msgspec.json.encode(work).decode(), flush=True)


if __name__ == "__main__":
    run(KINDS)
