"""The function that a worker calls with each message: found by its name, and called.

Only the operator who starts the worker names it; no name that comes from a queue gets here.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from adapter.aio import connection as aio
from adapter.client.connection import Connection
from adapter.client.message import Message
from adapter.client.work import WorkBooks, has_ended_itself
from adapter.connection.channel.arguments import shown_error
from adapter.errors import InvalidOption

log = logging.getLogger("adapter.workers")

Handler = Callable[..., Any]
"""Takes a message, or a message and its unit."""

RETURNS_AWAITABLE = (
    "define the function with `async def`, also if it only wraps another one, and await it there"
)
RETURNS_GENERATOR = "run it to its end in the function"

_connection: ContextVar[Connection | aio.Connection | None] = ContextVar(
    "worker_connection", default=None
)


def worker_connection() -> Any:
    """Return the connection of the worker whose function is running; what it puts is in the unit.

    For a function it is an adapter.Connection, for a coroutine function an adapter.aio.Connection,
    so that `await worker_connection().put(...)` is in the unit too. Raises InvalidOption elsewhere.
    """
    found = _connection.get()
    if found is None:
        raise InvalidOption(
            "worker_connection() is for functions that a worker calls, in the same thread or task"
        )
    return found


def load(named: str) -> Handler:
    """Import the function that MODULE:FUNCTION names; modules of the current folder come first.

    Raises InvalidOption, with what is wrong in one sentence.
    """
    module, colon, path = named.partition(":")
    if not (colon and module and path):
        raise InvalidOption(f"{named!r} is not MODULE:FUNCTION, such as shop.orders:handle")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as problem:
        raise InvalidOption(
            f"module {module} cannot be imported: {shown_error(problem)}{_where(problem)}"
        ) from problem
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidOption(f"module {module} has no function {path}")
        found = getattr(found, part)
    return check(found, named)


def check(function: object, named: str) -> Handler:
    """Refuse what cannot be called with a message, or a message and its unit."""
    if not callable(function):
        raise InvalidOption(f"{named} is not a function, but a {type(function).__name__}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidOption(
            f"{named} is a generator function, which a call does not run: use no yield"
        )
    takes_unit(function, named)
    return function


def takes_unit(function: Handler, named: str = "the function") -> bool:
    """Whether a function takes the unit, too: a second parameter without default, or named unit."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # one that is written in C
        return False
    by_place = [
        one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    required = [one for one in by_place if one.default is one.empty]
    only_by_name = [
        one for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty
    ]
    takes_any = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    if len(required) > 2 or only_by_name or not (by_place or takes_any):
        raise InvalidOption(
            f"{named} is called with a message, or with a message and its unit: it cannot be, as "
            f"it takes {inspect.signature(function)}"
        )
    return len(required) == 2 or (len(by_place) > 1 and by_place[1].name == "unit")


def is_coroutine_function(function: Handler) -> bool:
    """Whether calling a function makes a coroutine; also a method, a partial or an object."""
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


class Calls:
    """The calls of one thread or task, which they are made in."""

    def __init__(self, function: Handler, qm: Connection | aio.Connection) -> None:
        """qm: what worker_connection() returns in this thread or task."""
        self._function = function
        self._takes_unit = takes_unit(function)
        _connection.set(qm)

    def call(self, message: Message, unit: WorkBooks) -> Any:
        """Call the function, in the unit that is open here; return what it returns."""
        return self._function(message, unit) if self._takes_unit else self._function(message)


def failed_behind(unit: WorkBooks, error: Exception) -> bool:
    """Note that a function has failed behind the end of its unit, which it has ended itself; False
    if it has not: then the unit is to be left with the error.

    What the unit did stays, and the loop goes on.
    """
    if not has_ended_itself(unit):
        return False
    unit.failed, unit.error = True, error
    log.warning(
        "the function has failed behind the end of its unit, which stays as the function has "
        "ended it",
        exc_info=error,
    )
    return True


def unfinished(result: object) -> str:
    """Say why what a function has returned is work that is yet to be done; "" if it is not.

    The message has not failed then: its unit is to be backed out without counting that, and the
    process to be ended.
    """
    if inspect.isawaitable(result):
        what, remedy = "is awaited on an event loop only", RETURNS_AWAITABLE
    elif inspect.isgenerator(result) or inspect.isasyncgen(result):
        what, remedy = "runs only where it is iterated over", RETURNS_GENERATOR
    else:
        return ""
    if inspect.iscoroutine(result):
        result.close()
    return f"the function has returned a {type(result).__name__}, which {what}: {remedy}"


def _where(problem: BaseException) -> str:
    """Return where an import failed, if that is within a module of the program."""
    if isinstance(problem, SyntaxError):
        return ""  # it says so itself
    frames = traceback.extract_tb(problem.__traceback__)
    inside = [one for one in frames if "importlib" not in one.filename and one.filename != __file__]
    return f" ({inside[-1].filename}, line {inside[-1].lineno})" if inside else ""
