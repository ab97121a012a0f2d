"""Publishing and subscribing from tasks, over connections that break, and cancelled."""

import asyncio
import gc

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback


async def got(subscription: adapter.aio.Subscription, wait_s: float = 0.0) -> bytes | None:
    message = await subscription.get(timeout=wait_s)
    return message.body if message is not None else None


def handles(server: Loopback) -> int:
    """How many handles connections have open."""
    connections = server.qm.connections
    return server.call(lambda: sum(len(one.handles) for one in connections.values()))


async def test_a_publication_reaches_its_subscriptions(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        assert (await qm.publish("fruit/apple", b"too early")).subscriptions == 0
        async with await qm.subscribe("fruit/+") as fruit:
            result = await qm.publish("fruit/apple", b"x", priority=3, properties={"n": 1})
            assert result.subscriptions == 1
            message = await fruit.get()
            assert message is not None
            assert (message.body, message.message_id) == (b"x", result.message_id)
            assert message.properties == {"n": 1, "MQTopicString": "fruit/apple"}
            assert [one.body async for one in fruit.browse()] == []
            assert repr(fruit) == "<Subscription '' to 'fruit/+'>"
        assert fruit.is_closed
        with pytest.raises(e.QueueNotFound):
            await qm.get(fruit.name)
        assert handles(server) == 0


async def test_publications_of_a_unit_and_gets_in_units(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        other = await qm.subscribe("#")
        async with qm.unit():
            await qm.publish("a", "1")
            await qm.publish("a", "2")
            assert await got(other) is None
        bodies = []
        async for unit in other.units(size=2, timeout=0):
            async with unit:
                bodies += [message.body for message in unit.messages]
        assert bodies == [b"1", b"2"]


async def test_units_go_on_behind_a_lost_connection(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        one = await qm.subscribe("a")
        units = one.units(timeout=10)
        waiting = asyncio.ensure_future(anext(units))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.cut_all)
        await qm.publish("a", "x")
        async with await waiting as unit:
            assert [message.body for message in unit.messages] == [b"x"]
        assert server.count(c.Open) == 0  # its queue is opened with the subscription


async def test_finding_client_5_what_fails_behind_a_lost_connection_comes_again(
    server: Loopback,
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        one = await qm.subscribe("a")
        shown: list[bytes] = []

        async def work() -> None:
            async for unit in one.units(timeout=1):
                async with unit:
                    shown.extend(message.body for message in unit.messages)
                    if len(shown) == 1:
                        raise ValueError("once")

        working = asyncio.create_task(work())
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.cut_all)
        await qm.publish("a", "x")
        await working
        assert shown == [b"x", b"x"]


async def test_a_get_waits_for_a_publication(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        subscription = await qm.subscribe("a")
        waiting = asyncio.create_task(got(subscription, 10))
        await asyncio.sleep(0.05)
        await qm.publish("a", "x")
        assert await waiting == b"x"
        waiting = asyncio.create_task(got(subscription, 10))
        await asyncio.sleep(0.05)
        await subscription.close()
        assert await waiting is None


async def test_a_durable_one_is_resumed_and_removed(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        async with await qm.subscribe("a", name="S", durable=True):
            with pytest.raises(e.SubscriptionInUse):
                await qm.subscribe("a", name="S", durable=True)
        await qm.publish("a", "x")
        again = await qm.subscribe("a", name="S", durable=True)
        assert await got(again) == b"x"
        await again.close(remove=True)
        assert await qm.objects("subscription") == []
        assert handles(server) == 0
        with pytest.raises(e.NotOpen, match="subscription 'S' is closed"):
            await again.close(remove=True)
        with pytest.raises(e.InvalidSubscriptionName):
            await qm.subscribe("a", durable=True)


async def test_what_is_retained_comes_first_and_again_on_request(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.define_queue("SYSTEM.RETAINED.PUB.QUEUE")
        one = await qm.subscribe("a")
        assert await one.request_retained() == 0
        await qm.publish("a", "x", retain=True)
        assert (await got(one), await got(one)) == (b"x", None)
        assert await one.request_retained() == 1
        assert await got(one) == b"x"
        assert await got(await qm.subscribe("a", retained=False)) is None
        assert (await qm.clear_retained("+"), await qm.clear_retained("+")) == (1, 0)


@pytest.mark.parametrize("durable", [False, True])
async def test_it_goes_on_behind_a_lost_connection(server: Loopback, durable: bool) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        one = await qm.subscribe("a", name="S", durable=durable)
        before = one.name
        waiting = asyncio.create_task(got(one, 10))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(server.cut_all)
        await qm.publish("a", "x")
        assert await waiting == b"x"
        assert await got(one) is None
        assert (one.name == before) is durable
        assert server.count(c.Open) == 0  # its queue is opened with the subscription
        await one.close()


@pytest.mark.parametrize("sent", range(0, 140, 9))
async def test_a_subscription_is_made_wherever_the_connection_breaks(
    server: Loopback, sent: int
) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        server.cut_after(received=sent + 1)
        one = await qm.subscribe("a", name="S", durable=True)
        await asyncio.to_thread(server.cut_after, sent=sent + 1)
        await qm.publish("a", b"x")
        assert await got(one, 10) == b"x"
        await one.close(remove=True)
        assert await qm.objects("subscription") == []


async def test_a_cancelled_subscribe_leaves_nothing_open(server: Loopback) -> None:
    server.holds = (c.Subscribe,)
    async with await adapter.aio.connect(server.address) as qm:
        subscribing = asyncio.create_task(qm.subscribe("a"))
        await asyncio.sleep(0.05)
        assert handles(server) == 2
        subscribing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await subscribing
        await asyncio.to_thread(server.release)
        await qm.queues()
        assert handles(server) == 0
        assert (await qm.publish("a", "x")).subscriptions == 0


async def test_a_cancelled_subscribe_ends_at_once_without_a_connection(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await qm.subscribe("a")
        await asyncio.to_thread(server.start)
        await qm.queues()
        assert handles(server) == 0


async def test_a_cancelled_get_takes_no_publication(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        one = await qm.subscribe("a")
        getting = asyncio.create_task(got(one, 10))
        await asyncio.sleep(0.05)
        getting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await getting
        await qm.publish("a", "x")
        assert await got(one) == b"x"


async def test_a_cancelled_publication_has_its_outcome_first(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        one = await qm.subscribe("a")
        server.holds = (c.Put,)
        publishing = asyncio.create_task(qm.publish("a", "x"))
        await asyncio.sleep(0.05)
        publishing.cancel()
        await asyncio.sleep(0.05)
        assert not publishing.done()
        await asyncio.to_thread(server.release)
        assert (await publishing).subscriptions == 1
        assert await got(one) == b"x"


async def test_a_cancelled_removal_leaves_nothing_open(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        one = await qm.subscribe("a", name="S", durable=True)
        server.holds = (c.Close,)
        removing = asyncio.create_task(one.close(remove=True))
        await asyncio.sleep(0.05)
        removing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await removing
        await asyncio.to_thread(server.release)
        again = await qm.subscribe("a", name="S", durable=True)
        await again.close(remove=True)
        assert await qm.objects("subscription") == []


async def test_one_that_is_let_go_of_is_closed(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.subscribe("a")
        gc.collect()
        await qm.queues()
        await qm.queues()
        assert handles(server) == 0
