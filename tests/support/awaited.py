"""Waiting, in a test of tasks, for what nothing tells of: a sleep of some length is too short where
the machine is busy.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import pytest

TRIES, PAUSE_S = 2_000, 0.01


async def until(is_so: Callable[[], object | Awaitable[object]]) -> None:
    """Wait until this returns something true; it may be a coroutine function."""
    for _ in range(TRIES):
        found = is_so()
        if await found if inspect.isawaitable(found) else found:
            return
        await asyncio.sleep(PAUSE_S)
    pytest.fail("it does not come")
