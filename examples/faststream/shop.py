"""Handlers of orders and questions, with FastStream.

Run it with: faststream run --app-dir examples/faststream shop:app
"""

import os

from faststream import FastStream
from faststream_mq import MQBroker
from pydantic import BaseModel

HOST, _, PORT = os.environ.get("MQK_QMGR", "127.0.0.1:1414").rpartition(":")

broker = MQBroker("QM1", host=HOST, port=int(PORT))
app = FastStream(broker)


class Order(BaseModel):
    """The body of an order, as JSON."""

    customer: str
    widgets: int


@broker.subscriber("STREAM.ORDERS")
@broker.publisher("STREAM.INVOICES")
async def invoice(order: Order) -> str:
    """Make an invoice. An exception puts the order back, and it is delivered again."""
    return f"{order.customer}: {order.widgets * 3} EUR"


@broker.subscriber("STREAM.QUESTIONS")
async def answer(question: str) -> str:
    """Answer a request: what is returned is the reply."""
    return question.upper()
