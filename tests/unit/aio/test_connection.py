"""Connecting from a task."""

import asyncio
from pathlib import Path

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback


async def test_what_a_connection_says_of_itself(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address, application="orders") as qm:
        assert (qm.name, qm.bootstrap_servers, qm.is_closed) == ("QM1", "", False)
        assert qm.statistics()["connected"]
        with adapter.connect(server.address) as admin:
            assert "orders" in {one.application for one in admin.connections()}
    assert qm.is_closed


async def test_connecting_says_what_is_wrong(server: Loopback, tmp_path: Path) -> None:
    with pytest.raises(e.WrongQueueManager, match="QM2"):
        await adapter.aio.connect(server.address, queue_manager="QM2")
    server.refuses = Refused(Reason.QUEUE_MANAGER_STOPPING)
    with pytest.raises(e.QueueManagerStopping):
        await adapter.aio.connect(server.address)
    server.refuses = None
    server.welcomes = False
    with pytest.raises(e.QueueManagerNotAvailable, match="does not answer"):
        await adapter.aio.connect(server.address, connect_timeout_s=0.2)
    with pytest.raises(e.QueueManagerNotAvailable, match="is it running"):
        await adapter.aio.connect("127.0.0.1:1")
    with pytest.raises(e.QueueManagerNotAvailable, match="is it running"):
        await adapter.aio.connect(f"unix:{tmp_path}/none")
    with pytest.raises(e.InvalidTimeout):
        await adapter.aio.connect(server.address, connect_timeout_s=-1)


async def test_several_addresses_are_tried(server: Loopback) -> None:
    async with await adapter.aio.connect(f"127.0.0.1:1,{server.address}") as qm:
        await qm.put("Q", b"x")


async def test_connecting_is_cancelled(server: Loopback) -> None:
    server.welcomes = False
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await adapter.aio.connect(server.address)
    await asyncio.sleep(0.1)
    assert server.call(lambda: len(server.clients)) == 0
