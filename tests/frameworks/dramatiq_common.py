"""What dramatiq's tests import from tests/common.py, which its distribution does not have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dramatiq import Broker, Worker

RABBITMQ_USERNAME, RABBITMQ_PASSWORD, RABBITMQ_CREDENTIALS = "guest", "guest", None


def run(test: Any) -> Any:
    """Leave a test as it is: what is not applicable here is named in not_applicable.py."""
    return test


skip_in_ci = skip_on_pypy = skip_on_windows = skip_unless_rabbit_mq = run


@contextmanager
def worker(broker: Broker, **options: Any) -> Iterator[Worker]:
    """Run a worker."""
    running = Worker(broker, **options)
    running.start()
    try:
        yield running
    finally:
        running.stop()
