"""The job `archive`: everything that is put to a queue, once, in Parquet files."""

from __future__ import annotations

from typing import Any

import click
from pyspark.sql import SparkSession

from spark_jobs import running, sinks, sources


@click.command()
@click.argument("queue")
@click.argument("path")
@running.job_options
@click.option(
    "--large-messages", is_flag=True, help="Also messages of more than 4 MiB; it is slower."
)
def archive(queue: str, path: str, large_messages: bool, **given: Any) -> None:
    """Write the messages of QUEUE to Parquet files below PATH, each exactly once.

    Every batch is a folder of its own, batch_id=N, that appears whole. Started again with the same
    checkpoint it goes on where it ended, whatever ended it.
    """
    path = running.folder(path)
    job = running.job_of(path, given)

    def work(spark: SparkSession) -> dict[str, Any]:
        messages = sources.queue_stream(
            spark, queue, bootstrap_servers=job.bootstrap_servers,
            queue_manager=job.queue_manager, kafka_options=job.kafka_options,
            max_messages_per_batch=job.messages_a_batch or None, large_messages=large_messages,
        )  # fmt: skip
        totals = running.follow(job.start(messages, sinks.parquet(path)))
        return {"queue": queue, "path": path, **totals}

    running.perform("archive", job, work)


if __name__ == "__main__":
    running.script("archive")
