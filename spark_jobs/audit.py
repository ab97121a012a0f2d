"""The job `audit`: whether a queue's topic is as a queue manager must have written it.

It looks at every record by itself, at the seqs of each lane, and at what each unit says of its own
size. What was deleted from the beginning of a lane, because it was consumed long ago, is no fault.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from spark_jobs import descriptors, running, sources

EXAMPLES_MAX = 10
SETTLE_S = 1.0
"""Kafka shows the lanes of a transaction one after the other: a unit that is not whole is looked at
again."""
TRIES_MAX = 3


@click.command()
@click.argument("queue")
@running.source_options
def audit(queue: str, **given: Any) -> None:
    """Check the topic of QUEUE: foreign and damaged records, order and gaps of lanes, whole units.

    The exit status is 1 if anything is not as it must be.
    """
    job = running.job_of("", given)

    def work(spark: SparkSession) -> dict[str, Any]:
        records = sources.queue_records(
            spark, queue, job.bootstrap_servers, job.queue_manager,
            kafka_options=job.kafka_options, stream=False,
        )  # fmt: skip
        return {"queue": queue, **settle(records)}

    if running.perform("audit", job, work)["violations"]:
        sys.exit(1)


def settle(records: DataFrame) -> dict[str, Any]:
    """Judge; again as long as only units at the end are not whole, which may still be coming."""
    report = judge(records)
    for _ in range(TRIES_MAX):
        if report["violations"] != report["incomplete_units"] or not report["violations"]:
            break
        time.sleep(SETTLE_S)
        report = judge(records)
    return report


def judge(records: DataFrame) -> dict[str, Any]:
    """Look at all records; counts of what there is and of what is wrong, and some examples."""
    index, count = descriptors.chunk_place()
    told = records.select(
        *("topic", "partition", "offset", "descriptor"),
        descriptors.problem(),
        index.alias("index"),
        count.alias("count"),
    ).persist()
    try:
        problems = told.where(F.col(descriptors.PROBLEM).isNotNull())
        whole = F.col("index").isNull() | (F.col("index") == F.col("count") - 1)
        messages = told.where(F.col(descriptors.PROBLEM).isNull() & whole).select(
            "topic", "partition", "offset", "descriptor.*"
        )
        gaps, units = misplaced_messages(messages), incomplete(messages)
        counts = {
            "messages": messages.count(),
            "units": messages.select("unit").distinct().count(),
            "no_messages": problems.count(),
            "out_of_order": gaps.count(),
            "incomplete_units": units.count(),
        }
        examples = [
            *_examples(problems.select(descriptors.where(), descriptors.PROBLEM), "is {1}"),
            *_examples(gaps.select(descriptors.where(), "seq", "wanted"), "has seq {1}, not {2}"),
            *_examples(units.select(F.hex("unit"), "found", "size"), "has {1} of {2} messages"),
        ]
    finally:
        told.unpersist()
    wrong = sum(counts[name] for name in ("no_messages", "out_of_order", "incomplete_units"))
    report: dict[str, Any] = {**counts, "violations": wrong}
    if examples:
        report["examples"] = "; ".join(examples)
    return report


def misplaced_messages(messages: DataFrame) -> DataFrame:
    """Messages whose seq is not the one before plus one, in the order of their lane."""
    lane = Window.partitionBy("partition").orderBy("offset")
    wanted = messages.withColumn("wanted", F.lag("seq").over(lane) + 1)
    return wanted.where(F.col("wanted") != F.col("seq"))


def incomplete(messages: DataFrame) -> DataFrame:
    """Units of which this queue has not all messages, though none of theirs was deleted.

    A lane from whose beginning messages were deleted may have had those of every unit that is not
    later than what the lane begins with now.
    """
    lanes = messages.groupBy("partition").agg(F.min("seq").alias("first"))
    deleted = lanes.where(F.col("first") > 1)
    begins = messages.join(deleted, "partition").where(F.col("seq") == F.col("first"))
    until = begins.agg(F.max("put_time_ms").alias("until"))
    units = messages.groupBy("unit").agg(
        F.countDistinct("queue_unit_index").alias("found"),
        F.max("queue_unit_size").alias("size"),
        F.min("put_time_ms").alias("put"),
    )
    short = units.where(F.col("found") != F.col("size")).crossJoin(until)
    return short.where(F.col("until").isNull() | (F.col("put") > F.col("until")))


def _examples(found: DataFrame, text: str) -> list[str]:
    return [f"{row[0]} {text.format(*row)}" for row in found.limit(EXAMPLES_MAX).collect()]


if __name__ == "__main__":
    running.script("audit")
