"""Waiting until a queue manager that was told to stop has ended, as far as this machine can tell.

A process of this machine has ended when it and those it has started, its movers', run no more: its
port and its ledger are free then. Of another machine only the port can be seen.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from adapter.command import failures
from adapter.connection.channel.addresses import Address, parse_addresses
from adapter.runtime.owner import processes

POLL_S = 0.05
LISTEN_TIMEOUT_S = 1.0


class ManagerEnd:
    """The end of one queue manager. Made while it serves: its processes are known then."""

    def __init__(self, name: str, address: str, figures: Mapping[str, Any]) -> None:
        """address: where it is connected to. That is not always where the user said: at other
        addresses are standbys, which may have led there, and will serve when it has ended.
        """
        self._name = name
        self._address = address
        self._processes = _processes(figures)

    @property
    def is_known(self) -> bool:
        """Whether it is known what to wait for."""
        return bool(self._processes or self._address)

    def wait(self, timeout_s: float) -> None:
        """Wait until it has ended; Failed says what still runs after that time. Blocking."""
        deadline_s = time.monotonic() + timeout_s
        while what := self._left():
            if time.monotonic() > deadline_s:
                raise failures.Failed(
                    f"queue manager {self._name} was told to stop, and {what} after "
                    f"{timeout_s:.0f} s: look into its log for what it waits for, and wait for its "
                    "end before you start it again"
                )
            time.sleep(POLL_S)

    def _left(self) -> str:
        """What has not ended yet, or ""."""
        if not self._processes:
            return f"{self._address} still answers" if serves(self._address) else ""
        left = [pid for pid, mark in self._processes.items() if processes.process(pid) == mark]
        if left[1:]:
            return f"its processes {', '.join(map(str, left))} still run"
        return f"its process {left[0]} still runs" if left else ""


def _processes(figures: Mapping[str, Any]) -> dict[int, bytes]:
    """The marks of its processes, by their ids; none if they are not of this machine, or unknown.

    This process itself is not waited for: a test's queue manager runs in it.
    """
    here = processes.machine().hex()
    told = figures.get("process") or {}  # not of earlier releases
    pid = int(told.get("id", 0))
    if not here or told.get("machine") != here or pid == os.getpid():
        return {}
    found = {one: processes.process(one) for one in (pid, *processes.children(pid))}
    return {one: mark for one, mark in found.items() if mark != processes.NOBODY}


def serves(address: str) -> bool:
    """Whether a queue manager still listens there. One that is slow to answer does."""
    return bool(address) and any(_listens(one) for one in parse_addresses(address))


def _listens(where: Address) -> bool:
    try:
        if where.path:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(LISTEN_TIMEOUT_S)
                sock.connect(where.path)
        else:
            socket.create_connection((where.host, where.port), LISTEN_TIMEOUT_S).close()
    except TimeoutError:
        return True
    except OSError:
        return False
    return True
