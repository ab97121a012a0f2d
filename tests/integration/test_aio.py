"""adapter.aio on a real Kafka: gets are cancelled at random while the queue manager is killed."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import adapter
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

MESSAGES = 300
CANCELS = 1_000
KILLS = 3


async def cancel_at_random(server: ServerProcess) -> list[bytes]:
    """Put messages, get each in a task that may be cancelled; return what was got."""
    chance = random.Random(1)
    got: list[bytes] = []
    async with await adapter.aio.connect(server.address) as qm:
        queue = qm.queue("Q")

        async def produce() -> None:
            for n in range(MESSAGES):
                await queue.put(b"%d" % n)
                await asyncio.sleep(0.01 * chance.random())

        async def kill() -> None:
            for _ in range(KILLS):
                await asyncio.sleep(1)
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)

        async def get() -> None:
            message = await queue.get(timeout=None)
            assert message is not None
            got.append(message.body)

        others = [asyncio.create_task(produce()), asyncio.create_task(kill())]
        cancels = 0
        while cancels < CANCELS or not all(one.done() for one in others):
            getting = [asyncio.create_task(get()) for _ in range(chance.randint(1, 8))]
            await asyncio.sleep(0.02 * chance.random())
            cancels += sum(one.cancel() for one in getting)
            await asyncio.wait(getting)
            assert all(one.cancelled() or one.exception() is None for one in getting)
        await asyncio.gather(*others)
        while (message := await queue.get(timeout=1)) is not None:
            got.append(message.body)
    return got


def test_every_message_is_got_once(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    with ServerProcess(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as admin:
            admin.define_queue("Q")
        got = asyncio.run(cancel_at_random(server))
    assert sorted(got) == sorted(b"%d" % n for n in range(MESSAGES))
