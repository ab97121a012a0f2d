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
from spark_jobs.values import REASON, VALUE

pandas_state.mend()  # here: Spark's Python processes import this module for _collect

UNIT = ("topic", "unit_id")
LANE = ("topic", "partition")
DEAD_LETTER = ("queue", "topic", "partition", "offset", "seq", "message_id", "put_time", "body")


def complete_units(messages: DataFrame) -> DataFrame:
    """Hold back the messages of units of which not all that this queue got has been read.

    Of a stream they come when the last one does, a unit's messages one behind the other, in the
    order in which they were put; the stream keeps those that wait, in its checkpoint. A unit whose
    beginning is not there any more never comes. The order of a lane ends here: see in_lanes().
    """
    return _as_they_complete(messages) if messages.isStreaming else _complete_now(messages)


def _complete_now(messages: DataFrame) -> DataFrame:
    seen = F.count(F.lit(1)).over(Window.partitionBy(*UNIT))
    counted = messages.withColumn("_seen", seen)
    return counted.where(F.col("_seen") == F.col("queue_unit_size")).drop("_seen")


def _as_they_complete(messages: DataFrame) -> DataFrame:
    return messages.groupBy(*UNIT).applyInPandasWithState(
        _collect,  # type: ignore[arg-type]  # pandas is not typed here
        messages.schema,
        "rows binary",
        "append",
        GroupStateTimeout.NoTimeout,
    )


def _collect(
    _unit: tuple[Any, ...], arrived: Iterator[pandas.DataFrame], state: GroupState
) -> Iterator[pandas.DataFrame]:
    """Add what has arrived of one unit to what was there; all of it once it is whole."""
    waiting = [pickle.loads(state.get[0])] if state.exists else []  # noqa: S301 -- written below
    rows = pandas.concat([*waiting, *arrived], ignore_index=True)
    if len(rows) < int(rows["queue_unit_size"].iloc[0]):
        state.update((pickle.dumps(rows),))
        return
    if state.exists:
        state.remove()
    yield rows.sort_values("queue_unit_index", ignore_index=True)


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
