"""Instructions that a process executes, counted by valgrind's callgrind, and where they are spent.

A process is started under `command()` and counts nothing until `count()` says so, through vgdb,
which comes with valgrind. Each count ends with a dump: a file for each of the process's threads. A
count does not depend on the clock of the machine, or on what else runs there. It depends on the
versions of Python, of the libraries and of the C compiler. This module knows nothing of what is
measured.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

MISSING = "valgrind is not installed (Debian: apt-get install valgrind)"
CONTROL_S = 60.0
CALLERS = 3
_NAMED = re.compile(r"\((\d+)\)(?: (.*))?")


class Calls(Struct):
    """Calls of a function by another: how many, and what they cost with all that they called."""

    count: int = 0
    cost: int = 0


class Profile(Struct):
    """What was counted: instructions of each function alone, and of each pair (caller, callee)."""

    alone: dict[str, int] = {}
    calls: dict[tuple[str, str], Calls] = {}

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.alone.values())

    def callers(self, name: str) -> list[tuple[str, Calls]]:
        """Return who called a function, the dearest first."""
        found = [(one, calls) for (one, called), calls in self.calls.items() if called == name]
        return sorted(found, key=lambda pair: -pair[1].cost)


def missing() -> str:
    """Say what this machine lacks for counting, or ""."""
    return "" if shutil.which("valgrind") and shutil.which("vgdb") else MISSING


def version() -> str:
    """Return the version of valgrind."""
    done = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def command(folder: Path) -> tuple[str, ...]:
    """Return what comes before a command whose instructions are to be counted, also its children's.

    folder: where the dumps of all these processes are written.
    """
    return (
        *("valgrind", "--tool=callgrind", "--quiet", "--trace-children=yes", "--vgdb=yes"),
        *("--instr-atstart=no", "--separate-threads=yes"),
        f"--callgrind-out-file={folder}/%p",
    )


@contextmanager
def count(pid: int, folder: Path) -> Iterator[Counted]:
    """Count what a process executes in the block; the profiles are there after it."""
    counted = Counted(folder, pid)
    _control(pid, "instrumentation", "on")
    yield counted
    _control(pid, "instrumentation", "off")
    before = counted.files()
    _control(pid, "dump", "counted")
    counted.made = counted.files() - before


class Counted:
    """The dumps of one count."""

    def __init__(self, folder: Path, pid: int) -> None:
        self._folder = folder
        self._pid = pid
        self.made: set[Path] = set()

    def files(self) -> set[Path]:
        """Return the dumps that the process has made till now."""
        return set(self._folder.glob(f"{self._pid}.*"))

    def main_thread(self) -> Profile:
        """Of the thread that the process began with."""
        return _of(path for path in self.made if path.name.endswith("-01"))

    def all_threads(self) -> Profile:
        """Of the whole process."""
        return _of(self.made)


def _of(paths: Iterable[Path]) -> Profile:
    found = Profile()
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as lines:
            read(lines, found)
    return found


def _control(pid: int, *words: str) -> None:
    told = ["vgdb", f"--pid={pid}", "--wait=10", *words]
    subprocess.run(told, check=True, capture_output=True, timeout=CONTROL_S)


def read(lines: Iterable[str], into: Profile) -> None:
    """Add a dump in callgrind's format, one event a line, to a profile.

    A function's name is written once, with a number, and is a number later. The line behind
    `calls=` is the cost of these calls; other lines of figures are the function's own.
    """
    names: dict[str, str] = {}
    caller = callee = ""
    called = 0
    for line in lines:
        key, equals, value = line.rstrip("\n").partition("=")
        if key == "fn":
            caller = _name(value, names)
        elif key == "cfn":
            callee = _name(value, names)
        elif key == "calls":
            called = int(value.split()[0])
        elif not equals and line[:1] in "0123456789+-*" and len(words := line.split()) > 1:
            cost = int(words[-1])
            if called:
                known = into.calls.setdefault((caller, callee), Calls())
                known.count += called
                known.cost += cost
            else:
                into.alone[caller] = into.alone.get(caller, 0) + cost
            called = 0


def _name(value: str, names: dict[str, str]) -> str:
    found = _NAMED.fullmatch(value)
    if found is None:
        return value
    number, name = found.groups()
    if name is not None:
        names[number] = name
    return names[number]


def dearest(profile: Profile, times: int, most: int = 20) -> list[str]:
    """Describe the functions that cost most by themselves, a line each, and who calls them.

    times: how often what was counted was done; all figures are for one time.
    """
    first = sorted(profile.alone.items(), key=lambda pair: -pair[1])[:most]
    lines = []
    for name, cost in first:
        lines.append(f"{cost / times:10,.0f}  {name}")
        lines += [
            f"{'':12}{calls.cost / times:10,.0f} in {calls.count / times:6.1f} calls of {caller}"
            for caller, calls in profile.callers(name)[:CALLERS]
        ]
    return lines
