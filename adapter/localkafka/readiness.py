"""Waiting until brokers answer, and telling whether a data folder is in use.

A broker is ready when it answers a real request itself, and its answer names every broker that is
waited for. (Others may still name a broker that was killed a moment ago.)
"""

import fcntl
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.ports import HOST
from adapter.localkafka.settings import BrokerPlan

# A loaded two-core machine with three brokers needs about 15 s.
READY_TIMEOUT_S = 120
CONNECT_TIMEOUT_S = 1.0
REQUEST_TIMEOUT_S = 2.0
POLL_S = 0.02


def await_ready(wanted: Sequence[BrokerPlan], check_alive: Callable[[], None]) -> None:
    """Return when the wanted brokers answer; check_alive raises if one of them has ended."""
    numbers = {plan.number for plan in wanted}
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    for plan in wanted:
        while not numbers <= _named_by(plan):
            check_alive()
            if time.monotonic() > deadline_s:
                raise LocalKafkaError(
                    f"broker {plan.number} did not answer in {READY_TIMEOUT_S} s: look at "
                    f"{plan.log_file}; a machine short of memory or processors is a common cause"
                )
            time.sleep(POLL_S)
    check_alive()


def _named_by(plan: BrokerPlan) -> set[int]:
    """The brokers that this one's own answer names; none while it does not answer."""
    try:
        socket.create_connection((HOST, plan.port), CONNECT_TIMEOUT_S).close()
        # A new client for each attempt: one that has heard of the others may ask any of them.
        return set(_quiet_admin(plan.address).list_topics(timeout=REQUEST_TIMEOUT_S).brokers)
    except (OSError, KafkaException):
        return set()


def _quiet_admin(address: str) -> AdminClient:
    """A client that does not report every attempt that comes too early."""
    options: dict[str, str | int | float | bool] = {
        "bootstrap.servers": address,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
        "topic.metadata.refresh.fast.interval.ms": 20,
        "log_level": 0,
    }
    return AdminClient(options)


def is_in_use(data: Path) -> bool:
    """Whether a broker runs on this data: it holds a lock there for as long as it lives."""
    path = data / ".lock"
    if not path.exists():
        return False
    with path.open("r+b") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def await_unused(data: Path, timeout_s: float) -> bool:
    """Wait at most so long for the end of the broker on this data; False if it still runs."""
    deadline_s = time.monotonic() + timeout_s
    while is_in_use(data):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(POLL_S)
    return True
