"""What is made of a queue's messages before they are written: whole units, lanes in order, bodies
that could be read and those that could not.

This module knows the columns of messages; it must not know where they come from or go to.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pandas
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from spark_jobs import pandas_state
from spark_jobs.descriptors import MODE_METADATA
from spark_jobs.errors import SparkJobError
from spark_jobs.values import REASON, VALUE

pandas_state.apply_correction()  # here: Spark's Python processes import this module for _collect

UNIT = ("topic", "unit_id")
BUCKET = "_bucket"
BUCKETS = 32
"""Units are put together in so many groups, by what their ids hash to: Spark calls Python for each
group of a micro-batch, and a call costs about as much as a thousand rows."""
LANE = ("topic", "partition")
DEAD_LETTER = ("queue", "topic", "partition", "offset", "seq", "message_id", "put_time", "body")


def complete_units(df: DataFrame) -> DataFrame:
    """Hold back the messages of units of which not all that this queue got has been read.

    Of a stream they come when the last one does, a unit's messages one behind the other, in the
    order in which they were put; the stream keeps those that wait, in its checkpoint. A unit whose
    beginning is not there any more never comes. The order of a lane ends here: see in_lanes().
    Raises SparkJobError for a stream that gets: what it holds back would be gone from the queue.
    """
    if not df.isStreaming:
        return _complete_now(df)
    if df.schema["unit_id"].metadata.get(MODE_METADATA) == "get":
        raise SparkJobError(
            "complete_units() is for streams that consume nothing, and this one has readMode get: "
            "what it holds back of a unit, of which a part expires or is got by another program, "
            "would be lost. Read the queue with readMode browse or queue_stream(), or leave "
            "complete_units() out"
        )
    return _as_they_complete(df)


def _complete_now(messages: DataFrame) -> DataFrame:
    seen = F.count(F.lit(1)).over(Window.partitionBy(*UNIT))
    counted = messages.withColumn("_seen", seen)
    return counted.where(F.col("_seen") == F.col("queue_unit_size")).drop("_seen")


def _as_they_complete(messages: DataFrame) -> DataFrame:
    bucket = F.pmod(F.xxhash64(*UNIT), F.lit(BUCKETS))
    return (
        messages.withColumn(BUCKET, bucket)
        .groupBy(BUCKET)
        .applyInPandasWithState(
            _collect,  # type: ignore[arg-type]  # pandas is not typed here
            messages.schema,
            "rows binary",
            "append",
            GroupStateTimeout.NoTimeout,
        )
    )


def _collect(
    _bucket: tuple[Any, ...], arrived: Iterator[pandas.DataFrame], state: GroupState
) -> Iterator[pandas.DataFrame]:
    """Add what has arrived of some units to what was there; all of those that are whole."""
    waiting = [pickle.loads(state.get[0])] if state.exists else []  # noqa: S301 -- written below
    rows = pandas.concat([*waiting, *arrived], ignore_index=True).drop(columns=BUCKET)
    unit = rows.groupby(list(UNIT), sort=False).ngroup()
    is_whole = unit.map(unit.value_counts()) >= rows["queue_unit_size"]
    if not is_whole.all():
        state.update((pickle.dumps(rows[~is_whole]),))
    elif state.exists:
        state.remove()
    if is_whole.any():
        whole = rows[is_whole].assign(_unit=unit[is_whole])
        yield whole.sort_values(["_unit", "queue_unit_index"], ignore_index=True).drop(
            columns="_unit"
        )


def in_lanes(messages: DataFrame, tasks: int = 1) -> DataFrame:
    """Bring a batch back into the order of its lanes after a shuffle; not for streams as such."""
    return messages.repartition(tasks, *LANE).sortWithinPartitions(*LANE, "seq")


def readable(messages: DataFrame) -> DataFrame:
    """Of messages with values, those that have one."""
    return messages.where(F.col(REASON).isNull()).drop(REASON)


def dead_letters(messages: DataFrame) -> DataFrame:
    """Of messages with values, those that could not be read, with the reason."""
    unreadable = messages.where(F.col(REASON).isNotNull()).drop(VALUE)
    return unreadable.select(*DEAD_LETTER, F.col(REASON).alias("reason"))
