"""format("mq") in read mode get: every message once and in order, through failures.

Drivers that are killed are in tests/kills.
"""

import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

import adapter
from spark_jobs import errors, transforms
from tests.support.backlog import until
from tests.support.examples import few
from tests.support.spark_site import (
    Site,
    collecting,
    order_problems,
    queues,
    running,
    start,
)

WAIT_S = 60.0
AWAY_S = 3
"""A job that is silent for so long is gone. A first batch may take a second on a busy machine, and
must not be fenced for it.
"""


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

    What is put meanwhile is given when it is on the topic, a moment later: a query that asks before
    that is done at once.
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


def test_a_micro_batch_is_several_batches_of_the_consumer(site: Site, tmp_path: Path) -> None:
    """It fails once: with the same number come the same messages, all of its batches."""
    with queues(site, "SEVERAL") as qm:
        qm.queue("SEVERAL").put_many(str(number) for number in range(33_000))
        site.wait_copied("SEVERAL", 33_000)
        rows: list[Any] = []

        def fail(_batch: DataFrame, batch_id: int) -> None:
            if batch_id == 0:
                raise RuntimeError("injected")

        messages = getting(site, "SEVERAL", maxMessagesPerTrigger=25_000)
        assert "injected" in failing(start(messages, collecting(rows, fail), tmp_path))
        lost = [row["offset"] for _, row in rows]
        assert held(site, "SEVERAL") == len(lost) == 25_000
        rows.clear()
        with running(messages, collecting(rows), tmp_path) as query:
            await_rows(rows, 33_000, query)
            query.processAllAvailable()
        assert held(site, "SEVERAL") == 0
        assert qm.queue("SEVERAL").status().current_depth == 0
    assert [row["offset"] for batch, row in rows if batch == 0] == lost
    assert [int(row["body"]) for _, row in rows] == [*range(33_000)]


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

        messages = getting(site, "AWAY", consumerTimeoutSeconds=AWAY_S)
        assert "injected" in failing(start(messages, collecting([], fail), tmp_path))
        message = qm.get("AWAY", timeout=WAIT_S)
        assert message is not None
        assert message.backout_count == 0, "it was handed out once, and may well be done"
        said = failing(start(messages, collecting([]), tmp_path))
        assert "consumer JOB of queue AWAY was gone longer than its timeout" in said
        assert "begin with a new checkpoint" in said


def once(messages: DataFrame, rows: list[Any], checkpoint: Path) -> StreamingQuery:
    """Start a query over what is available now."""
    writer = messages.writeStream.foreachBatch(collecting(rows))
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def test_a_job_that_comes_back_too_late_spoils_nothing(site: Site, tmp_path: Path) -> None:
    """What was done comes again for others, uncounted; and a checkpoint that is refused claims
    nothing, so that what was put meanwhile is not counted either.
    """
    with queues(site, "NIGHTLY", "NIGHTLY.BACKOUT") as qm:
        qm.alter_queue("NIGHTLY", backout_threshold=1, backout_requeue_queue="NIGHTLY.BACKOUT")
        qm.put("NIGHTLY", "done")
        site.wait_copied("NIGHTLY", 1)
        rows: list[Any] = []
        messages = getting(site, "NIGHTLY", consumerTimeoutSeconds=AWAY_S)
        assert once(messages, rows, tmp_path / "1").awaitTermination(int(WAIT_S))
        assert [bytes(row["body"]) for _, row in rows] == [b"done"]
        until(lambda: held(site, "NIGHTLY") == 0)
        qm.put("NIGHTLY", "new")
        site.wait_copied("NIGHTLY", 2)
        for _ in range(2):
            assert "gone longer than" in failing(once(messages, rows, tmp_path / "1"))
            assert held(site, "NIGHTLY") == 0
        found = [(one.body, one.backout_count) for one in qm.queue("NIGHTLY").browse()]
        assert found == [(b"done", 0), (b"new", 0)]
        assert once(messages, rows, tmp_path / "2").awaitTermination(int(WAIT_S))
    assert [bytes(row["body"]) for _, row in rows[1:]] == [b"done", b"new"]


def test_a_new_checkpoint_is_given_one_batch_at_a_time(site: Site, tmp_path: Path) -> None:
    """What the last query of the name was given, and did not consume, comes first and alone."""
    with queues(site, "AGAIN"):
        site.put_units("AGAIN", 3)
        site.wait_copied("AGAIN", 9)
        rows: list[Any] = []
        messages = getting(site, "AGAIN", maxMessagesPerTrigger=4)
        assert once(messages, rows, tmp_path / "1").awaitTermination(int(WAIT_S))
        assert len(rows) == 4
        again: list[Any] = []
        with running(messages, collecting(again), tmp_path / "2") as query:
            await_rows(again, 9, query)
    assert [row["offset"] for _, row in again[:4]] == [row["offset"] for _, row in rows]
    assert max(Counter(batch for batch, _ in again).values()) == 4
    assert len(again) == 9


@pytest.mark.parametrize(
    ("first", "second", "said"),
    few(
        [
            ({"queue": "ONE"}, {"queue": "TWO"}, "the checkpoint is of consumer JOB of queue ONE"),
            (
                {"queue": "ONE", "consumer": "A"},
                {"queue": "ONE"},
                "the checkpoint is of consumer A",
            ),
            ({"queue": "ONE", "readMode": "browse"}, {"queue": "ONE"}, "another readMode than get"),
            (
                {"queue": "ONE"},
                {"queue": "ONE", "readMode": "browse"},
                "another readMode than browse",
            ),
        ],
        2,
    ),
)
def test_a_checkpoint_of_something_else_is_refused(
    first: dict[str, str], second: dict[str, str], said: str, site: Site, tmp_path: Path
) -> None:
    with site.manager.connect() as qm:
        for queue in ("ONE", "TWO"):
            with suppress(adapter.errors.QueueExists):
                qm.define_queue(queue)
        qm.put("ONE", "a")
        until(lambda: not qm.figures()["uncopied_bytes"])
        messages = site.spark.readStream.format("mq").options(
            address=site.address, **{"readMode": "get", "consumer": "JOB"} | first
        )
        others = site.spark.readStream.format("mq").options(
            address=site.address, **{"readMode": "get", "consumer": "JOB"} | second
        )
        assert once(messages.load(), [], tmp_path).awaitTermination(int(WAIT_S))
        assert said in failing(once(others.load(), [], tmp_path))
        for one in qm.consumers("*"):
            qm.delete_consumer(one.queue, one.name)


def test_a_checkpoint_of_a_queue_that_was_defined_again_is_refused(
    site: Site, tmp_path: Path
) -> None:
    with queues(site, "REBORN") as qm:
        qm.put("REBORN", "a")
        site.wait_copied("REBORN", 1)
        messages = getting(site, "REBORN")
        rows: list[Any] = []
        with running(messages, collecting(rows), tmp_path) as query:
            await_rows(rows, 1, query)
            query.processAllAvailable()
        until(lambda: not qm.consumers("REBORN")[0].connection)
        qm.delete_queue("REBORN")
        qm.define_queue("REBORN")
        said = failing(start(messages, collecting(rows), tmp_path))
    assert "queue REBORN, or its consumer JOB, was deleted and defined again" in said


def test_units_are_not_held_back_from_what_is_consumed(site: Site) -> None:
    with queues(site, "HELD"), pytest.raises(errors.SparkJobError, match="this one has readMode"):
        transforms.complete_units(getting(site, "HELD"))


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
