"""Tests of coroutines: each runs in a loop of asyncio and in one of uvloop."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import cast

import pytest
import uvloop

import adapter
from tests.support.loopback import Loopback, loopback

TEST_S = 60.0

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function, to its end or for a bounded time."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    factory = cast("LoopFactory", pyfuncitem.funcargs["loops"])
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(asyncio.wait_for(pyfuncitem.obj(**given), TEST_S))
    return True


@pytest.fixture(
    autouse=True, params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def loops(request: pytest.FixtureRequest) -> LoopFactory:
    made: LoopFactory = request.param
    return made


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A scripted queue manager with a queue Q."""
    with loopback() as running:
        with adapter.connect(running.address) as qm:
            qm.define_queue("Q")
        yield running
