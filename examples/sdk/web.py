"""A web application that takes orders: POST /orders puts one on the queue ORDERS.

Run it with: uvicorn --app-dir examples/sdk web:app

One connection serves all requests. Functions that are not `async def` run in FastAPI's threads, so
that a put that waits for Kafka holds no other request up.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from pydantic import BaseModel

import adapter

QUEUE = os.environ.get("ORDERS_QUEUE", "ORDERS")


class Order(BaseModel):
    """What a client sends."""

    quantity: int
    urgent: bool = False


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connect when the application starts; close when it ends."""
    address = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
    with adapter.connect(address, application="web") as qm:
        app.state.qm = qm
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=201)
def place(order: Order, request: Request) -> dict[str, str]:
    """Put an order; it is durable when the client is answered."""
    qm: adapter.Connection = request.app.state.qm
    priority = 9 if order.urgent else 4
    put = qm.put(QUEUE, f"{order.quantity} widgets", priority=priority)
    return {"id": put.message_id.hex()}


@app.get("/orders")
def waiting(request: Request) -> dict[str, int]:
    """How many orders wait."""
    qm: adapter.Connection = request.app.state.qm
    return {"waiting": qm.queue(QUEUE).depth()}
