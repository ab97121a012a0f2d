"""A driver that is killed: a stream into Parquet and back to a queue, and a journal of the rows.

    python -m tests.spark.driver SERVERS QUEUE_MANAGER ADDRESS FOLDER STOPS

It takes all that is there, so many messages a batch, and notes in FOLDER/journal what reaches the
sink, in the order in which it does. STOPS are places: `BATCH.STEP` is where it says so and waits to
be killed, `BATCH.STEP!` where it fails once. The steps of a batch: read, files, queue.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame

from spark_jobs import session, sinks, sources

MESSAGES_A_BATCH = 45
KILLED_S = 60.0
"""Whoever told this driver to stop here kills it well before that."""


class Stops:
    """Where the driver fails, or waits to be killed."""

    def __init__(self, folder: Path, places: set[str]) -> None:
        self._folder = folder
        self._places = places

    def at(self, batch_id: int, step: str) -> None:
        """Stop here if told so."""
        place = f"{batch_id}.{step}"
        if f"{place}!" in self._places:
            self._places.remove(f"{place}!")
            raise RuntimeError(f"failed at {place}")
        if place in self._places:
            print(place, flush=True)
            time.sleep(KILLED_S)
            sys.exit("was not killed")


def main(servers: str, manager: str, address: str, folder: Path, places: set[str]) -> None:
    """Run until everything is done."""
    spark = session.spark_session("driver")
    stops = Stops(folder, places)
    files = sinks.parquet(str(folder / "files"))
    queue = sinks.to_queue("BACK", address=address, application_id="DRIVER")

    def write(batch: DataFrame, batch_id: int) -> None:
        with (folder / "journal").open("a") as journal:
            for row in batch.select("partition", "seq").collect():
                journal.write(json.dumps([batch_id, row["partition"], row["seq"]]) + "\n")
        stops.at(batch_id, "read")
        files(batch, batch_id)
        stops.at(batch_id, "files")
        queue(batch, batch_id)
        stops.at(batch_id, "queue")

    messages = sources.queue_stream(
        spark, "IN", bootstrap_servers=servers, queue_manager=manager,
        max_messages_per_batch=MESSAGES_A_BATCH,
    )  # fmt: skip
    query = (
        messages.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    given, folder, stops = sys.argv[1:4], Path(sys.argv[4]), sys.argv[5]
    main(given[0], given[1], given[2], folder, set(filter(None, stops.split(","))))
