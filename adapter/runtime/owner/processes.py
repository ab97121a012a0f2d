"""Processes of this machine, as Linux tells them: which one runs, and whether it has ended.

A process id alone does not name a process: ids are used again, and a container counts its own. So a
process is marked by its id and the moment of its start, and a machine by its boot and by who counts
the ids. It must not know what the processes do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adapter.host.launch import status_of

PROC = Path("/proc")
MARK_BYTES = 4
NOBODY = bytes(MARK_BYTES)
"""The mark of a process that does not run."""
GONE_STATES = ("Z", "X", "x")  # a zombie runs no more
STATE, PARENT, STARTED = 0, 1, 19  # places in what follows the name


def machine(proc: Path = PROC) -> bytes:
    """Mark this machine since it was started, and its processes as they are seen from here.

    Returns b"" on a system that does not tell.
    """
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_bytes().decode("ascii")
        counted_by = str((proc / "self/ns/pid").readlink())
    except OSError:
        return b""
    return _mark(boot, counted_by)


def process(pid: int, proc: Path = PROC) -> bytes:
    """Mark a process by its id and its start; NOBODY if it runs no more."""
    try:
        status = _status(pid, proc)
    except OSError:
        return NOBODY
    return NOBODY if status[STATE] in GONE_STATES else _mark(str(pid), status[STARTED])


def running(proc: Path = PROC) -> Iterator[int]:
    """The ids of all processes, as they are seen from here."""
    return (int(folder.name) for folder in proc.iterdir() if folder.name.isdigit())


def are_all_seen(proc: Path = PROC) -> bool:
    """Whether this process sees those of other users, and not its own alone (hidepid of /proc,
    ProtectProc= of systemd): the first one of all is root's.
    """
    try:
        _status(1, proc)
    except OSError:
        return False
    return True


def children(pid: int, proc: Path = PROC) -> Iterator[int]:
    """The ids of the processes that a process has started and that have not left it."""
    for one in running(proc):
        with suppress(OSError):  # it has ended meanwhile
            if _status(one, proc)[PARENT] == str(pid):
                yield one


def _status(pid: int, proc: Path) -> list[str]:
    return status_of(proc / str(pid))


def _mark(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()[:MARK_BYTES]
