"""What a program hears when its connection has been made again: on_reconnect= of connect().

This module makes no link; it knows that there is another.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar
from weakref import ref

from msgspec import Struct

from adapter.connection.channel import arguments as a
from adapter.connection.channel.calls_in_turn import CallsInTurn
from adapter.connection.channel.link.port import NewLink, NoLink
from adapter.errors import ConnectionClosed, InvalidType

log = logging.getLogger("adapter.client")

ConnectionT = TypeVar("ConnectionT")


class Reconnected(Struct, Generic[ConnectionT], frozen=True, eq=False):
    """What on_reconnect= is called with when a lost connection has been made again.

    connection: the one that connect() returned. address: where the queue manager is now. away_s:
    seconds since the connection was lost. count: how often it has been made again. reason: why it
    was lost.
    """

    connection: ConnectionT
    address: str
    away_s: float
    count: int
    reason: str


OnReconnect = Callable[[Reconnected[ConnectionT]], object]


def as_on_reconnect(
    value: OnReconnect[ConnectionT] | None, *, may_await: bool
) -> OnReconnect[ConnectionT] | None:
    """Take a function, or None. may_await: it may be a coroutine function."""
    if value is not None and not callable(value):
        raise InvalidType(f"on_reconnect is a function or None, not {a.shown(value)}")
    if not may_await and inspect.iscoroutinefunction(value):
        raise InvalidType(
            f"on_reconnect is a plain function here, not the coroutine function {a.shown(value)}: "
            "use adapter.aio.connect(), or a function that waits for nothing"
        )
    return value


def _refuse_awaitable(called: object) -> None:
    """Raise what is wrong with a function that returns what nothing here can await."""
    if inspect.iscoroutine(called):
        called.close()
    raise InvalidType(
        f"on_reconnect returned {a.shown(called)}, which nothing awaits: use "
        "adapter.aio.connect(), or a function that waits for nothing"
    )


def reconnection(connection: ConnectionT, link: NewLink) -> Reconnected[ConnectionT]:
    """Say of a connection which link it has now."""
    return Reconnected(connection, link.address, link.away_s, link.count, link.reason)


def log_failed_call(error: BaseException) -> None:
    """Say that on_reconnect raised an error; if the connection was closed meanwhile, that is no
    trouble."""
    level = logging.INFO if isinstance(error, ConnectionClosed) else logging.ERROR
    log.log(level, "on_reconnect failed, and the connection goes on without it", exc_info=error)


class ReconnectCalls(Generic[ConnectionT]):
    """Calls a function of the program for each new link of a connection, in a thread of its own.

    The thread begins with the first new link. The connection is not kept: what keeps this, as a
    thread that renews tokens, is to end when the program drops it.
    """

    def __init__(self, call: OnReconnect[ConnectionT], connection: ConnectionT) -> None:
        self._call = call
        self._find = ref(connection)
        self._calls = CallsInTurn("on-reconnect")

    def note(self, link: NewLink | NoLink | None) -> None:
        """Have the function called if there is a new link; for the thread that connects."""
        if not isinstance(link, NewLink):
            return
        try:
            self._calls.begin()
        except RuntimeError as error:  # there are too many threads, or the program ends
            log_failed_call(error)
            return
        self._calls.add(partial(self._make, link))

    def end(self) -> None:
        """Call no more: the connection is closed, or the garbage collector takes it."""
        self._calls.end()

    __del__ = end

    def _make(self, link: NewLink) -> None:
        connection = self._find()
        if connection is None:
            return
        try:
            called = self._call(reconnection(connection, link))
            if inspect.isawaitable(called):
                _refuse_awaitable(called)
        except BaseException as error:  # noqa: BLE001 -- it is the program's, or sys.exit(): logged
            log_failed_call(error)
