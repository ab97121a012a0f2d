"""Avro values from tasks: the event loop is never blocked by a registry."""

import asyncio
import json
import threading
from collections.abc import Callable

import pytest

import adapter
import adapter.testing
from adapter import errors as e
from adapter.registry.topic import TopicRegistry
from tests.support.loopback import Loopback

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}


@pytest.fixture
def registry() -> TopicRegistry:
    made = adapter.testing.schema_registry()
    made.register("Q-value", json.dumps(ORDER))
    return made


@pytest.fixture
def asked(registry: TopicRegistry, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads in which the registry is asked."""
    threads: list[int] = []

    def watch(ask: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            threads.append(threading.get_ident())
            return ask(*args)

        return call

    for name in ("lookup", "schema", "version", "register"):
        monkeypatch.setattr(registry, name, watch(getattr(registry, name)))
    return threads


async def test_a_thread_asks_for_what_is_not_known(
    server: Loopback, registry: TopicRegistry, asked: list[int]
) -> None:
    async with await adapter.aio.connect(server.address, registry=registry) as qm:
        queue = qm.queue("Q")
        await queue.put_value({"number": 7}, schema=ORDER, priority=4)
        for _ in range(3):
            await queue.put_value({"number": 8}, schema=ORDER, register=True)
        assert len(asked) == 1, "it is known then"
        got = await queue.get()
        assert got is not None
        assert got.priority == 4
        assert await qm.decode(got) == {"number": 7}
        for _ in range(3):
            assert await qm.decode(got, schema="Q-value") == got.decode() == {"number": 7}
        assert len(asked) == 3
        assert threading.get_ident() not in asked


async def test_known_schemas_take_no_thread(
    server: Loopback, registry: TopicRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await adapter.aio.connect(server.address, registry=registry) as qm:
        queue = qm.queue("Q")
        await queue.put_value({"number": 7}, schema="Q-value")
        message = await queue.get()
        assert message is not None
        await qm.decode(message)
        monkeypatch.setattr(asyncio, "to_thread", None)
        await queue.put_value({"number": 8}, schema="Q-value")
        assert await qm.decode(message) == {"number": 7}


async def test_what_is_wrong_puts_nothing(server: Loopback, registry: TopicRegistry) -> None:
    async with await adapter.aio.connect(server.address, registry=registry) as qm:
        queue = qm.queue("Q")
        for _ in range(2):
            with pytest.raises(e.NotAvro):
                await queue.put_value({"number": "x"}, schema=ORDER)
            with pytest.raises(e.SchemaNotFound):
                await queue.put_value({"number": 7}, schema=ORDER, subject="OTHER")
        async with qm.unit() as unit:
            await queue.put_value({"number": 8}, schema="Q-value", wait=False)
            await unit.backout()
        assert await queue.get() is None
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.InvalidOption, match="no schema registry was named"):
            await qm.queue("Q").put_value({"number": 7}, schema=ORDER)


async def test_a_cancelled_put_of_a_value_puts_nothing(
    server: Loopback, registry: TopicRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering = threading.Event()
    lookup = registry.lookup

    def wait(*args: str) -> object:
        answering.wait(30)
        return lookup(*args)

    monkeypatch.setattr(registry, "lookup", wait)
    async with await adapter.aio.connect(server.address, registry=registry) as qm:
        queue = qm.queue("Q")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await queue.put_value({"number": 7}, schema=ORDER)
        answering.set()
        await queue.put_value({"number": 8}, schema=ORDER)
        assert await queue.depth() == 1
