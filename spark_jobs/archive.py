"""The job `archive`: everything that is put to a queue, once, in Parquet files."""

from __future__ import annotations

from typing import Any

import click
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import adapter
from adapter.command import options
from adapter.command.grouped import GroupedCommand
from spark_jobs import running, sinks, sources
from spark_jobs.getting import MESSAGES_MAX, await_copies


@click.command(cls=GroupedCommand, groups=running.GROUPS)
@click.argument("queue")
@click.argument("path")
@running.job_options
@click.option(
    "--large-messages", is_flag=True, help="Also messages of more than 4 MiB; it is slower."
)
@click.option(
    "--consume",
    "consumer",
    metavar="NAME",
    help="Get the messages from the queue, as its durable consumer of this name.",
)
@options.queue_manager
def archive(
    queue: str, path: str, large_messages: bool, consumer: str | None, qmgr: str, **given: Any
) -> None:
    """Write the messages of QUEUE to Parquet files below PATH, each exactly once.

    Every batch is a folder of its own, batch_id=N, that appears whole. Started again with the same
    checkpoint it goes on where it ended, whatever ended it. With --consume the messages are gone
    from the queue when they are in the files; without it they stay.
    """
    path = running.folder(path)
    job = running.job_of(path, given)

    def work(spark: SparkSession) -> dict[str, Any]:
        if consumer is not None:
            totals = running.follow(_consuming(spark, job, queue, path, consumer, qmgr))
            return {"queue": queue, "path": path, **totals}
        messages = sources.queue_stream(
            spark, queue, bootstrap_servers=job.bootstrap_servers,
            queue_manager=job.queue_manager, kafka_options=job.kafka_options,
            max_messages_per_batch=job.messages_a_batch or None, large_messages=large_messages,
        )  # fmt: skip
        check = job.topic_check(spark, queue)
        totals = running.follow(job.start(messages, sinks.parquet(path)), check)
        return {"queue": queue, "path": path, **totals}

    running.perform("archive", job, work)


def _consuming(
    spark: SparkSession, job: running.Job, queue: str, path: str, consumer: str, address: str
) -> StreamingQuery:
    reader = spark.readStream.format("mq").option("readMode", "get").option("queue", queue)
    limit = min(job.messages_a_batch or MESSAGES_MAX, MESSAGES_MAX)
    client = {f"kafka.{name}": value for name, value in job.kafka_options.items()}
    messages = reader.options(
        address=address, consumer=consumer, maxMessagesPerBatch=limit, **client
    ).load()
    if job.available_now:
        with adapter.connect(address, application="spark") as qm:
            await_copies(qm)
    query = job.start_endless(messages, sinks.parquet(path))
    if job.available_now:
        running.end_when_idle(query)
    return query


if __name__ == "__main__":
    running.script("archive")
