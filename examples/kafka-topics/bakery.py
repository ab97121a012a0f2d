"""A bakery whose orders come on one topic of Kafka, and whose invoices go to another one.

    python bakery.py topics                 make the two topics
    python bakery.py order ID LOAVES        send an order, as a shop does
    python bakery.py invoices COUNT         print so many invoices, as an accountant reads them
    mqk worker bakery:bake --queue BAKERY.ORDERS --retry-times 2 --retry-then BAKERY.FAILED

The worker is the only one that knows of queues. Feed and export are in definitions.mqsc.
"""

import json
import os
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import adapter

SERVERS: dict[str, str | int | float | bool] = {
    "bootstrap.servers": os.environ.get("BAKERY_KAFKA", "127.0.0.1:9092")
}
ORDERS, INVOICES = "bakery.orders", "bakery.invoices"
PARTITIONS = 3
PRICE_CENTS = 350
TIMEOUT_S = 60.0


def bake(order: adapter.Message) -> None:
    """Write an invoice, in the unit of its order: both happen, or neither does."""
    loaves = int(order.json()["loaves"])
    invoice = json.dumps({"loaves": loaves, "cents": loaves * PRICE_CENTS})
    qm = adapter.worker_connection()
    qm.put("BAKERY.INVOICES", invoice, properties={"KafkaKey": order.properties["KafkaKey"]})


def topics() -> None:
    """Make what is missing."""
    new = [NewTopic(name, PARTITIONS, 1) for name in (ORDERS, INVOICES)]
    admin = AdminClient(SERVERS)
    for made in admin.create_topics(new).values():
        try:
            made.result(TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def order(ident: str, loaves: str) -> None:
    """Send an order: loaves is a number, unless it is a mistake."""
    producer = Producer(SERVERS)
    wanted = int(loaves) if loaves.isdecimal() else loaves
    producer.produce(ORDERS, json.dumps({"loaves": wanted}), ident)
    producer.flush()


def invoices(count: str) -> None:
    """Print invoices, each once; librdkafka reads committed records unless it is told otherwise."""
    consumer = Consumer(SERVERS | {"group.id": "accountant", "auto.offset.reset": "earliest"})
    consumer.subscribe([INVOICES])
    for _ in range(int(count)):
        record = consumer.poll(TIMEOUT_S)
        if record is None:
            sys.exit("no invoice came in time")
        if record.error() is not None:
            sys.exit(f"no invoice: {record.error()}")
        print((record.key() or b"").decode(), (record.value() or b"").decode())
    consumer.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["topics"]:
            topics()
        case ["order", ident, loaves]:
            order(ident, loaves)
        case ["invoices", count]:
            invoices(count)
        case _:
            sys.exit(__doc__)
