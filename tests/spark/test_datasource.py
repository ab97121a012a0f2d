"""format("mq"): it registers itself, and reads in browse mode what queue_stream reads."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from adapter.storage.format import chunks
from spark_jobs import browsing, errors
from spark_jobs.options import SourceOptions
from tests.support.queue_topic import LANES
from tests.support.spark_site import Site, collecting, drain, order_problems, queues, running


def browse(site: Site, queue: str, **options: Any) -> DataFrame:
    """The queue as a stream of the data source."""
    reader = site.spark.readStream.format("mq").option("queue", queue)
    return reader.options(address=site.address, **options).load()


def test_it_reads_what_the_kafka_source_reads(site: Site, tmp_path: Path) -> None:
    with queues(site, "SAME") as qm:
        site.put_units("SAME", 30)
        qm.put(
            "SAME", b"", priority=2, expiry_s=60, format="MQSTR", correlation_id=b"c" * 24,
            properties={"n": 1, "t": True, "f": 1.5, "s": "x", "b": b"\x01\xff", "z": None},
        )  # fmt: skip
    site.wait_copied("SAME", 91)
    rows: list[Any] = []
    drain(browse(site, "SAME", readMode="browse"), collecting(rows), tmp_path)
    kafka = site.batch("SAME").collect()
    batch = site.spark.read.format("mq").option("queue", "SAME").option("address", site.address)
    assert sorted(map(as_told, (row for _, row in rows))) == sorted(map(as_told, kafka))
    assert sorted(map(as_told, batch.load().collect())) == sorted(map(as_told, kafka))
    assert batch.load().dtypes == site.batch("SAME").dtypes
    assert order_problems(row for _, row in rows) == []


def as_told(row: Any) -> str:
    """A row as text, to be compared."""
    return str(sorted(row.asDict().items()))


def test_a_limit_holds_for_all_batches_but_the_first(site: Site, tmp_path: Path) -> None:
    """Messages, and the marks of transactions beside them, count."""
    with queues(site, "LIMIT"):
        site.put_units("LIMIT", 1)
    site.wait_copied("LIMIT", 3)
    rows: list[Any] = []
    messages = browse(site, "LIMIT", maxMessagesPerTrigger=10)
    with running(messages, collecting(rows), tmp_path) as query:
        query.processAllAvailable()
        site.put_units("LIMIT", 10)
        site.wait_copied("LIMIT", 33)
        query.processAllAvailable()
    assert len(rows) == 33
    assert order_problems(row for _, row in rows) == []
    sizes = Counter(batch for batch, _ in rows)
    assert len(sizes) >= 4
    assert max(sizes.values()) <= 10
    with site.manager.connect() as qm:
        qm.put("LIMIT", "later", priority=3)
    site.wait_copied("LIMIT", 34)
    drain(browse(site, "LIMIT"), collecting(rows), tmp_path)
    assert [bytes(row["body"]) for _, row in rows[33:]] == [b"later"]


def test_a_queue_without_messages_has_no_rows(site: Site) -> None:
    with queues(site, "NOTHING"):
        reader = site.spark.read.format("mq").option("queue", "NOTHING")
        assert reader.option("address", site.address).load().collect() == []


def test_a_query_of_a_queue_that_is_defined_again_ends(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with queues(site, "REBORN") as qm:
        site.put_units("REBORN", 1)
        site.wait_copied("REBORN", 3)
        rows: list[Any] = []
        with running(browse(site, "REBORN"), collecting(rows), tmp_path) as query:
            query.processAllAvailable()
            assert len(rows) == 3
            qm.delete_queue("REBORN", purge=True)
            qm.define_queue("REBORN")
            with pytest.raises(StreamingQueryException) as ended:
                query.awaitTermination(60)
    assert "queue REBORN has been deleted since this query began" in errors.explain(ended.value)


def test_it_writes_nothing(site: Site) -> None:
    with pytest.raises(Exception, match="mqk: ") as refused:
        site.spark.range(1).write.format("mq").mode("append").save()
    assert "sinks.to_queue() in foreachBatch" in errors.explain(refused.value)


def test_a_sinks_own_failure_is_told(site: Site, tmp_path: Path) -> None:
    """By both sources, whose plans hold sentences of ours."""
    with queues(site, "BOOM"):
        site.put_units("BOOM", 1)
    site.wait_copied("BOOM", 3)

    def fail(_batch: DataFrame, _batch_id: int) -> None:
        raise ValueError("boom")

    for name, messages in (("mq", browse(site, "BOOM")), ("kafka", site.stream("BOOM"))):
        with pytest.raises(StreamingQueryException) as failed:
            drain(messages, fail, tmp_path / name)
        assert errors.explain(failed.value) == "ValueError: boom"


def test_records_that_are_gone_end_the_query_or_are_left_out(site: Site, tmp_path: Path) -> None:
    with queues(site, "GONE"):
        site.put_units("GONE", 1, size=5, lanes=1)
    site.wait_copied("GONE", 5)
    topic = browsing.BrowsedTopic.find(
        SourceOptions.read({"queue": "GONE", "address": site.address})
    )
    deleted = topic._admin.delete_records([TopicPartition(topic.name, 0, 3)])
    assert [one.result().low_watermark for one in deleted.values()] == [3]
    start = {"startingOffsets": '{"0": 0}'}
    with pytest.raises(StreamingQueryException) as failed:
        drain(browse(site, "GONE", **start), collecting([]), tmp_path / "1")
    assert "have been deleted before this query has read them" in errors.explain(failed.value)
    lanes = dict.fromkeys(range(LANES), 0)
    with pytest.raises(StreamingQueryException) as failed:
        drain(site.stream("GONE", starting=lanes), collecting([]), tmp_path / "kafka")
    assert "have been deleted before this query has read them" in errors.explain(failed.value)
    rows: list[Any] = []
    left = browse(site, "GONE", failOnDataLoss=False, **start)
    drain(left, collecting(rows), tmp_path / "2")
    assert [row["seq"] for _, row in rows] == [4, 5]


def test_large_messages_are_joined(site: Site, tmp_path: Path) -> None:
    body = bytes(range(256)) * (9 * 4096)
    with queues(site) as qm:
        qm.define_queue("LARGE", max_message_length=20_000_000)
        qm.put("LARGE", body)
    site.wait_copied("LARGE", 3)
    rows: list[Any] = []
    messages = browse(site, "LARGE", maxMessagesPerTrigger=1)
    with running(messages, collecting(rows), tmp_path) as query:
        query.processAllAvailable()
    assert [bytes(row["body"]) for _, row in rows] == [body]


def test_a_record_that_only_ends_a_transaction_is_left_out(site: Site, tmp_path: Path) -> None:
    """Wherever a batch begins or ends."""
    with queues(site, "ENDED") as qm:
        qm.put("ENDED", "one", priority=0)
        (record,) = site.wait_copied("ENDED", 1)
        described = dict(record.headers())["mqmd"]
        site.write_foreign("ENDED", b"", [("mqmd", described), (chunks.HEADER, chunks.NO_MESSAGE)])
        qm.put("ENDED", "two", priority=0)
        site.wait_copied("ENDED", 3)
    rows: list[Any] = []
    drain(browse(site, "ENDED", maxMessagesPerTrigger=1), collecting(rows), tmp_path / "browse")
    assert [bytes(row["body"]) for _, row in rows] == [b"one", b"two"]
    for large in (False, True):
        whole = site.batch("ENDED", large_messages=large).collect()
        assert sorted(bytes(row["body"]) for row in whole) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"queue": ""}, "option queue is missing"),
        ({"readMode": "steal"}, "option readMode is browse or get, not 'steal'"),
        ({"readMode": "get"}, "readMode get needs option consumer"),
        ({"maxMessagesPerTrigger": "0"}, "option maxMessagesPerTrigger is a number from 1 on"),
        ({"startingOffsets": "first"}, "option startingOffsets is earliest, latest"),
        ({"que": "x"}, "unknown option que"),
        ({"queue": "NOWHERE"}, "queue NOWHERE of queue manager SPARKDATASOURCE has no topic"),
        ({"address": "127.0.0.1:1"}, "no queue manager answers"),
    ],
)
def test_wrong_options(site: Site, options: dict[str, str], said: str) -> None:
    given = {"queue": "SAME", "address": site.address, **options}
    with pytest.raises(Exception, match="mqk: ") as refused:
        site.spark.read.format("mq").options(**given).load().collect()
    assert said in errors.explain(refused.value)


def test_foreign_records_end_the_query(site: Site) -> None:
    with queues(site, "FOREIGN") as qm:
        qm.put("FOREIGN", "ours", priority=5)
    site.wait_copied("FOREIGN", 1)
    site.write_foreign("FOREIGN", b"theirs", [])
    reader = site.spark.read.format("mq").option("queue", "FOREIGN")
    with pytest.raises(Exception, match="mqk: ") as refused:
        reader.option("address", site.address).load().collect()
    assert "[0] at offset 0 is not a message of a queue" in errors.explain(refused.value)
