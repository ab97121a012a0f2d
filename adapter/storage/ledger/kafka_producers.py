"""Producers that are made for a few records: how to await these without librdkafka's timers.

A new idempotent producer needs an id of Kafka before it sends anything. librdkafka 2.16 asks for it
on a timer of 500 ms, or at once when it has an answer about topics: so it is asked about one. It
still waits if that answer comes before the connection is up on which it asks for the id, in one of
five: so the question is repeated while nothing is reported.

**A client is ended, not dropped.** A client of Kafka ends when the last reference to it goes. The
traceback of an exception refers to the frames that it passed, these refer to the client, and who
keeps the exception keeps a client that has three threads and connects again and again. So a client
that was made for one task is ended by who made it, whatever becomes of the task.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from confluent_kafka import KafkaException, Producer

POLL_S = 0.1
ASK_AGAIN_S = 0.02
ASKS_MAX = 10
"""How often, and after what pause, a producer that reports nothing asks for its topic again."""


@contextlib.contextmanager
def closing(producer: Producer) -> Iterator[Producer]:
    """End a producer behind the block, as with() does that of an AdminClient; not a transactional
    one. What it has not sent is not sent any more.
    """
    try:
        yield producer
    finally:
        end(producer)


def end(producer: Producer) -> None:
    """End a producer that is not transactional. What it has not sent is not sent any more."""
    with contextlib.suppress(KafkaException):
        producer.purge()  # or else its end waits until that is sent
    producer.close()


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
