"""The web service of examples/fastapi: answers, errors, 32 clients at once, and a stop meanwhile.

It is a process of its own, with the FastAPI that the pages install.
"""

import asyncio
from collections.abc import Iterator

import aiohttp
import pytest

import adapter
from adapter import testing
from benchmarks.web import (
    CLIENTS,
    LATE_MS_MAX,
    ORDER,
    QUEUES,
    Service,
    define_queues,
    load,
    service,
)
from tests.support.pinned import install

ORDERS, QUESTIONS = QUEUES
DEADLINE_S = 30.0
BEATS_MIN = 20
SECONDS = 2.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    return install(tmp_path_factory.mktemp("fastapi"), "fastapi", "uvicorn")


@pytest.fixture
def address() -> Iterator[str]:
    with testing.queue_manager() as manager:
        define_queues(manager.address)
        yield manager.address


def test_orders_are_put_and_questions_answered(address: str, site: str) -> None:
    async def ask(url: str) -> None:
        async with aiohttp.ClientSession(url) as session:
            async with session.post("/orders", json=ORDER) as answer:
                assert answer.status == 202
                message_id = (await answer.json())["id"]
            async with session.post("/prices", json=ORDER) as answer:
                assert await answer.json() == {"price": "6 EUR"}
            too_many = ORDER | {"widgets": 2000}
            async with session.post("/prices", json=too_many) as answer:
                assert answer.status == 422
                assert await answer.json() == {"detail": "there are no 2000 widgets"}
        async with await adapter.aio.connect(address) as qm:
            message = await qm.get(ORDERS)
            assert message is not None
            assert (message.message_id.hex(), message.json()) == (message_id, ORDER)

    with service(address, site) as shop:
        asyncio.run(ask(shop.url))


def test_a_question_without_a_worker_is_answered_in_time(address: str, site: str) -> None:
    async def ask(url: str) -> None:
        async with (
            aiohttp.ClientSession(url) as session,
            session.post("/prices", json=ORDER) as answer,
        ):
            assert answer.status == 504

    with service(address, site, SHOP_WORKERS="0", SHOP_REPLY_TIMEOUT_S="0.2") as shop:
        asyncio.run(ask(shop.url))


def test_all_clients_wait_at_the_same_time_and_a_stop_waits_for_them(
    address: str, site: str
) -> None:
    """No request blocks the loop: else the last one would not be on the queue before an answer."""

    async def ask(shop: Service) -> None:
        async with (
            aiohttp.ClientSession(shop.url) as session,
            await adapter.aio.connect(address) as qm,
            asyncio.timeout(DEADLINE_S),
        ):
            asking = [asyncio.create_task(price(session, number)) for number in range(CLIENTS)]
            questions = qm.queue(QUESTIONS)
            while await questions.depth() < CLIENTS:
                await questions.pause(0.01)
            shop.terminate()
            while question := await questions.get():
                await qm.reply(question, str(question.json()["widgets"]))
            assert await asyncio.gather(*asking) == [str(number + 1) for number in range(CLIENTS)]

    with service(address, site, SHOP_WORKERS="0", SHOP_REPLY_TIMEOUT_S="60") as shop:
        asyncio.run(ask(shop))


async def price(session: aiohttp.ClientSession, number: int) -> str:
    """Ask a question, and return the answer."""
    async with session.post("/prices", json=ORDER | {"widgets": number + 1}) as answer:
        return str((await answer.json())["price"])


def test_the_loop_is_free_under_load(address: str, site: str) -> None:
    with service(address, site) as shop:
        got = asyncio.run(load(shop.url, SECONDS))
    assert len(got.took_ms) > CLIENTS
    assert got.late.count > BEATS_MIN
    assert got.late.p99_ms < LATE_MS_MAX
    with adapter.connect(address) as qm:
        assert qm.queue(QUESTIONS).depth() == 0
