"""A queue manager on Apache Kafka: the front door.

    import adapter

    with adapter.connect("127.0.0.1:1414") as qm:
        qm.define_queue("ORDERS")
        qm.put("ORDERS", "one dozen")
        with qm.unit():
            message = qm.get("ORDERS")

Everything that programs use is here or on what connect() returns, with the errors that they catch
most often; all errors are in adapter.errors, queue managers for tests in adapter.testing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from adapter import errors
from adapter.client.connection import Connection, connect
from adapter.client.consumer import Consumer
from adapter.client.kafka_topic import KafkaTopic
from adapter.client.message import DeadLetter, Message, PutResult
from adapter.client.producing import KafkaRecord
from adapter.client.queue import Queue
from adapter.client.reconnecting import Reconnected
from adapter.client.retry import Retry
from adapter.client.schemas import Schemas
from adapter.client.subscription import Subscription
from adapter.client.unit import Unit
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.tls import tls_context
from adapter.connection.channel.unit import NO_UNIT
from adapter.errors import (
    BackedOut,
    ConnectionBroken,
    Error,
    GetInhibited,
    InDoubt,
    MessageTooLong,
    NoReply,
    NotAuthorized,
    PutInhibited,
    QueueFull,
    QueueNotFound,
)
from adapter.host import release

if TYPE_CHECKING:
    from adapter import aio, kafka, mqi, testing
    from adapter import localkafka as localkafka
    from adapter import msmq as msmq
    from adapter import servicebroker as servicebroker
    from adapter.workers.handlers import worker_connection
    from adapter.workers.running import run_worker

    __version__: str
else:
    ON_DEMAND = frozenset({"aio", "kafka", "localkafka", "mqi", "msmq", "servicebroker", "testing"})
    OF_WORKERS = {
        "run_worker": "adapter.workers.running",
        "worker_connection": "adapter.workers.handlers",
    }

    def __getattr__(name: str) -> Any:
        """Import a part that most programs do without when it is first used."""
        if name in ON_DEMAND:
            return import_module(f"adapter.{name}")
        if name in OF_WORKERS:
            return getattr(import_module(OF_WORKERS[name]), name)
        if name == "__version__":
            return release.find_installed()
        raise AttributeError(f"module 'adapter' has no attribute {name!r}")


__all__ = [
    "NO_UNIT",
    "BackedOut",
    "CancelToken",
    "Connection",
    "ConnectionBroken",
    "Consumer",
    "DeadLetter",
    "Error",
    "GetInhibited",
    "InDoubt",
    "KafkaRecord",
    "KafkaTopic",
    "Message",
    "MessageTooLong",
    "NoReply",
    "NotAuthorized",
    "PutInhibited",
    "PutResult",
    "Queue",
    "QueueFull",
    "QueueNotFound",
    "Reconnected",
    "Retry",
    "Schemas",
    "Subscription",
    "Unit",
    "__version__",
    "aio",
    "connect",
    "errors",
    "kafka",
    "mqi",
    "run_worker",
    "testing",
    "tls_context",
    "worker_connection",
]
