"""Connecting from a task."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import adapter
import adapter.testing
from adapter import errors as e
from adapter.connection.channel.link.port import HostNotReached
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.runtime.network import lookup
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
    with pytest.raises(e.QueueManagerNotAvailable, match=r"Connection refused.*is it running"):
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


@pytest.fixture
def looked_up(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which the directory was read. Its readings stand for those of a real Kafka."""
    threads: list[int] = []

    def look_up(timeout_s: float) -> str:
        assert timeout_s > 0
        threads.append(threading.get_ident())
        return server.address

    def directory_look_up(*named: object, tls: bool) -> Callable[[float], str]:
        assert not tls
        assert named == ("QM1", "broker:9092", {"client.id": "x"})
        return look_up

    monkeypatch.setattr(lookup, "directory_look_up", directory_look_up)
    return threads


async def test_the_directory_is_read_by_a_thread_for_each_link(
    server: Loopback, looked_up: list[int]
) -> None:
    async with await adapter.aio.connect(
        queue_manager="QM1", bootstrap_servers="broker:9092", kafka_options={"client.id": "x"}
    ) as qm:
        assert len(looked_up) == 1
        await asyncio.to_thread(server.cut_all)
        await qm.put("Q", b"x")
        assert len(looked_up) == 2
        assert threading.get_ident() not in looked_up
    with pytest.raises(e.InvalidName):
        await adapter.aio.connect(bootstrap_servers="")


async def test_a_queue_manager_that_is_not_in_the_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(_timeout_s: float) -> str:
        raise HostNotReached("queue manager QM9 is not in the directory")

    monkeypatch.setattr(lookup, "directory_look_up", lambda *_named, tls: look_up)
    with pytest.raises(e.QueueManagerNotAvailable, match="QM9 is not in the directory"):
        await adapter.aio.connect(queue_manager="QM9", bootstrap_servers="broker:9092")


async def test_a_socket_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "QM1.sock"
    with adapter.testing.queue_manager(unix_path=path):
        async with await adapter.aio.connect(f"unix:{path}") as qm:
            await qm.define_queue("Q")
            await qm.put("Q", bytes(3_000_000))
            got = await qm.get("Q", timeout=5)
            assert got is not None
            assert len(got.body) == 3_000_000
            assert [one.address.partition("=")[0] for one in await qm.connections()] == ["unix:pid"]


async def test_one_put_alone_to_a_model_is_refused(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.define_object("model", "M")
        with pytest.raises(e.OptionNotValidForType, match="it is a model queue: open it"):
            await qm.put("M", b"lost")
