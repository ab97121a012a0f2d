"""A driver that gets from a queue into Parquet, and dies in one of its batches.

    python -m tests.spark.getting_driver ADDRESS FOLDER BATCH

It ends when it has taken all that is there. BATCH: -1 for none.
"""

from __future__ import annotations

import os
import signal
import sys

from pyspark.sql import DataFrame

from spark_jobs import session

MESSAGES_A_BATCH = 20


def main(address: str, folder: str, die_at: int) -> None:
    """Run until everything is done."""

    def write(batch: DataFrame, number: int) -> None:
        if number == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        batch.write.mode("overwrite").parquet(f"{folder}/out/batch_id={number}")

    spark = session.spark_session("driver")
    reader = spark.readStream.format("mq").option("queue", "KILLED").option("readMode", "get")
    messages = reader.options(
        consumer="JOB", address=address, maxMessagesPerTrigger=MESSAGES_A_BATCH
    ).load()
    writer = messages.writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start()
    query.processAllAvailable()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
