"""A durable consumer as tasks open it, over connections that break, and cancelled."""

import asyncio

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback


async def test_batches_are_claimed_read_and_consumed(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        for number in range(5):
            await qm.put("Q", str(number), persistent=True)
        async with await qm.consumer("Q", "C") as consumer:
            assert await consumer.next_batch(3) == 1
            assert await consumer.claim_batch(3) == 1
            (batch,) = (await consumer.read(0, 1)).batches
            assert (batch.number, batch.spans) == (1, [0, 1, 3])
            await consumer.consume(1)
            assert (consumer.consumed, consumer.last) == (1, 1)
            with pytest.raises(e.BatchNotFound, match="consumer C has no such batch"):
                await consumer.read(0, 1)
            with pytest.raises(e.ConsumerInUse):
                await qm.consumer("Q", "C")
        assert await qm.queue("Q").depth() == 2
        again = await qm.consumer("Q", "C")
        assert (again.consumed, again.last, again.claim) == (1, 1, consumer.claim)
        with pytest.raises(e.NotOpen, match="consumer 'C' is closed"):
            await consumer.claim_batch()
        assert repr(again) == "<Consumer 'C' of 'Q'>"
        await again.close()
        assert await qm.delete_consumer("Q", "C") == 0


async def test_it_is_opened_again_when_the_connection_was_lost(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.put("Q", "a", persistent=True)
        consumer = await qm.consumer("Q", "C")
        assert await consumer.claim_batch() == 1
        await asyncio.to_thread(server.cut_all)
        assert [batch.spans for batch in (await consumer.read(0, 1)).batches] == [[0, 1, 1]]
        await consumer.consume(1)
        (found,) = await qm.consumers()
        assert (found.name, found.messages, found.timeout_ms) == ("C", 0, 300_000)


async def test_what_cannot_be_opened(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(e.QueueNotFound):
            await qm.consumer("NONE", "C")
        with pytest.raises(e.InvalidTimeout):
            await qm.consumer("Q", "C", timeout=-1)
        consumer = await qm.consumer("Q", "C")
        with pytest.raises(e.InvalidOption):
            await consumer.claim_batch(0)


async def test_a_claim_whose_answer_was_not_awaited_is_no_loss(server: Loopback) -> None:
    async with await adapter.aio.connect(server.address) as qm:
        await qm.put("Q", "a", persistent=True)
        consumer = await qm.consumer("Q", "C")
        server.holds = (c.ClaimBatch,)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await consumer.claim_batch()
        await asyncio.to_thread(server.release)
        last = await consumer.claim_batch()
        spans = [batch.spans for batch in (await consumer.read(0, last)).batches]
        assert [span for span in spans if span] == [[0, 1, 1]]


async def test_a_cancelled_opening_leaves_the_name_free(server: Loopback) -> None:
    server.holds = (c.OpenConsumer,)
    async with await adapter.aio.connect(server.address) as qm:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await qm.consumer("Q", "C")
        await asyncio.to_thread(server.release)
        async with await qm.consumer("Q", "C") as consumer:
            assert await consumer.claim_batch() == 0
