"""What dramatiq's tests import from tests/common.py, which its source distribution does not have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from dramatiq import Broker, Worker

RABBITMQ_USERNAME, RABBITMQ_PASSWORD, RABBITMQ_CREDENTIALS = "guest", "guest", None

skip_in_ci = skip_on_pypy = skip_on_windows = pytest.mark.skipif(False, reason="here it runs")
skip_unless_rabbit_mq = pytest.mark.skip(reason="it needs RabbitMQ itself")


@contextmanager
def worker(broker: Broker, **options: Any) -> Iterator[Worker]:
    """Run a worker."""
    running = Worker(broker, **options)
    running.start()
    try:
        yield running
    finally:
        running.stop()
