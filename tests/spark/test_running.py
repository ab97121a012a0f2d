"""A job is told to end while it runs."""

import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs import running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_query_and_leaves_a_report(
    spark: SparkSession, tmp_path: Path, number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    def told(_batch: DataFrame, _batch_id: int) -> None:
        os.kill(os.getpid(), number)

    writer = (
        spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load().writeStream
    )
    writer = writer.foreachBatch(told).option("checkpointLocation", str(tmp_path))
    query = writer.start()
    assert set(running.follow(query)) == {"batches", "messages"}
    assert not query.isActive
    assert "stopping" in capfd.readouterr().err
