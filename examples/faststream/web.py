"""A FastAPI application that puts orders on a queue and handles invoices from another.

Run it with: uvicorn --app-dir examples/faststream web:app
"""

import os

from fastapi import FastAPI
from faststream_mq.fastapi import MQRouter

HOST, _, PORT = os.environ.get("MQK_QMGR", "127.0.0.1:1414").rpartition(":")

router = MQRouter("QM1", host=HOST, port=int(PORT))
invoices: list[str] = []


@router.subscriber("STREAM.INVOICES")
async def keep(invoice: str) -> None:
    invoices.append(invoice)


@router.post("/orders")
async def place(customer: str, widgets: int) -> str:
    await router.broker.publish({"customer": customer, "widgets": widgets}, "STREAM.ORDERS")
    return "ordered"


@router.get("/invoices")
async def show() -> list[str]:
    return invoices


app = FastAPI()
app.include_router(router)
