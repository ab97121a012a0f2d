"""format("mq") in read mode get: every message once and in order, through failures.

Drivers that are killed are in test_exactly_once.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs import errors
from tests.support.spark_site import (
    Site,
    collecting,
    order_problems,
    queues,
    running,
    start,
)

WAIT_S = 60.0


def getting(site: Site, queue: str, consumer: str = "JOB", **options: Any) -> DataFrame:
    """The queue as a stream that consumes."""
    reader = site.spark.readStream.format("mq").option("queue", queue).option("readMode", "get")
    return reader.options(address=site.address, consumer=consumer, **options).load()


def failing(query: StreamingQuery) -> str:
    """Wait for the failure of a query, and say what it was: the sentence, or all of it."""
    with pytest.raises(StreamingQueryException) as failure:
        query.awaitTermination(int(WAIT_S))
    text = str(failure.value)
    return errors.explain(failure.value) if "mqk: " in text else text


def held(site: Site, queue: str, consumer: str = "JOB") -> int:
    """How many messages a consumer has that are not consumed."""
    with site.manager.connect() as qm:
        return next((one.messages for one in qm.consumers(queue) if one.name == consumer), 0)


def await_rows(rows: list[Any], count: int, *queries: StreamingQuery) -> None:
    """Wait until queries have brought so many rows, and done what they were given.

    What is on the topic is given when the movers have told the queue manager, a moment later: a
    query that asks before that is done at once.
    """
    deadline_s = time.monotonic() + WAIT_S
    while len(rows) < count and time.monotonic() < deadline_s:
        for query in queries:
            query.processAllAvailable()


def test_messages_are_consumed_in_order_over_many_batches(site: Site, tmp_path: Path) -> None:
    with queues(site, "WHOLE") as qm:
        ids = site.put_units("WHOLE", 200)
        rows: list[Any] = []
        messages = getting(site, "WHOLE", maxMessagesPerTrigger=30)
        site.wait_copied("WHOLE", 600)
        with running(messages, collecting(rows), tmp_path) as query:
            await_rows(rows, 600, query)
            query.processAllAvailable()  # which tells the queue manager of the last batch
        assert held(site, "WHOLE") == 0
        assert qm.queue("WHOLE").status().current_depth == 0
    assert len({batch for batch, _ in rows}) >= 20
    assert sorted(bytes(row["message_id"]) for _, row in rows) == sorted(ids)
    assert order_problems(row for _, row in rows) == []
    first = [row["priority"] for batch, row in rows if batch == 0]
    assert first == sorted(first, reverse=True), "a batch is in the order of delivery"


def test_empty_bodies_are_got(site: Site, tmp_path: Path) -> None:
    """An empty message ends nothing, and hides none behind it: not in a batch, nor before one."""
    with queues(site, "EMPTY") as qm:
        bodies = [b"", b"first", b"", b"", b"last", b""]
        for body in bodies:
            qm.put("EMPTY", body)
        site.wait_copied("EMPTY", len(bodies))
        rows: list[Any] = []
        messages = getting(site, "EMPTY", maxMessagesPerTrigger=2)
        with running(messages, collecting(rows), tmp_path) as query:
            await_rows(rows, len(bodies), query)
            query.processAllAvailable()
        assert qm.queue("EMPTY").status().current_depth == 0
    assert [bytes(row["body"]) for _, row in rows] == bodies


def test_a_batch_that_failed_is_the_same_again(site: Site, tmp_path: Path) -> None:
    with queues(site, "FAILED") as qm:
        site.put_units("FAILED", 20)
        site.wait_copied("FAILED", 60)
        rows: list[Any] = []

        def fail(_batch: DataFrame, batch_id: int) -> None:
            if batch_id == 1:
                raise RuntimeError("injected")

        messages = getting(site, "FAILED", maxMessagesPerTrigger=20)
        query = start(messages, collecting(rows, fail), tmp_path)
        assert "injected" in failing(query)
        lost = [row for batch, row in rows if batch == 1]
        rows[:] = [(batch, row) for batch, row in rows if batch == 0]
        qm.put("FAILED", "later", priority=9)
        site.wait_copied("FAILED", 61)
        with running(messages, collecting(rows), tmp_path) as query:
            await_rows(rows, 61, query)
            query.processAllAvailable()
        assert held(site, "FAILED") == 0
    again = [row for batch, row in rows if batch == 1]
    assert [row["offset"] for row in again] == [row["offset"] for row in lost]
    assert order_problems(row for _, row in rows) == []


def test_a_commit_that_was_missed_is_made_good(site: Site, tmp_path: Path) -> None:
    """A query that ends behind its batch tells nobody: it is told when it comes back."""
    with queues(site, "MISSED") as qm:
        site.put_units("MISSED", 10)
        rows: list[Any] = []
        messages = getting(site, "MISSED")
        site.wait_copied("MISSED", 30)
        for _ in range(3):
            writer = messages.writeStream.foreachBatch(collecting(rows))
            query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
            assert query.start().awaitTermination(int(WAIT_S))
        assert held(site, "MISSED") == 0
        assert qm.queue("MISSED").status().current_depth == 0
    assert len(rows) == 30


def test_two_of_a_name_are_one_too_many(site: Site, tmp_path: Path) -> None:
    with queues(site, "NAMES") as qm:
        qm.put("NAMES", "a")
        site.wait_copied("NAMES", 1)
        rows: list[Any] = []
        with running(getting(site, "NAMES", "ONE"), collecting(rows), tmp_path / "1") as first:
            await_rows(rows, 1, first)
            second = start(getting(site, "NAMES", "ONE"), collecting(rows), tmp_path / "2")
            assert "consumer ONE is in use" in failing(second)
            with running(getting(site, "NAMES", "TWO"), collecting(rows), tmp_path / "3") as other:
                other.processAllAvailable()
                site.put_units("NAMES", 20)
                await_rows(rows, 61, first, other)
    places = [(row["partition"], row["seq"]) for _, row in rows]
    assert len(set(places)) == len(places) == 61


def test_who_stays_away_is_fenced_and_its_messages_return(site: Site, tmp_path: Path) -> None:
    with queues(site, "AWAY") as qm:
        qm.put("AWAY", "a")
        site.wait_copied("AWAY", 1)

        def fail(_batch: DataFrame, _batch_id: int) -> None:
            raise RuntimeError("injected")

        messages = getting(site, "AWAY", consumerTimeoutSeconds=1)
        assert "injected" in failing(start(messages, collecting([], fail), tmp_path))
        message = qm.get("AWAY", timeout=WAIT_S)
        assert message is not None
        assert message.backout_count == 1
        said = failing(start(messages, collecting([]), tmp_path))
        assert "consumer JOB was gone longer than its timeout" in said
        assert "begin anew" in said


def test_what_spoils_a_batch_ends_on_the_backout_queue(site: Site, tmp_path: Path) -> None:
    with queues(site, "POISON.BACKOUT") as qm:
        qm.define_queue("POISON", backout_threshold=1, backout_requeue_queue="POISON.BACKOUT")
        with qm.unit():
            for body in ("good", "bad", "fine"):
                qm.put("POISON", body)
        site.wait_copied("POISON", 3)
        done: list[bytes] = []

        def work(batch: DataFrame, _batch_id: int) -> None:
            bodies = [bytes(row["body"]) for row in batch.collect()]
            if b"bad" in bodies:
                raise RuntimeError("poison")
            done.extend(bodies)

        messages = getting(site, "POISON")
        for _ in range(10):
            with running(messages, work, tmp_path) as query, suppress(StreamingQueryException):
                query.processAllAvailable()
            if len(done) == 2:
                break
        assert done == [b"good", b"fine"]
        found = qm.get("POISON.BACKOUT", timeout=WAIT_S)
        assert found is not None
        assert found.body == b"bad"
