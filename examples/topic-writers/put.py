"""Put messages to a queue with a Kafka client alone: nothing here imports mqk.

    python put.py QM1 ORDERS "one dozen" "two dozen"

BOOTSTRAP_SERVERS says where Kafka is. The records of one call are one Kafka transaction: the queue
manager reads committed records only, so that it gets all of them or none. (It puts each record as
a unit of its own.)
"""

import os
import sys

from confluent_kafka import Producer


def inbound_topic(queue_manager: str) -> str:
    """The topic of a queue manager that any client may write to; see docs/inbound-records.md."""
    escapes = {".": "-o", "_": "-u", "/": "-s", "%": "-p"}
    return f"mq.{''.join(escapes.get(letter, letter) for letter in queue_manager)}.in"


def main() -> None:
    queue_manager, queue, *bodies = sys.argv[1:]
    servers = os.environ.get("BOOTSTRAP_SERVERS", "127.0.0.1:9092")
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": f"put to {queue_manager} {os.getpid()}",
            "max.in.flight.requests.per.connection": 1,  # see docs/inbound-records.md
        }
    )
    producer.init_transactions()
    producer.begin_transaction()
    for body in bodies:
        producer.produce(
            inbound_topic(queue_manager),
            body.encode(),
            headers=[
                ("mq.queue", queue.encode()),
                ("mq.persistent", b"yes"),
                ("mq.priority", b"7"),
                ("mq.application", b"put.py"),
                ("mq.properties", b'{"colour": "red"}'),
            ],
        )
    producer.commit_transaction()
    print(f"{len(bodies)} records for {queue}")


if __name__ == "__main__":
    main()
