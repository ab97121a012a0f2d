"""The job `lag`: how far behind those are that get from queues, as the queue manager reports.

Statistics say at an interval how many messages a queue holds, how old the oldest one is, and what
was put, got, and came back. Other events say when a queue was full and how many messages that is,
when a message came back so often that it reached the threshold, and from when to when a queue's
topic could not be written, which is how old its copies became. They become rows of Parquet, and a
table by queue and time.
"""

from __future__ import annotations

from typing import Any

import click
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.avro.functions import from_avro

from adapter.storage.format import names
from adapter.storage.format.schemas import VERSION, schema_text
from spark_jobs import running, sinks
from spark_jobs.errors import SparkJobError
from spark_jobs.kafka_clients import for_java
from spark_jobs.topics import list_topics

ROWS_MAX = 50
STATISTICS, FULL, BACK = "queue_statistics", "queue_full", "backout_threshold_reached"
PARKED, RESUMED = "queue_parked", "queue_resumed"
COUNTED = ("puts", "gets", "returned", "discarded")
OF_QUEUES = (STATISTICS, FULL, BACK, PARKED, RESUMED)


@click.command()
@click.argument("path")
@running.job_options
@click.option(
    "--window", default="1 hour", show_default=True, metavar="TIME",
    help="How much time a row of the report is about.",
)  # fmt: skip
def lag(path: str, window: str, **given: Any) -> None:
    """Write the events of a queue manager to Parquet below PATH, and report by queue and time.

    The report has the latest rows: the greatest depth and age of a queue, what was put, got and
    came back, how often it was full, and for how long its copies were held up.
    """
    path = running.folder(path)
    job = running.job_of(path, given)

    def work(spark: SparkSession) -> dict[str, Any]:
        totals = running.follow(job.start(events(spark, job), sinks.parquet(path)))
        report: dict[str, Any] = {"queue_manager": job.queue_manager, "path": path, **totals}
        if totals["messages"] or sinks.Files(spark, path).has("batch_id=0"):
            rows = table(spark.read.parquet(path), window)
            latest = rows.orderBy(F.desc("since"), F.desc("name")).limit(ROWS_MAX)
            report["lag"] = [row.asDict() for row in reversed(latest.collect())]
        return report

    running.perform("lag", job, work)


def events(spark: SparkSession, job: running.Job) -> DataFrame:
    """The queue manager's events as a stream: kind, name, time, details, offset."""
    topic = names.events_topic(job.queue_manager)
    if topic not in list_topics(spark, job.bootstrap_servers, job.kafka_options):
        raise SparkJobError(
            f"Kafka has no topic {topic}: is {job.queue_manager} the queue manager's name, and is "
            "this its Kafka?"
        )
    options = {f"kafka.{key}": value for key, value in for_java(job.kafka_options).items()} | {
        "kafka.bootstrap.servers": job.bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "subscribe": topic,
        "startingOffsets": "earliest",
        "failOnDataLoss": "false",  # events are deleted by their age, read or not
    }
    if job.messages_a_batch:
        options["maxOffsetsPerTrigger"] = str(job.messages_a_batch)
    records = spark.readStream.format("kafka").options(**options).load()
    ours = F.expr(f"substring(value, 1, 1) = x'{VERSION:02x}'")
    event = from_avro(F.expr("substring(value, 2)"), schema_text("event"), {"mode": "PERMISSIVE"})
    told = records.where(ours).select(event.alias("event"), "offset")
    time = F.timestamp_millis(F.col("event.time_ms")).alias("time")
    return told.select("event.kind", "event.name", time, "event.details", "offset")


def table(found: DataFrame, window: str) -> DataFrame:
    """By time and queue, unordered: greatest depth and age, sums of what was counted, how often it
    was full, how often messages reached the backout threshold, seconds held up.
    """
    kind = F.col("kind")
    by_queue = Window.partitionBy("name").orderBy("offset")
    nearest = found.where(kind.isin(PARKED, RESUMED))
    parked = nearest.withColumn("until", F.lead("time").over(by_queue)).where(kind == PARKED)
    held = parked.select("offset", (F.unix_millis("until") - F.unix_millis("time")).alias("held"))
    rows = found.join(held, "offset", "left").withColumn("since", F.window("time", window)["start"])
    deepest = F.coalesce(_detail("current_depth", STATISTICS), _detail("max_depth", FULL))
    return (
        rows.where(kind.isin(*OF_QUEUES))
        .groupBy(F.date_format("since", "yyyy-MM-dd HH:mm").alias("since"), F.col("name"))
        .agg(
            F.max(deepest).alias("depth"),
            F.max(_detail("oldest_message_age_s", STATISTICS, "double")).alias("oldest_age_s"),
            *(F.sum(_detail(one, STATISTICS)).alias(one) for one in COUNTED),
            F.count_if(kind == FULL).alias("full"),
            F.count_if(kind == BACK).alias("backed_out"),
            F.max(_detail("backout_count", BACK)).alias("backout_count"),
            (F.sum("held") / 1000).alias("held_up_s"),
        )
    )


def _detail(name: str, kind: str, type_name: str = "bigint") -> Column:
    """A figure of the events of one kind; null of all others."""
    return F.when(F.col("kind") == kind, F.col("details")[name].cast(type_name))


if __name__ == "__main__":
    running.script("lag")
