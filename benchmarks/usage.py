"""CPU that processes use, user and system, by role: from /proc, of all that this process started.

A role is found by the command line; a process without one has its parent's. Figures are in
microseconds an operation. This module knows nothing of what is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

PROC = Path("/proc")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ROLES = {
    "adapter.storage.movers.process": "movers",
    "adapter.server": "queue manager",
    "peers.Load": "clients",
    "peers.Paced": "clients",
    "kafka.Kafka": "broker",
    "artemis.core.server": "Artemis",
    "beam.smp": "RabbitMQ",
    "pyspark": "spark",
    "benchmarks": "clients",
}
"""By what stands in a command line; the first that does counts."""
HERE = "this process"
MAIN_THREAD = "of it main thread"
"""Of the queue manager, which decides, applies and encodes."""

Roles = dict[int, str]


class Spent:
    """CPU seconds by role, between the two ends of `spending`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def each(self, count: int) -> dict[str, float]:
        """Microseconds of each role for one of so many operations; without what is nearly none."""
        found = {role: s * 1e6 / count for role, s in self.seconds.items()}
        return {role: us for role, us in found.items() if us >= 1}


class Used(Struct):
    """What a process has used since it began. parent: 0 if it has gone meanwhile."""

    parent: int
    cpu_s: float
    main_thread_s: float


@contextmanager
def spending() -> Iterator[Spent]:
    """Measure what is used in the block; a process must not have been waited for before its end."""
    spent = Spent()
    before = _descendants()
    roles = {pid: role for pid, role in _roles(before).items() if role}
    yield spent
    after = _descendants()
    roles = _roles(after) | roles
    for pid, used in after.items():
        earlier = before.get(pid, Used(0, 0.0, 0.0))
        role = roles[pid]
        _add(spent, role, used.cpu_s - earlier.cpu_s)
        if role == "queue manager":
            _add(spent, MAIN_THREAD, used.main_thread_s - earlier.main_thread_s)


def _add(spent: Spent, role: str, seconds: float) -> None:
    spent.seconds[role] = spent.seconds.get(role, 0.0) + seconds


def _descendants() -> dict[int, Used]:
    """This process and all below it, parents first."""
    every = {pid: used for pid in _pids() if (used := _used(pid)) is not None}
    found = {os.getpid(): every[os.getpid()]}
    while True:
        more = {p: u for p, u in every.items() if u.parent in found and p not in found}
        if not more:
            return found
        found |= more


def child(pid: int, words: str) -> int:
    """Return the child of a process that has these words in its command line."""
    for one in _pids():
        used = _used(one)
        if used is not None and used.parent == pid and words in _command(one).replace("\0", " "):
            return one
    raise LookupError(f"process {pid} has no child with {words} in its command line")


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()]


def _used(pid: int) -> Used | None:
    """None if there is no such process any more."""
    try:
        fields = _fields(PROC / str(pid) / "stat")
        main = _fields(PROC / str(pid) / "task" / str(pid) / "stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Used(int(fields[1]), _cpu_s(fields), _cpu_s(main))


def _fields(path: Path) -> list[str]:
    """The fields behind the name, which may contain anything: state, parent, ..."""
    return path.read_text().rpartition(")")[2].split()


def _cpu_s(fields: list[str]) -> float:
    return (int(fields[11]) + int(fields[12])) * TICK_S


def _roles(processes: Mapping[int, Used]) -> Roles:
    """The role of each; "" for a process that has ended and is not waited for yet."""
    found: Roles = {}
    for pid, used in processes.items():
        words = _command(pid)
        own = next((role for part, role in ROLES.items() if part in words), "")
        found[pid] = HERE if pid == os.getpid() else own or found.get(used.parent, "")
    return found


def _command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
