"""Silence: a queue manager that says nothing is as good as gone."""

import asyncio

import pytest

from adapter.aio.channel import TaskChannel
from adapter.aio.link import AddressDialer, TaskHandshake
from adapter.channel.addresses import parse_addresses
from adapter.channel.requests import Pending
from adapter.channel.timeouts import Timeouts
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions
from adapter.wire.frames import AskServer
from tests.support.loopback import Loopback


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
    channel.on_link(lambda _is_there: lost.set())
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

    async def fail(_left_s: float) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(channel._recovery, "_take_up", fail)
    await asyncio.to_thread(server.cut_all)
    await asyncio.sleep(0.2)
    assert channel.is_closed
