"""The fixtures of dramatiq's tests, which its source distribution does not have, with our broker.

A pytest plugin. Brokers of all kinds are an MqkBroker on the queue manager at MQK_QMGR.
"""

import os
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
from dramatiq import Broker, MessageProxy, Middleware, Worker
from dramatiq.rate_limits import backends as limits
from dramatiq.results.backends import StubBackend

from adapter.dramatiq import MqkBroker


class FailureNotes(Middleware):
    """Notes why messages were rejected."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []

    def after_nack(self, broker: Broker, message: MessageProxy) -> None:
        if message._exception is not None:
            self.failures.append(message._exception)


class AnyBroker(MqkBroker):
    """With the arguments that join() has for brokers of other kinds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.fails_fast = True
        self.notes = FailureNotes()
        self.add_middleware(self.notes)

    def join(
        self,
        queue_name: str,
        *others: Any,
        timeout: int | None = None,
        fail_fast: bool = True,
        **more: Any,
    ) -> None:
        """Wait; and raise, as the stub broker does, why a message was rejected."""
        super().join(queue_name, interval=20, timeout=60_000 if timeout is None else timeout)
        if not (fail_fast and self.fails_fast):
            self.notes.failures.clear()
        if self.notes.failures:
            raise self.notes.failures.pop(0)


@pytest.fixture
def stub_broker() -> Iterator[AnyBroker]:
    broker = AnyBroker(address=os.environ["MQK_QMGR"])
    for queue in broker.connection.queues():
        broker.connection.delete_queue(queue.name, purge=True)
    broker.emit_after("process_boot")
    dramatiq.set_broker(broker)
    yield broker
    broker.close()


@pytest.fixture
def rabbitmq_broker(stub_broker: AnyBroker) -> AnyBroker:
    stub_broker.fails_fast = False
    return stub_broker


@pytest.fixture
def redis_broker(rabbitmq_broker: AnyBroker) -> AnyBroker:
    return rabbitmq_broker


@pytest.fixture
def rate_limiter_backend() -> limits.StubBackend:
    return limits.StubBackend()  # type: ignore[no-untyped-call]


@pytest.fixture
def stub_worker(stub_broker: AnyBroker) -> Iterator[Worker]:
    worker = Worker(stub_broker, worker_timeout=100, worker_threads=8)
    worker.start()
    yield worker
    worker.stop()


@pytest.fixture
def rabbitmq_worker(stub_worker: Worker) -> Worker:
    return stub_worker


@pytest.fixture
def redis_worker(stub_worker: Worker) -> Worker:
    return stub_worker


@pytest.fixture
def result_backend() -> StubBackend:
    return StubBackend()
