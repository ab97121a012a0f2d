"""Tokens that a function of the program returns: the event loop goes on while it takes its time."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import adapter.aio
from adapter import testing
from adapter.connection.channel import renewal
from adapter.errors import InvalidType
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.tokens import Issuer, settings

TAKES_S = 0.6
LASTS_S = 3.0


@pytest.fixture(scope="module")
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def manager(issuer: Issuer, tmp_path: Path) -> Iterator[TestQueueManager]:
    path = tmp_path / "keys.pem"
    path.write_bytes(issuer.pem)
    with testing.queue_manager(tokens=settings(path)) as one:
        yield one


class SlowProvider:
    """A token function that blocks its thread."""

    def __init__(self, issuer: Issuer) -> None:
        self.asked = 0
        self._issuer = issuer

    def __call__(self) -> str:
        self.asked += 1
        time.sleep(TAKES_S)
        return self._issuer.token(lasts_s=LASTS_S + self.asked)

    def wait_for(self, count: int) -> None:
        """Wait until it has been asked so often."""
        while self.asked < count:
            time.sleep(0.05)


@asynccontextmanager
async def loop_goes_on() -> AsyncIterator[None]:
    """Refuse that the event loop stands still meanwhile."""
    longest_s, last_s = 0.0, time.monotonic()

    async def tick() -> None:
        nonlocal longest_s, last_s
        while True:
            await asyncio.sleep(0.01)
            longest_s = max(longest_s, time.monotonic() - last_s)
            last_s = time.monotonic()

    ticking = asyncio.create_task(tick())
    try:
        yield
        await asyncio.sleep(0.02)
    finally:
        ticking.cancel()
    assert longest_s < TAKES_S, f"the event loop stood still for {longest_s:.2f} s"


async def test_a_token_function_that_blocks_stops_no_other_task(
    manager: TestQueueManager, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first connect, when it is renewed by itself or by hand, and at a later connect."""
    monkeypatch.setattr(renewal, "AGAIN_S", 0.05)
    provider = SlowProvider(issuer)
    async with loop_goes_on():
        qm = await adapter.aio.connect(manager.address, token=provider)
        assert provider.asked == 1
        await qm.renew_token()
        assert provider.asked == 2
        await asyncio.to_thread(provider.wait_for, 3)  # three quarters of the time are over
        asked = provider.asked
        await asyncio.to_thread(manager.drop_next_reply)
        await qm.put("SYSTEM.DEAD.LETTER.QUEUE", b"x")
        assert provider.asked > asked
        await qm.close()


async def test_what_a_token_function_does_wrong_is_raised(
    manager: TestQueueManager, issuer: Issuer
) -> None:
    async with await adapter.aio.connect(manager.address, token=issuer.token()) as qm:
        with pytest.raises(InvalidType, match="the function's result is not a text"):
            await qm.renew_token(lambda: 1)  # type: ignore[arg-type, return-value]

        def ends() -> str:
            raise StopIteration

        with pytest.raises(RuntimeError):
            await qm.renew_token(ends)
        await qm.renew_token(issuer.token)


async def test_tokens_are_renewed_also_behind_a_cancellation_of_all_tasks(
    manager: TestQueueManager, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "AGAIN_S", 0.05)
    provider, before = SlowProvider(issuer), asyncio.all_tasks()
    async with await adapter.aio.connect(manager.address, token=provider) as qm:
        for task in asyncio.all_tasks() - before:
            task.cancel()
        await asyncio.sleep(0)
        await qm.put("SYSTEM.DEAD.LETTER.QUEUE", b"x")
        await asyncio.to_thread(until, lambda: provider.asked >= 2)
