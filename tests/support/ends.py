"""Where partitions end, for readers of everything and for readers of what is committed: between the
two lies what a transaction has open."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka import admin as kafka_admin

from adapter.storage.ledger.failures import Failure, classify, error_of

WAIT_S = 30.0
LANES = 10
LOOKS = 10
"""So often a transaction is met open that will stay so: its markers are not on their way."""


def ends(
    admin: kafka_admin.AdminClient, places: list[TopicPartition], isolation: IsolationLevel
) -> list[int]:
    """Return the end of each partition."""
    latest: Any = vars(kafka_admin)["OffsetSpec"].latest()  # its stubs leave it out
    asked = dict.fromkeys(places, latest)
    deadline_s = time.monotonic() + WAIT_S
    while True:
        found = admin.list_offsets(asked, isolation_level=isolation)
        try:
            return [found[place].result(WAIT_S).offset for place in places]
        except KafkaException as error:  # a new topic's leader is not known everywhere at once
            passes = error_of(error).code() == KafkaError._NOENT or classify(error) is Failure.RETRY
            if not passes or time.monotonic() > deadline_s:
                raise
            # Of itself it asks with the leader's epoch that it knows, for ever.
            admin.list_topics(timeout=WAIT_S)


def is_open(admin: kafka_admin.AdminClient, topic: str, partitions: int = LANES) -> bool:
    """Whether a transaction is open on a topic: its stable end lags."""
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    everything = ends(admin, places, IsolationLevel.READ_UNCOMMITTED)
    return everything != ends(admin, places, IsolationLevel.READ_COMMITTED)


def stop_in_transaction(
    pid: int, admin: kafka_admin.AdminClient, topic: str, work: Callable[[], None]
) -> None:
    """Stop a process at a moment when it has a transaction open on a topic. work: gives it some."""
    is_open(admin, topic)  # once it can be asked at all, which may take the process to be running
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        work()
        os.kill(pid, signal.SIGSTOP)
        if all(is_open(admin, topic) for _ in range(LOOKS)):
            return
        os.kill(pid, signal.SIGCONT)
    raise AssertionError(f"no transaction was met open on {topic} in {WAIT_S} s")
