"""What Spark reads of queues: rows a second beside plain Kafka, and from a put to the sink.

Rows are those of one topic each, read to their end by a batch query into a sink that drops them.
The plain reader takes the same records with their headers, and decodes nothing. Read mode get is
measured to its end: from the start of a query, with claims and Parquet files, until the queue is
empty.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import quantiles

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import adapter
from adapter.storage.format import names
from benchmarks.results import Row, Rows
from benchmarks.stack import caught_up_s, queue_manager
from benchmarks.usage import spending
from spark_jobs import session, sinks, sources

MANAGER = "SPARK"
SIZES = {200: 400_000, 1_000: 100_000, 10_000: 20_000}
"""Bytes of a body, and how many are read: some seconds each."""
RUNS = 3
GET_SIZE, GET_COUNT = 200, 200_000
"""Bytes of a body, and how many are got in a run: a few seconds."""
GET_BATCH = 100_000
"""Messages of a micro-batch: each costs Spark some tenths of a second whatever is in it."""
GET = 'format("mq"), get'
LATENCY_MESSAGES = 600
PAUSE_S = 0.03
PERCENT = 100


def measure(bootstrap: str) -> Rows:
    """Rows a second for each size of a body, and how long a message is on its way."""
    rows: Rows = {}
    with queue_manager(bootstrap, MANAGER) as address:
        spark = session.spark_session("benchmark")
        for size, count in SIZES.items():
            fill(address, f"S{size}", size, count)
            rows |= reading(spark, bootstrap, address, size, count)
        rows |= getting(spark, address)
        rows |= latency(
            "STREAM", "queue_stream", address, lambda queue: of_stream(spark, queue, bootstrap)
        )
        rows |= latency("GET", GET, address, lambda queue: of_get(spark, queue, address))
        spark.stop()
    return rows


def fill(address: str, queue: str, size: int, count: int) -> None:
    """Put messages, and wait until they are on the topic."""
    with adapter.connect(address) as qm:
        qm.define_queue(queue)
        qm.queue(queue).put_many(b"x" * size for _ in range(count))
    caught_up_s(address)


def reading(spark: SparkSession, bootstrap: str, address: str, size: int, count: int) -> Rows:
    """Rows a second of the three readers, one after the other, after a warm-up."""
    queue = f"S{size}"
    plain = f"plain.{size}"
    rows = {
        plain: Row(f"{size} B: plain format kafka, with headers", "row/s"),
        f"stream.{size}": Row(
            f"{size} B: queue_batch, descriptor decoded", "row/s", against=plain, at_least=0.8
        ),
        f"mq.{size}": Row(f'{size} B: format("mq"), browse', "row/s", against=plain, at_least=0.5),
    }
    readers: dict[str, Callable[[], DataFrame]] = {
        plain: lambda: of_kafka(spark, bootstrap, names.queue_topic(MANAGER, queue)),
        f"stream.{size}": lambda: sources.queue_batch(
            spark, queue, bootstrap_servers=bootstrap, queue_manager=MANAGER
        ),
        f"mq.{size}": lambda: of_mq(spark, queue, address),
    }
    for reader in readers.values():
        read_s(reader())
    for _ in range(RUNS):
        for name, reader in readers.items():
            with spending() as spent:
                took_s = read_s(reader())
            rows[name].note(count / took_s, spent.each(count))
    return rows


def of_kafka(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """The records as Spark's own source has them."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", topic).option("includeHeaders", "true")
    return reader.option("kafka.isolation.level", "read_committed").load()


def of_mq(spark: SparkSession, queue: str, address: str) -> DataFrame:
    """The messages as our data source has them."""
    return spark.read.format("mq").option("queue", queue).option("address", address).load()


def read_s(rows: DataFrame) -> float:
    """Read everything, and drop it."""
    began = time.monotonic()
    rows.write.format("noop").mode("overwrite").save()
    return time.monotonic() - began


def getting(spark: SparkSession, address: str) -> Rows:
    """Rows a second of read mode get into Parquet, after a warm-up."""
    plain = f"plain.{GET_SIZE}"
    name = f"{GET_SIZE} B: {GET}, to Parquet, to its end"
    row = Row(name, "row/s", against=plain, at_least=0.3)
    for run in range(RUNS + 1):
        queue = f"GET{run}"
        fill(address, queue, GET_SIZE, GET_COUNT)
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, adapter.connect(address) as qm:
            sink = sinks.parquet(f"{folder}/files")
            messages = of_get(spark, queue, address, GET_BATCH)
            with spending() as spent, running(messages, sink, folder) as query:
                while qm.queue(queue).status().current_depth:
                    query.processAllAvailable()
            took_s = time.monotonic() - began
            found = spark.read.parquet(f"{folder}/files").count()
        if found != GET_COUNT:
            raise RuntimeError(f"{found} of {GET_COUNT} messages are in the files")
        if run:
            row.note(GET_COUNT / took_s, spent.each(GET_COUNT))
    return {f"get.{GET_SIZE}": row}


def of_stream(spark: SparkSession, queue: str, bootstrap: str) -> DataFrame:
    """A queue as queue_stream has it."""
    return sources.queue_stream(spark, queue, bootstrap_servers=bootstrap, queue_manager=MANAGER)


def of_get(spark: SparkSession, queue: str, address: str, most: int = 10_000) -> DataFrame:
    """A queue that is consumed, in micro-batches of so many messages at most."""
    reader = spark.readStream.format("mq").option("readMode", "get").option("consumer", "BENCH")
    return reader.options(queue=queue, address=address, maxMessagesPerBatch=most).load()


@contextmanager
def running(messages: DataFrame, sink: sinks.Sink, folder: str) -> Iterator[StreamingQuery]:
    """Run a query; it is stopped behind the block."""
    writer = messages.writeStream.foreachBatch(sink)
    query = writer.option("checkpointLocation", f"{folder}/_checkpoint").start()
    try:
        yield query
    finally:
        query.stop()


def latency(kind: str, name: str, address: str, messages: Callable[[str], DataFrame]) -> Rows:
    """From a put to the row in foreachBatch, with a message every 30 ms."""
    rows = {
        f"{kind}.{part}": Row(f"{name}: from a put to the sink, {part}", "ms")
        for part in ("p50", "p99")
    }
    found: list[float] = []
    done = threading.Event()

    def take(batch: DataFrame, _number: int) -> None:
        put = [row[0] for row in batch.select("put_time").collect()]
        now_s = time.time()
        found.extend((now_s - one.timestamp()) * 1000 for one in put)
        if len(found) > LATENCY_MESSAGES:
            done.set()

    with adapter.connect(address) as qm, tempfile.TemporaryDirectory() as folder:
        qm.define_queue(f"LATENCY.{kind}")
        queue = qm.queue(f"LATENCY.{kind}")
        queue.put("first")
        caught_up_s(address)
        with running(messages(queue.name), take, folder):
            for number in range(LATENCY_MESSAGES):
                queue.put(str(number))
                time.sleep(PAUSE_S)
            done.wait(60)
    cuts = quantiles(found[LATENCY_MESSAGES // 10 :], n=PERCENT)
    rows[f"{kind}.p50"].runs.append(cuts[49])
    rows[f"{kind}.p99"].runs.append(cuts[98])
    return rows
