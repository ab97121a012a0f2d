"""The SDK for asyncio: the same names as adapter has, with await, async with and async for.

    async with await adapter.aio.connect("127.0.0.1:1414") as qm:
        async for unit in qm.queue("ORDERS").units():
            async with unit:
                for message in unit.messages:
                    await work(message)

Messages, errors and the arguments of the verbs are those of adapter. One connection serves all
tasks of the event loop that it was made in.
"""

from adapter.aio.browse import BrowsedMessage
from adapter.aio.connection import Connection, connect
from adapter.aio.consumer import Consumer
from adapter.aio.kafka_topic import KafkaTopic
from adapter.aio.producing import Unit
from adapter.aio.queue import Queue
from adapter.aio.subscription import Subscription

__all__ = [
    "BrowsedMessage",
    "Connection",
    "Consumer",
    "KafkaTopic",
    "Queue",
    "Subscription",
    "Unit",
    "connect",
]
