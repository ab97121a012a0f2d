"""A web service and its workers in one process: orders are put, questions are asked and answered.

Run it with: uvicorn --app-dir examples/fastapi shop:app

All requests and workers are tasks of one event loop, and share one connection. No call blocks the
loop. In a larger shop the workers are a program of their own, and nothing else changes.
"""

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel, PositiveInt

import adapter

ORDERS = os.environ.get("SHOP_ORDERS", "SHOP.ORDERS")
QUESTIONS = os.environ.get("SHOP_QUESTIONS", "SHOP.QUESTIONS")
WORKERS = int(os.environ.get("SHOP_WORKERS", "4"))
"""0: the workers are another program."""
REPLY_TIMEOUT_S = float(os.environ.get("SHOP_REPLY_TIMEOUT_S", "5"))
REFUSED = 65536
"""Feedback of a reply that is an error: the first number that is an application's own."""


class Order(BaseModel):
    """What a client sends."""

    customer: str
    widgets: PositiveInt


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connect, and start the workers; at the end let each finish what it has in hand."""
    address = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
    async with await adapter.aio.connect(address, application="shop") as qm:
        app.state.qm = qm
        app.state.orders, app.state.questions = qm.queue(ORDERS), qm.queue(QUESTIONS)
        worked_on = qm.queue(QUESTIONS)  # an object of its own, which can be closed alone
        app.state.workers = [asyncio.create_task(work(qm, worked_on)) for _ in range(WORKERS)]
        gc.freeze()  # what was imported stays: a full collection would stop the loop for 20 ms
        yield  # until the server is stopped and has answered its last request
        await worked_on.close()
        await asyncio.gather(*app.state.workers)


async def work(qm: adapter.aio.Connection, questions: adapter.aio.Queue) -> None:
    """Answer questions until the queue is closed."""
    async for unit in questions.units():
        async with unit:
            for question in unit.messages:
                try:
                    answer, feedback = price(Order(**question.json())), 0
                except ValueError as error:
                    answer, feedback = str(error), REFUSED
                await qm.reply(question, answer, feedback=feedback)


def price(order: Order) -> str:
    """Say what an order costs. Raises ValueError if there are not so many widgets."""
    if order.widgets > 1000:
        raise ValueError(f"there are no {order.widgets} widgets")
    return f"{order.widgets * 3} EUR"


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=202)
async def place(order: Order, request: Request) -> dict[str, str]:
    """Put an order; it is durable when the client is answered."""
    put = await request.app.state.orders.put(order.model_dump_json())
    return {"id": put.message_id.hex()}


@app.post("/prices")
async def ask(order: Order, request: Request) -> dict[str, str]:
    """Ask the workers what an order costs, and wait for the answer."""
    questions: adapter.aio.Queue = request.app.state.questions
    try:
        answer = await questions.request(
            order.model_dump_json(),
            timeout=REPLY_TIMEOUT_S,
            persistent=False,  # its client waits: it need not outlive the queue manager
        )
    except adapter.NoReply as error:
        raise HTTPException(504, "no worker has answered in time") from error
    if answer.feedback:
        raise HTTPException(422, answer.text)
    return {"price": answer.text}


@app.get("/health")
async def health(request: Request) -> dict[str, int]:
    """Say whether the service works: a supervisor restarts it if not."""
    state = request.app.state
    running = sum(not worker.done() for worker in state.workers)
    if running < WORKERS or not state.qm.statistics()["connected"]:
        raise HTTPException(503, "the connection or a worker has ended")
    return {"workers": running}
