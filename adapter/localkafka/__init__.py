"""A real Kafka from Maven jars, for the demo, tests and single machines.

It knows Java, Maven and Kafka's settings. It must not know the queue manager: no topic names, no
messages, nothing of what is kept on the brokers.
"""

from adapter.localkafka.cluster import LocalKafka
from adapter.localkafka.detached import Status, start_detached, status, stop_detached
from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.ports import free_port

__all__ = [
    "LocalKafka",
    "LocalKafkaError",
    "Status",
    "free_port",
    "start_detached",
    "status",
    "stop_detached",
]
