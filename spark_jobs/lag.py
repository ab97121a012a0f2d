"""The job `lag`: how far behind those are that get from queues, as the queue manager reports.

Events say when a queue was full and how many messages that is, when a message came back so often
that it reached the threshold, and from when to when a queue's topic could not be written, which is
how old its copies became. They become rows of Parquet, and a table by queue and time.
"""

from __future__ import annotations

from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.avro.functions import from_avro

from adapter.format import names
from adapter.format.schemas import VERSION, schema_text
from spark_jobs import running, sinks
from spark_jobs.errors import SparkJobError
from spark_jobs.topics import list_topics

ROWS_MAX = 50


@click.command()
@click.argument("path")
@running.job_options
@click.option(
    "--window", default="1 hour", show_default=True, metavar="TIME",
    help="How much time a row of the report is about.",
)  # fmt: skip
def lag(path: str, window: str, **given: Any) -> None:
    """Write the events of a queue manager to Parquet below PATH, and report by queue and time.

    The report has the depth of queues that were full, how often messages came back, and for how
    long a queue's copies were held up.
    """
    path = running.folder(path)
    job = running.job_of(path, given)

    def work(spark: SparkSession) -> dict[str, Any]:
        totals = running.follow(job.start(events(spark, job), sinks.parquet(path)))
        report: dict[str, Any] = {"queue_manager": job.queue_manager, "path": path, **totals}
        if totals["messages"] or _has_batches(spark, path):
            rows = table(spark.read.parquet(path), window).limit(ROWS_MAX).collect()
            report["lag"] = [row.asDict() for row in rows]
        return report

    running.perform("lag", job, work)


def _has_batches(spark: SparkSession, path: str) -> bool:
    return sinks.Files(spark, path).has("batch_id=0")


def events(spark: SparkSession, job: running.Job) -> DataFrame:
    """The queue manager's events as a stream: kind, name, time, details, offset."""
    topic = names.events_topic(job.queue_manager)
    if topic not in list_topics(spark, job.bootstrap_servers, job.kafka_options):
        raise SparkJobError(
            f"Kafka has no topic {topic}: is {job.queue_manager} the queue manager's name, and is "
            "this its Kafka?"
        )
    options = {f"kafka.{key}": value for key, value in job.kafka_options.items()} | {
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
    """By time and queue: the depth when it was full, counts of what came back, seconds held up."""
    by_queue = Window.partitionBy("name").orderBy("offset")
    nearest = found.where(F.col("kind").isin("queue_parked", "queue_resumed"))
    parked = nearest.withColumn("until", F.lead("time").over(by_queue)).where(
        F.col("kind") == "queue_parked"
    )
    held = parked.select("offset", (F.unix_millis("until") - F.unix_millis("time")).alias("held"))
    rows = found.join(held, "offset", "left").withColumn("since", F.window("time", window)["start"])
    full, back = F.col("kind") == "queue_full", F.col("kind") == "backout_threshold_reached"
    return (
        rows.where(F.col("name") != "")
        .groupBy(F.date_format("since", "yyyy-MM-dd HH:mm").alias("since"), F.col("name"))
        .agg(
            F.count_if(full).alias("full"),
            F.max(F.when(full, F.expr("cast(details['max_depth'] as bigint)"))).alias("depth"),
            F.count_if(back).alias("backed_out"),
            F.max(F.when(back, F.expr("cast(details['backout_count'] as int)"))).alias(
                "backout_count"
            ),
            (F.sum("held") / 1000).alias("held_up_s"),
        )
        .orderBy("since", "name")
    )


if __name__ == "__main__":
    running.script("lag")
