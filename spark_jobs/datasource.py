"""Spark's data source `mq`: a queue by its name and its queue manager's address.

    spark.readStream.format("mq").option("queue", "ORDERS").option("address", "127.0.0.1:1414")

Control goes through the queue manager, data through Kafka: the queue manager says where its Kafka
is, and tasks read the records there. What a read mode does is a reader of its own, in READERS. This
module knows Spark's Python data source API; it must not know how records are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_jobs import browsing, getting
from spark_jobs.descriptors import MODE_METADATA, QUEUE_METADATA
from spark_jobs.errors import SparkJobError
from spark_jobs.options import MODES, SourceOptions
from spark_jobs.rows import ARROW_SCHEMA


class MqDataSource(DataSource):
    """A queue. The options are those of spark_jobs.options."""

    @classmethod
    def name(cls) -> str:
        """The word for format()."""
        return "mq"

    def schema(self) -> StructType:
        """The columns of every read mode; their metadata say what is read, and how."""
        columns = from_arrow_schema(ARROW_SCHEMA)
        options = SourceOptions.read(self.options)
        columns["queue"].metadata = {QUEUE_METADATA: options.queue}
        columns["unit_id"].metadata = {MODE_METADATA: options.read_mode}
        return columns

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 -- always schema()
        """A batch: what is on the queue's topic now."""
        return MqReader(SourceOptions.read(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A stream, in the read mode that the options name."""
        options = SourceOptions.read(self.options)
        return READERS[options.read_mode](options)

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002
        """Refused: a queue is written batch by batch."""
        raise SparkJobError(
            'mqk: format("mq") reads queues. Put rows on a queue with spark_jobs.sinks.to_queue() '
            "in foreachBatch of a stream: it knows which batches are written"
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: N802
        """Refused: see writer."""
        self.writer(schema, overwrite)


class MqReader(DataSourceReader):
    """Reads a queue once, as far as it goes when the query begins."""

    def __init__(self, options: SourceOptions) -> None:
        if options.read_mode != "browse":
            raise SparkJobError(
                f"mqk: spark.read reads with readMode browse, not {options.read_mode}: a batch has "
                "no checkpoint that could say what is consumed; use spark.readStream"
            )
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """One for each lane that has anything."""
        topic = browsing.BrowsedTopic.find(self._options)
        return list(topic.ranges(topic.beginning(self._options), topic.ends()))

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """In a task: the rows of one lane, as Arrow batches."""
        return browsing.read_lane(partition)


READERS: Mapping[str, Callable[[SourceOptions], DataSourceStreamReader]] = {
    "browse": browsing.BrowseReader,
    "get": getting.GetReader,
}
assert set(READERS) <= set(MODES), "a reader for a mode that options name"
