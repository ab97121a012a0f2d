"""Messages that are several records of their topic: refused, or joined wherever a batch was cut.

The records of a message lie one behind the other. The row of the last one becomes the message's,
and what came before it is read again from Kafka by the task that has that row: so nothing is kept
between batches. It costs every row a way through Python, and is therefore asked for.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from adapter.storage.format import chunks
from adapter.storage.format.record_headers import headers_of
from adapter.storage.format.schemas import UnreadableError
from spark_jobs import descriptors, ranges
from spark_jobs.errors import SparkJobError

NO_MESSAGE = chunks.place_of(chunks.NO_MESSAGE)[0]
"""As the index of a chunk: the record belongs to no message."""


def refuse_chunks(records: DataFrame) -> DataFrame:
    """End the query at a record that is only a part."""
    index, count = descriptors.chunk_place()
    text = F.concat(
        F.lit("mqk: the record "),
        descriptors.where(),
        F.lit(
            " is a part of a message of more than 4 MiB: read the queue with large_messages=True"
        ),
    )
    part = F.raise_error(text).cast("binary")
    body = F.when(count.isNotNull(), part).otherwise(_body(records))
    return _keep(records.where(index.isNull() | (index != NO_MESSAGE)), body)


def _body(records: DataFrame) -> Column:
    """The value of a record that is a message: an empty body may have none.

    It ends the query at other records by itself, if it is the only column that is read.
    """
    body = F.coalesce(F.col("value"), F.lit(b""))
    return F.when(descriptors.refusing(records)["seq"].isNotNull(), body)


def _keep(records: DataFrame, body: Column) -> DataFrame:
    """Keep what the columns of messages are made of.

    Headers and value go no further: what makes columns of properties has no place in the code that
    Spark generates for all before it, and each row is copied in between.
    """
    where = ("topic", "partition", "offset")
    descriptor = descriptors.refusing(records).alias("descriptor")
    return records.select(*where, descriptor, body.alias("body"))


def join_chunks(records: DataFrame, bootstrap_servers: str, options: dict[str, str]) -> DataFrame:
    """Keep of each message the last record; its row has the whole body."""
    index, count = descriptors.chunk_place()
    settings = {"bootstrap.servers": bootstrap_servers, **options}

    def before(topic: str | None, partition: int, offset: int, parts: int) -> bytes | None:
        return None if topic is None else read_range(settings, topic, partition, offset, parts)

    last = records.where(index.isNull() | (index == count - 1))
    is_part = count.isNotNull() & (count > 1)
    head = F.udf(before, "binary")(  # type: ignore[call-overload, unused-ignore]
        F.when(is_part, F.col("topic")),
        F.when(is_part, F.col("partition")),
        F.when(is_part, F.col("offset") - count + 1),
        F.when(is_part, count - 1),
    )
    whole = last.withColumn("head", head)
    joined = F.concat(F.col("head"), F.col("value"))
    return _keep(whole, F.when(F.col("head").isNotNull(), joined).otherwise(_body(last)))


def read_range(
    settings: dict[str, str], topic: str, partition: int, offset: int, count: int
) -> bytes:
    """Read so many records from an offset on, the first parts of one message; what they hold."""
    parts: list[bytes] = []
    try:
        for record in ranges.records(settings, topic, partition, offset, offset + count):
            place = dict(headers_of(record) or ()).get(chunks.HEADER)
            if chunks.place_of(place) == (len(parts), count + 1):
                parts.append(record.value() or b"")
        if len(parts) < count:
            raise UnreadableError("its parts do not lie one behind the other")
    except UnreadableError as problem:
        raise SparkJobError(
            f"mqk: the message at {topic}[{partition}] at offset {offset} cannot be read: {problem}"
        ) from None
    return b"".join(parts)
