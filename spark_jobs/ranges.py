"""Ranges of one lane's records, from an offset to before another, as a task reads them.

This module knows Kafka's client; it must not know what is in the records.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from adapter.storage.ledger.failures import explain
from spark_jobs.errors import SparkJobError

STALL_S = 60.0
"""Without any record of a range that is known to be there."""
POLL_S = 0.5
FETCH_COUNT = 5_000
GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
GROUP = "mqk-spark"
"""Which tasks have the right to describe: `mqk acl list --role spark`."""
CONSUMER: Mapping[str, Any] = {
    "group.id": GROUP,
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 50,
}
CONSUMER_SPEED: Mapping[str, Any] = {"fetch.queue.backoff.ms": 10}
"""When enough has come, librdkafka asks for more only after that time: by itself after a second,
in which a task has long read what there was."""


def records(
    client: Mapping[str, Any], topic: str, lane: int, start: int, end: int
) -> Iterator[Message]:
    """Iterate over the committed records of a range; see blocks."""
    for block in blocks(client, topic, lane, start, end):
        yield from block


def blocks(
    client: Mapping[str, Any],
    topic: str,
    lane: int,
    start: int,
    end: int,
    *,
    fail_on_data_loss: bool = True,
) -> Generator[list[Message], None, None]:
    """Read the committed records of a range, as many together as have come, at least one.

    client: settings, among them where Kafka is. Marks of transactions are no records. Raises
    SparkJobError for what cannot be read; unless fail_on_data_loss a range begins later if its
    beginning has been deleted.
    """
    lost = {} if fail_on_data_loss else {"auto.offset.reset": "earliest"}
    consumer = Consumer({**CONSUMER_SPEED, **client, **CONSUMER, **lost})
    try:
        consumer.assign([TopicPartition(topic, lane, start)])
        yield from _until(consumer, f"{topic}[{lane}]", end)
    except KafkaException as problem:
        if problem.args[0].code() in GONE:
            raise SparkJobError(
                f"mqk: records of {topic}[{lane}] from offset {start} on have been deleted before "
                "this query has read them: consumed messages are kept for "
                "kafka.consumed_retention_ms. Begin with a new checkpoint, or go on without them "
                "with option failOnDataLoss=false"
            ) from None
        why = explain(problem, "Read", topic, group=GROUP)
        raise SparkJobError(f"mqk: {topic}[{lane}] cannot be read: {why}") from None
    finally:
        consumer.close()


def _until(consumer: Consumer, where: str, end: int) -> Iterator[list[Message]]:
    """Read on to the end of a range; marks at its end are no records."""
    heard_s = time.monotonic()
    while True:
        some = consumer.consume(FETCH_COUNT, 0) or consumer.consume(1, POLL_S)
        if some:
            heard_s = time.monotonic()
            is_end = (some[-1].offset() or 0) >= end
            if is_end or any(record.error() is not None for record in some):
                some = [record for record in some if _is_record(record, end)]
            if some:
                yield some
            if is_end:
                return
        if time.monotonic() - heard_s > STALL_S:
            raise SparkJobError(
                f"mqk: Kafka did not send {where} up to offset {end} in {STALL_S:.0f} s"
            )


def _is_record(record: Message, end: int) -> bool:
    """Whether this is a record before the end, and not a partition's end; raises other errors."""
    error = record.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return error is None and (record.offset() or 0) < end
