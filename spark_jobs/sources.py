"""A queue's messages as a DataFrame: read from its topic by Spark, decoded in the JVM.

What is there is everything that is on the topic, consumed or not; what is read is committed. A
micro-batch has one task for each lane, and a lane's messages are in it by ascending seq; a shuffle
ends that, until `sortWithinPartitions("partition", "seq")`. This module knows Kafka's source; it
must not know what becomes of the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from adapter.errors import InvalidOption
from spark_jobs import descriptors, session
from spark_jobs.kafka_clients import for_java, for_librdkafka
from spark_jobs.large import join_chunks, refuse_chunks
from spark_jobs.topics import topic_of
from spark_jobs.values import with_value

__all__ = ["queue_batch", "queue_records", "queue_stream", "with_value"]

Starting = Literal["earliest", "latest"] | Mapping[int, int]


def queue_stream(
    spark: SparkSession,
    queue: str,
    *,
    bootstrap_servers: str,
    queue_manager: str = "QM1",
    starting: Starting = "earliest",
    max_messages_per_batch: int | None = None,
    kafka_options: Mapping[str, str] | None = None,
    large_messages: bool = False,
) -> DataFrame:
    """Read a queue as a stream; the columns are those of descriptors.COLUMNS.

    starting: where a new query begins: "earliest", "latest", or an offset for each lane; one that
    is started again goes on from its checkpoint. max_messages_per_batch: how much a micro-batch
    takes at most; it may cut a unit, see transforms.complete_units. kafka_options: settings of
    the Kafka client, for security, in librdkafka's names or those of Kafka's Java client.
    large_messages: join the records of messages of more than 4 MiB, in Python; without it such a
    message ends the query with a sentence that says so.
    Raises SparkJobError: no such queue, no Kafka, no connectors.
    """
    records = queue_records(
        spark, queue, bootstrap_servers, queue_manager, starting, max_messages_per_batch,
        kafka_options,
    )  # fmt: skip
    return _messages(records, queue, bootstrap_servers, kafka_options, large_messages)


def queue_batch(
    spark: SparkSession,
    queue: str,
    *,
    bootstrap_servers: str,
    queue_manager: str = "QM1",
    starting: Starting = "earliest",
    kafka_options: Mapping[str, str] | None = None,
    large_messages: bool = False,
) -> DataFrame:
    """Read what is on a queue's topic now; see queue_stream."""
    records = queue_records(
        spark, queue, bootstrap_servers, queue_manager, starting, None, kafka_options, stream=False
    )
    return _messages(records, queue, bootstrap_servers, kafka_options, large_messages)


def _messages(
    records: DataFrame,
    queue: str,
    bootstrap_servers: str,
    kafka_options: Mapping[str, str] | None,
    large_messages: bool,
) -> DataFrame:
    if large_messages:
        found = join_chunks(records, bootstrap_servers, for_librdkafka(kafka_options))
    else:
        found = refuse_chunks(records)
    return found.select(*descriptors.columns(queue, F.col("body")))


def queue_records(
    spark: SparkSession,
    queue: str,
    bootstrap_servers: str,
    queue_manager: str,
    starting: Starting = "earliest",
    max_messages_per_batch: int | None = None,
    kafka_options: Mapping[str, str] | None = None,
    *,
    stream: bool = True,
) -> DataFrame:
    """Read the topic's records as they are, foreign and damaged ones too, with their descriptors.

    The columns: value, topic, partition, offset, timestamp, headers, descriptor.
    """
    session.check_connectors(spark)
    client = for_java(kafka_options)
    topic = topic_of(spark, queue, bootstrap_servers, queue_manager, client)
    options = {f"kafka.{key}": value for key, value in client.items()} | {
        "kafka.bootstrap.servers": bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "subscribe": topic,
        "includeHeaders": "true",
        "startingOffsets": _starting(topic, starting),
    }
    if max_messages_per_batch is not None:
        options["maxOffsetsPerTrigger"] = str(_positive(max_messages_per_batch))
    reader = spark.readStream if stream else spark.read
    rows = reader.format("kafka").options(**options).load()
    kept = ("value", "topic", "partition", "offset", "timestamp", "headers")
    return rows.select(*(F.col(name) for name in kept), descriptors.decode())


def _starting(topic: str, starting: Starting) -> str:
    if isinstance(starting, Mapping):
        lanes = {str(lane): offset for lane, offset in starting.items()}
        return json.dumps({topic: lanes})
    if starting not in ("earliest", "latest"):
        raise InvalidOption(
            f"starting is 'earliest', 'latest' or an offset for each lane, not {starting!r}"
        )
    return starting


def _positive(count: int) -> int:
    if count < 1:
        raise InvalidOption(f"max_messages_per_batch is a number from 1 on, not {count!r}")
    return count
