"""The connection of each process of a broker, and its errors in the names of dramatiq.

dramatiq's command line imports the broker, and then starts processes: a forked one must not use the
connection of its parent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dramatiq.errors import ConnectionClosed

import adapter
from adapter.errors import BackedOut, ConnectionBroken, InDoubt
from adapter.frameworks.processes import EachProcess


class _OfProcess:
    """The connection of one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: adapter.Connection | None = None


class ProcessConnection:
    """A connection that is made when it is first used, once in each process."""

    def __init__(self, options: dict[str, Any]) -> None:
        """options: the arguments of adapter.connect()."""
        self._options = options
        self._each: EachProcess[_OfProcess] = EachProcess(_OfProcess)

    def get(self) -> adapter.Connection:
        """Return the connection of this process."""
        mine = self._each.mine()
        with mine.lock:
            if mine.connection is None or mine.connection.is_closed:
                mine.connection = adapter.connect(**self._options)
            return mine.connection

    def close(self) -> None:
        """Close the connection of this process; the next use makes another."""
        mine = self._each.mine()
        with mine.lock:
            closing, mine.connection = mine.connection, None
        if closing is not None:
            closing.close()


@contextmanager
def in_dramatiqs_names() -> Iterator[None]:
    """Raise ConnectionClosed, which dramatiq knows how to wait for, if the connection is lost."""
    try:
        yield
    except (ConnectionBroken, BackedOut, InDoubt) as error:
        raise ConnectionClosed(str(error)) from error  # type: ignore[no-untyped-call]
