"""Waiting until brokers answer, and telling whether a data folder is in use.

A broker is ready when it answers a real request itself, and its answer names every broker that is
waited for. (Others may still name a broker that was killed a moment ago.)
"""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.jars import Say, say_nothing
from adapter.localkafka.ports import HOST
from adapter.localkafka.settings import BrokerPlan

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

# A loaded two-core machine with three brokers needs about 15 s; one with ten thousand partitions
# reads the log of each of them, for minutes, and writes a line for each.
READY_TIMEOUT_S = 120
"""How long a broker may neither answer nor log anything."""
READY_TIMEOUT_S_MAX = 1800
SAY_S = 5.0
"""How often progress is reported."""
CONNECT_TIMEOUT_S = 1.0
REQUEST_TIMEOUT_S, REQUEST_TIMEOUT_S_MAX = 2.0, 30.0
"""For the first answer, and each time twice as long: a machine that is short of processors would
never answer a client that is given up each time before its answer has come."""
POLL_S = 0.02
IS_MACOS = sys.platform == "darwin"
FLOCK = struct.Struct("qqihh" if IS_MACOS else "hhqqi")
"""struct flock: type, whence, start, length and process id, in the order of the system."""
FLOCK_TYPE, FLOCK_PID = (3, 2) if IS_MACOS else (0, 4)
FLOCK_OF_READER = (0, 0, 0, fcntl.F_RDLCK, 0) if IS_MACOS else (fcntl.F_RDLCK, 0, 0, 0, 0)
"""Only a lock that is not shared is in its way. Another process that asks has none."""


def await_ready(
    wanted: Sequence[BrokerPlan], check_alive: Callable[[], None], say: Say = say_nothing
) -> None:
    """Return when the wanted brokers answer; check_alive raises if one of them has ended."""
    numbers = {plan.number for plan in wanted}
    patience = Patience(say)
    for plan in wanted:
        timeout_s = REQUEST_TIMEOUT_S
        while not numbers <= (named := _named_by(plan, timeout_s)):
            check_alive()
            patience.check(plan)
            if not named and _listens(plan):
                timeout_s = min(2 * timeout_s, REQUEST_TIMEOUT_S_MAX)
            time.sleep(POLL_S)
    check_alive()


class Patience:
    """Waits for brokers as long as they do something, and says so now and then."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._began_s = self._moved_s = time.monotonic()
        self._said_s = self._began_s
        self._logged = (0, 0)

    def check(self, plan: BrokerPlan) -> None:
        """Raise if a broker has come to nothing for too long."""
        now_s = time.monotonic()
        logged = plan.number, _size(plan.log_file)
        if logged != self._logged:
            self._logged, self._moved_s = logged, now_s
        silent_s = now_s - self._moved_s
        if silent_s > READY_TIMEOUT_S or now_s - self._began_s > READY_TIMEOUT_S_MAX:
            raise LocalKafkaError(
                f"broker {plan.number} did not answer in {now_s - self._began_s:.0f} s, and logged "
                f"nothing for {silent_s:.0f} s: look at {plan.log_file}; a machine short of memory "
                "or processors is a common cause"
            )
        if now_s - self._said_s >= SAY_S:
            self._said_s = now_s
            self._say(
                f"broker {plan.number} is starting, for {now_s - self._began_s:.0f} s now; with "
                "many topics it takes minutes"
            )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _named_by(plan: BrokerPlan, timeout_s: float) -> set[int]:
    """The brokers that this one's own answer names; none while it does not answer in time."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 -- `mqk put` needs no client

    if not _listens(plan):
        return set()
    try:
        # A new client for each attempt: one that has heard of the others may ask any of them.
        return set(_quiet_admin(plan.address).list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return set()


def _listens(plan: BrokerPlan) -> bool:
    try:
        socket.create_connection((HOST, plan.port), CONNECT_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _quiet_admin(address: str) -> AdminClient:
    """A client that does not report every attempt that comes too early."""
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 -- as above

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
    try:
        lock = (data / ".lock").open("rb")
    except FileNotFoundError:  # a broker removes it at its end
        return False
    with lock:
        try:  # shared: two that ask at once must not take each other for a broker
            fcntl.lockf(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def holder_of(data: Path) -> int | None:
    """Return the id of the process that holds a broker's lock on this data; None if none does."""
    try:
        lock = (data / ".lock").open("rb")
    except FileNotFoundError:
        return None
    with lock:
        held = fcntl.fcntl(lock, fcntl.F_GETLK, FLOCK.pack(*FLOCK_OF_READER))
    fields = FLOCK.unpack(held)
    return None if fields[FLOCK_TYPE] == fcntl.F_UNLCK else fields[FLOCK_PID]


def await_unused(data: Path, timeout_s: float) -> bool:
    """Wait at most so long for the end of the broker on this data; False if it still runs."""
    deadline_s = time.monotonic() + timeout_s
    while is_in_use(data):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(POLL_S)
    return True
