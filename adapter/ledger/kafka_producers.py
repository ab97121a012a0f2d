"""Producers that are made for a few records: how to await these without librdkafka's timers.

A new idempotent producer needs an id of Kafka before it sends anything. librdkafka 2.16 asks for it
on a timer of 500 ms, or at once when it has an answer about topics: so it is asked about one. It
still waits if that answer comes before the connection is up on which it asks for the id, in one of
five: so the question is repeated while nothing is reported.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from confluent_kafka import KafkaException, Producer

POLL_S = 0.1
ASK_AGAIN_S = 0.02
ASKS_MAX = 10
"""How often, and after what pause, a producer that reports nothing asks for its topic again."""


def await_reports(
    producer: Producer,
    topic: str,
    is_reported: Callable[[], bool],
    deadline_s: float,
    check: Callable[[], object] = lambda: None,
) -> None:
    """Serve the delivery reports of a new producer until all are there, or until deadline_s.

    deadline_s: by time.monotonic(). check: called now and then; what it raises ends the waiting.
    Raises KafkaException if the producer is of no use, as without the right to write any topic.
    """
    asks = ASKS_MAX
    while not is_reported() and time.monotonic() < deadline_s:
        check()
        producer.poll(ASK_AGAIN_S if asks else POLL_S)
        if asks and not is_reported():
            asks -= 1
            with contextlib.suppress(KafkaException):  # the reports say what is wrong
                producer.list_topics(topic, POLL_S)
