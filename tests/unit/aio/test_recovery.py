"""Silence: a queue manager that says nothing is as good as gone. And what is logged of a loss."""

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import adapter
from adapter.aio.channel import TaskChannel
from adapter.aio.link import AddressDialer, TaskHandshake
from adapter.connection.channel import losses
from adapter.connection.channel.addresses import parse_addresses
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.wire.frames import AskServer
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions
from adapter.errors import ConnectionBroken, ConnectionClosed
from tests.support.loopback import Loopback, OnCommand


async def connected(server: Loopback, silence_s: float) -> TaskChannel:
    dialers = [AddressDialer(one) for one in parse_addresses(server.address)]
    handshake = TaskHandshake(dialers, {})
    channel = TaskChannel(handshake, Timeouts(silence_s=silence_s))
    await channel.connect_first()
    return channel


async def test_silence_is_a_lost_link(server: Loopback) -> None:
    channel = await connected(server, silence_s=0.6)
    server.holds = (c.Inquire, AskServer)
    asking = Pending(c.Inquire("*", False))
    waiting = asyncio.create_task(channel.ask([asking]))
    lost = asyncio.Event()
    channel.on_link(lambda _new: lost.set())
    await lost.wait()
    server.holds = ()
    await waiting
    assert channel.result(asking, Descriptions).queues
    assert channel.statistics()["reconnects"] == 1
    await channel.close()


async def test_a_sign_of_life_is_asked_for(server: Loopback) -> None:
    channel = await connected(server, silence_s=0.6)
    server.holds = (c.Inquire,)
    waiting = asyncio.create_task(channel.ask([Pending(c.Inquire("*", False))]))
    await asyncio.sleep(1.5)
    assert not waiting.done()
    assert channel.statistics()["reconnects"] == 0
    await asyncio.to_thread(server.release)
    await waiting
    await channel.close()


async def test_an_idle_connection_says_nothing(server: Loopback) -> None:
    channel = await connected(server, silence_s=0.1)
    sent = channel.statistics()["frames_sent"]
    await asyncio.sleep(0.5)
    assert channel.statistics()["frames_sent"] == sent
    assert channel.statistics()["reconnects"] == 0
    await channel.close()


async def test_an_unexpected_end_of_its_task_closes_the_connection(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = await connected(server, silence_s=0.1)

    async def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(channel._recovery, "_take_up", fail)
    await asyncio.to_thread(server.cut_all)
    await asyncio.sleep(0.2)
    assert channel.is_closed


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """lines(): what was logged of the connection."""
    caplog.set_level("INFO", "adapter.client")
    return lambda: [f"{one.levelname} {one.getMessage()}" for one in caplog.records]


async def test_a_lost_connection_is_logged_once_and_that_it_is_back(
    server: Loopback, lines: Callable[[], list[str]]
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        getting = [asyncio.create_task(queue.get(timeout=None)) for _ in range(5)]
        await asyncio.to_thread(server.cut_all)
        for _ in getting:
            await queue.put(b"x")
        await asyncio.gather(*getting)
    lost, back = lines()
    where = f"QM1 ({server.address})"
    # Why: closed, or reset if the server had not read the last get.
    assert lost.startswith(f"WARNING connection to {where} lost (")
    assert lost.endswith("): reconnecting for up to 60 s; open units are backed out")
    assert back.startswith(f"INFO reconnected to {where} after 0.")


async def test_each_loss_of_an_idle_connection_is_one(
    server: Loopback, lines: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an answer in between; the time to reconnect begins anew."""
    later_s, timeout_s = 0.0, 30.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + later_s)
    monkeypatch.setattr(losses, "time", clock)
    back: asyncio.Queue[object] = asyncio.Queue()
    async with await adapter.aio.connect(
        server.address, reconnect_timeout_s=timeout_s, on_reconnect=back.put_nowait
    ):
        for _ in range(3):
            await asyncio.to_thread(server.cut_all)
            await asyncio.wait_for(back.get(), timeout_s)
            later_s += 1.5 * timeout_s
    assert [line.split()[0] for line in lines()] == ["WARNING", "INFO"] * 3


async def test_it_says_once_that_no_connection_was_made(
    server: Loopback, lines: Callable[[], list[str]]
) -> None:
    async with await adapter.aio.connect(server.address, reconnect_timeout_s=0.1) as qm:
        await asyncio.to_thread(server.crash)
        for _ in range(2):
            with pytest.raises(ConnectionBroken):
                await qm.queue("Q").depth()
        await asyncio.to_thread(server.start)
        await qm.queue("Q").depth()
    kinds = [" ".join(line.split()[:3]) for line in lines()]
    assert kinds[0] == "WARNING connection to"
    assert kinds[1] == "WARNING not reconnected"
    assert set(kinds[2:-1]) == {"INFO not reconnected"}
    assert kinds[-1] == "INFO reconnected to"


async def test_closing_is_no_loss(server: Loopback, lines: Callable[[], list[str]]) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        getting = asyncio.create_task(qm.get("Q", timeout=None))
        await qm.queue("Q").depth()
    with pytest.raises(ConnectionClosed):
        await getting
    assert lines() == []


async def test_a_put_that_is_cancelled_while_the_session_is_resumed_leaves_no_gap(
    server: Loopback,
) -> None:
    """Its number does not come any more, and the queue manager waits for it no longer."""
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")
        await queue.put(b"first")
        server.holds = (c.SessionResume,)
        resuming = OnCommand(server, c.SessionResume)
        server.cut_all()
        await asyncio.to_thread(resuming.arrived.wait)
        putting = [asyncio.create_task(queue.put(b"%d" % n)) for n in range(3)]
        await asyncio.sleep(0.05)
        putting[1].cancel()
        await asyncio.sleep(0.05)
        server.release()
        ended = await asyncio.gather(*putting, return_exceptions=True)
        assert isinstance(ended[1], asyncio.CancelledError)
        assert server.bodies("Q") == [b"first", b"0", b"2"]
        assert qm.statistics()["connections_lost"] == 1
