"""Handlers of FastStream and units of adapter.aio, in one program and on one event loop.

Run it with: faststream run --app-dir examples/faststream reminders:app

An invoice and its reminder are put in the unit of the order: both, or neither, and once. The
reminder is delivered later; a handler of FastStream gets it then.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from faststream import FastStream
from faststream_mq import MQBroker
from pydantic import BaseModel

import adapter

ADDRESS = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
HOST, _, PORT = ADDRESS.rpartition(":")
REMIND_AFTER_S = 0.5

broker = MQBroker("QM1", host=HOST, port=int(PORT))


class Order(BaseModel):
    """The body of an order, as JSON."""

    customer: str
    widgets: int


@asynccontextmanager
async def lifespan() -> AsyncIterator[None]:
    """Work on orders while the application runs; at the end finish the one in hand."""
    async with await adapter.aio.connect(ADDRESS) as qm, qm.queue("STREAM.PURCHASES") as orders:
        working = asyncio.create_task(work(qm, orders))
        yield
        await orders.close()
        await working


app = FastStream(broker, lifespan=lifespan)


async def work(qm: adapter.aio.Connection, orders: adapter.aio.Queue) -> None:
    """Make an invoice of each order, and a reminder."""
    async for unit in orders.units():
        async with unit:
            for message in unit.messages:
                order = Order.model_validate_json(message.body)
                await qm.put("STREAM.INVOICES", f"{order.customer}: {order.widgets * 3} EUR")
                reminder = f"{order.customer} has to pay"
                await qm.put("STREAM.REMINDERS", reminder, deliver_after=REMIND_AFTER_S)


@broker.subscriber("STREAM.REMINDERS")
@broker.publisher("STREAM.LETTERS")
async def remind(reminder: str) -> str:
    """Write a letter."""
    return f"Dear customer, {reminder}."
