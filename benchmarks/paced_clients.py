"""A process that puts messages at a fixed rate, or gets them: `python -m benchmarks.paced_clients`.

A body begins with the time when it was due, on the clock that all processes of a machine share
(CLOCK_MONOTONIC; System.nanoTime() of Java has the same). A message that is put late, because the
one before took long, counts as late: a pause of the server is seen by all messages that were due
in it, and not by the one alone that was put before it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import adapter
from benchmarks.clients import AHEAD, BODY, Task, Work, run

STAMP_BYTES = 8
BEFORE_NS = 20_000_000
QUIET_S = 0.5
"""If nothing comes for so long after the last put was due, everything was got."""


def due_moments(task: Task, number: int) -> Iterator[int]:
    """Wait for each moment when a putter has to put, and give it; nanoseconds.

    Each of so many putters has every so-manieth message. At no rate it is due when it is asked for.
    """
    began = time.monotonic_ns() + BEFORE_NS
    until = began + int(task.seconds * 1e9)
    every = 1e9 * task.threads / task.rate if task.rate else 0.0
    first = began + every * number / task.threads
    for count in range(10**9):
        due = int(first + every * count) if every else time.monotonic_ns()
        if due >= until:
            return
        if (left := due - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)
        yield due


def put(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Put messages when they are due, each durable before the next one."""
    count = 0
    with adapter.connect(task.address) as qm, qm.queue(task.queue, open_for="output") as queue:
        go.wait()
        for due in due_moments(task, number):
            queue.put(due.to_bytes(STAMP_BYTES, "big") + BODY[STAMP_BYTES:])
            count += 1
    work.append(Work(count, task.seconds, []))


def get(task: Task, go: threading.Barrier, work: list[Work], *, ahead: int, commits: int) -> None:
    """Get messages, each in a unit; a message has come when the program has it."""
    took: list[int] = []
    with adapter.connect(task.address) as qm, qm.queue(task.queue, open_for="input") as queue:
        go.wait()
        until = time.monotonic_ns() + BEFORE_NS + int(task.seconds * 1e9)
        in_time = 0
        while not took or time.monotonic_ns() < until:
            for unit in queue.units(timeout=QUIET_S, prefetch=ahead, commits=commits):
                with unit:
                    now = time.monotonic_ns()
                    due = unit.messages[0].body[:STAMP_BYTES]
                    took.append(now - int.from_bytes(due, "big"))
                    in_time += now <= until
    took_ms = [ns / 1e6 for ns in took]
    work.append(Work(in_time, task.seconds, [], put_to_get_ms=took_ms))


def get_ahead(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Get with messages sent ahead, and commits in flight."""
    get(task, go, work, ahead=AHEAD, commits=AHEAD)


def get_asked(task: Task, _number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Ask for each message, and wait for each commit."""
    get(task, go, work, ahead=0, commits=1)


def sleep(task: Task, number: int, go: threading.Barrier, work: list[Work]) -> None:
    """Do nothing when messages are due: what is late is late by the machine."""
    go.wait()
    took_ms = [(time.monotonic_ns() - due) / 1e6 for due in due_moments(task, number)]
    work.append(Work(len(took_ms), task.seconds, [], put_to_get_ms=took_ms))


if __name__ == "__main__":
    run({"put": put, "ahead": get_ahead, "asked": get_asked, "sleep": sleep})
