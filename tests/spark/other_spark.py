"""What every release of Spark 4 must do with queues; run with another one than the tests have.

    python -m tests.spark.other_spark QUEUE_MANAGER ADDRESS FOLDER [SERVERS]

Queue SEEN is browsed, and its units put together, each with an empty body first; queue TAKEN is got
by a query of what is available now, then by another one. If SERVERS are given,
queue_stream() and queue_batch() read SEEN too. It prints JSON: what came, by way of reading.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row

import adapter
from spark_jobs import errors, session, sources, transforms

DONE_S = 100
LIMIT = 4


def bodies(rows: Iterable[Row]) -> list[str]:
    """Bodies as text, of one lane in its order."""
    return [bytes(row["body"]).decode() for row in rows]


class Queries:
    """Streams that are run to the end of what is available now, each with a checkpoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lag: Any = None
        """What the last progress of a query says of its source."""

    def run(self, name: str, messages: DataFrame) -> list[list[str]]:
        """Run a query; the bodies of each batch that had any."""
        batches: list[list[str]] = []

        def keep(batch: DataFrame, _batch_id: int) -> None:
            if rows := batch.collect():
                batches.append(bodies(rows))

        writer = messages.writeStream.foreachBatch(keep).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self._folder / name)).start()
        assert query.awaitTermination(DONE_S), query.status
        if query.lastProgress is not None and pyspark.__version__ >= "4.2":
            lag = query.lastProgress["sources"][0]["latestOffset"]
            self.lag = json.loads(lag) if isinstance(lag, str) else lag
        return batches


def main(manager: str, address: str, folder: Path, servers: str) -> dict[str, Any]:
    """Read in all ways; in those that need Spark's connectors if servers are given."""
    spark = session.spark_session("another Spark", connectors=bool(servers))
    queries = Queries(folder)

    def mq(queue: str, **options: Any) -> DataFrame:
        reader = spark.readStream.format("mq").option("queue", queue)
        return reader.options(address=address, maxMessagesPerBatch=LIMIT, **options).load()

    def held() -> int:
        with adapter.connect(address) as qm:
            return sum(one.messages for one in qm.consumers("TAKEN"))

    found: dict[str, Any] = {
        "version": pyspark.__version__,
        "browse": queries.run("browse", mq("SEEN")),
        "lag": queries.lag,
        "units": queries.run("units", transforms.complete_units(mq("SEEN"))),
    }
    if servers:
        of = partial(
            sources.queue_batch, spark, "SEEN", bootstrap_servers=servers, queue_manager=manager
        )
        stream = partial(
            sources.queue_stream, *of.args, **of.keywords, max_messages_per_batch=LIMIT
        )
        found["batch"] = bodies(of().orderBy("seq").collect())
        found["stream"] = queries.run("stream", transforms.complete_units(stream()))
    found["nothing"] = (
        spark.read.format("mq").options(queue="EMPTY", address=address).load().count()
    )
    found["get"] = [queries.run("get", mq("TAKEN", readMode="get", consumer="C"))]
    found["held"] = [held()]
    found["get"].append(queries.run("get", mq("TAKEN", readMode="get", consumer="C")))
    found["held"].append(held())
    try:
        spark.range(1).write.format("mq").mode("append").save()
    except PySparkException as problem:
        found["write"] = errors.explain(problem)
    spark.stop()
    return found


if __name__ == "__main__":
    name, at, top, kafka = [*sys.argv[1:], ""][:4]
    print(json.dumps(main(name, at, Path(top), kafka)))
