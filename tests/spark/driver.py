"""A driver to be killed: two queries in one process, and a journal of what reaches their sinks.

    python -m tests.spark.driver SERVERS QUEUE_MANAGER ADDRESS FOLDER STOPS

`archive` reads queue IN into Parquet files and writes it back to queue BACK; `get` takes the
messages of queue TAKEN into Parquet files. Both do all that is there, so many messages a batch, and
note in FOLDER/QUERY/journal the rows that reach them, in their order there. STOPS are places,
`QUERY.BATCH.STEP`: when the query is there, or first at that step of a later batch, it says so and
waits for a line of standard input, or to be killed. With `!` behind it, it fails instead, once, and
is started again in this process. The steps of a batch: read, files, and queue for the archive.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs import session, sinks, sources
from spark_jobs.sinks import Sink

ARCHIVED_A_BATCH = 8
TAKEN_A_BATCH = 20
FAILED = "failed at "


class Stops:
    """Where queries fail, or wait to be killed."""

    def __init__(self, places: list[str]) -> None:
        self._ahead = places
        self.go_on = threading.Event()

    def at(self, query: str, batch_id: int, step: str) -> None:
        """Stop here if told so."""
        for place in self._ahead:
            of, batch, at = place.rstrip("!").split(".")
            if (of, at) == (query, step) and batch_id >= int(batch):
                self._ahead.remove(place)
                return self._stop(place)
        return None

    def _stop(self, place: str) -> None:
        if not place.endswith("!"):
            print(place, flush=True)
            self.go_on.wait()
            return
        text = FAILED + place.rstrip("!")
        print(text, flush=True)
        raise RuntimeError(text)


def writing(folder: Path, stops: Stops, steps: Mapping[str, Sink]) -> Sink:
    """Note the rows of a batch, then write it step by step; behind each is a place to stop."""
    folder.mkdir(exist_ok=True)

    def write(batch: DataFrame, batch_id: int) -> None:
        rows = batch.select("partition", "seq").collect()
        lines = [json.dumps([batch_id, row["partition"], row["seq"]]) + "\n" for row in rows]
        with (folder / "journal").open("a") as journal:
            journal.write("".join(lines))
        stops.at(folder.name, batch_id, "read")
        for step, sink in steps.items():
            sink(batch, batch_id)
            stops.at(folder.name, batch_id, step)

    return write


def main(servers: str, manager: str, address: str, top: Path, places: list[str]) -> None:
    """Run until everything is done."""
    spark = session.spark_session("driver")
    stops = Stops(places)

    def query(name: str, messages: DataFrame, **steps: Sink) -> DataStreamWriter:
        steps = {"files": sinks.parquet(str(top / name / "files")), **steps}
        writer = messages.writeStream.foreachBatch(writing(top / name, stops, steps))
        return writer.option("checkpointLocation", str(top / name / "checkpoint"))

    archived = sources.queue_stream(
        spark, "IN", bootstrap_servers=servers, queue_manager=manager,
        max_messages_per_batch=ARCHIVED_A_BATCH,
    )  # fmt: skip
    back = sinks.to_queue("BACK", address=address, application_id="DRIVER")
    archive = query("archive", archived, queue=back).trigger(availableNow=True)
    reader = spark.readStream.format("mq").option("queue", "TAKEN").option("readMode", "get")
    taken = reader.options(address=address, consumer="JOB", maxMessagesPerTrigger=TAKEN_A_BATCH)
    get = query("get", taken.load())
    both = [
        threading.Thread(target=to_the_end, args=(archive, StreamingQuery.awaitTermination)),
        threading.Thread(target=to_the_end, args=(get, StreamingQuery.processAllAvailable)),
    ]
    for thread in both:
        thread.start()
    sys.stdin.readline()
    stops.go_on.set()
    for thread in both:
        thread.join()
    spark.stop()


def to_the_end(writer: DataStreamWriter, wait: Callable[[StreamingQuery], object]) -> None:
    """Run a query until it is done, again after a failure that was wanted; another ends all."""
    try:
        while not is_done(writer.start(), wait):
            pass
    except Exception:  # noqa: BLE001 -- the other query may be waiting to be killed
        traceback.print_exc()
        os._exit(1)


def is_done(query: StreamingQuery, wait: Callable[[StreamingQuery], object]) -> bool:
    """Wait for a query; whether it has done everything, and not failed as it was told to."""
    try:
        wait(query)
    except StreamingQueryException as problem:
        if FAILED not in str(problem):
            raise
        return False
    query.stop()
    return True


if __name__ == "__main__":
    given, top, stops = sys.argv[1:4], Path(sys.argv[4]), sys.argv[5]
    main(given[0], given[1], given[2], top, list(filter(None, stops.split(","))))
