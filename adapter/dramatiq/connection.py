"""The connection of each process of a broker, and its errors in the names of dramatiq.

dramatiq's command line imports the broker, and then starts processes: a forked one must not use the
connection of its parent.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dramatiq.errors import ConnectionClosed

import adapter
from adapter.errors import BackedOut, ConnectionBroken, InDoubt


class ProcessConnection:
    """A connection that is made when it is first used, once in each process."""

    def __init__(self, options: dict[str, Any]) -> None:
        """options: the arguments of adapter.connect()."""
        self._options = options
        self._pid = 0
        self._lock = threading.Lock()
        self._connection: adapter.Connection | None = None

    def get(self) -> adapter.Connection:
        """Return the connection of this process."""
        self._begin_in_child()
        with self._lock:
            if self._connection is None or self._connection.is_closed:
                self._connection = adapter.connect(**self._options)
            return self._connection

    def close(self) -> None:
        """Close the connection of this process; the next use makes another."""
        self._begin_in_child()
        with self._lock:
            closing, self._connection = self._connection, None
        if closing is not None:
            closing.close()

    def _begin_in_child(self) -> None:
        if self._pid != os.getpid():
            self._lock = threading.Lock()
            self._connection = None
            self._pid = os.getpid()


@contextmanager
def in_dramatiqs_names() -> Iterator[None]:
    """Raise ConnectionClosed, which dramatiq knows how to wait for, if the connection is lost."""
    try:
        yield
    except (ConnectionBroken, BackedOut, InDoubt) as error:
        raise ConnectionClosed(str(error)) from error  # type: ignore[no-untyped-call]
