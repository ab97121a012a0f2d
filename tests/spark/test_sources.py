"""queue_stream and queue_batch: the columns, the order of lanes, and topics that are not as they
must be."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from adapter.errors import InvalidOption
from spark_jobs import errors, topics, transforms
from spark_jobs.descriptors import COLUMNS
from spark_jobs.errors import SparkJobError
from tests.support.backlog import until
from tests.support.examples import few
from tests.support.spark_site import Headers, Site, collecting, drain, order_problems, queues

TYPES = {
    "queue": "string", "priority": "int", "seq": "bigint", "unit_id": "binary",
    "message_id": "binary", "group_seq": "int", "put_time": "timestamp",
    "expiry_time": "timestamp", "properties": "map<string,string>", "body": "binary",
    "topic": "string", "partition": "int", "offset": "bigint",
}  # fmt: skip
ORDERED = 210
TOP = Path(__file__).parents[2]


def test_a_message_is_a_row(site: Site) -> None:
    with queues(site, "ROW") as qm:
        fields: dict[str, Any] = {
            "priority": 7, "correlation_id": b"c".ljust(24, b"\0"), "format": "MQSTR",
            "expiry_s": 3600, "properties": {"n": 1, "t": True, "s": "x", "b": b"\x01\xff"},
        }  # fmt: skip
        put = qm.put("ROW", "hello", **fields)
        qm.put("ROW", b"")
    site.wait_copied("ROW", 2)
    messages = site.batch("ROW")
    assert tuple(messages.columns) == COLUMNS
    kinds = dict(messages.dtypes)
    assert {name: kinds[name] for name in TYPES} == TYPES
    plain, row = sorted(messages.collect(), key=lambda row: row["priority"])
    assert (row["queue"], row["priority"], row["partition"], row["seq"]) == ("ROW", 7, 7, 1)
    assert bytes(row["message_id"]) == put.message_id
    assert bytes(row["correlation_id"]) == b"c".ljust(24, b"\0")
    assert bytes(row["body"]) == b"hello"
    assert row["format"] == "MQSTR"
    assert row["properties"] == {"n": "1", "t": "true", "s": "x", "b": "01FF"}
    assert (row["unit_index"], row["unit_size"]) == (0, 1)
    assert row["put_time"].timestamp() == pytest.approx(put.put_time_ms / 1000)
    assert row["expiry_time"].timestamp() == pytest.approx(put.put_time_ms / 1000 + 3600)
    assert (bytes(plain["body"]), plain["expiry_time"], plain["properties"]) == (b"", None, {})


def shuffled(messages: DataFrame) -> DataFrame:
    """What a job must not do that wants order."""
    return messages.repartition(2)


def test_lanes_are_in_order_over_many_batches_and_restarts(site: Site, tmp_path: Path) -> None:
    """Rows are checked as they reach the sink, unsorted."""
    with queues(site, "ORDER"):
        site.put_units("ORDER", ORDERED // 3, lanes=4)
    site.wait_copied("ORDER", ORDERED)
    rows: list[Any] = []
    messages = site.stream("ORDER", max_messages_per_batch=9)
    failing = collecting(rows, fail_at(6))
    with pytest.raises(StreamingQueryException):
        drain(messages, failing, tmp_path / "checkpoint")
    rows[:] = [(batch, row) for batch, row in rows if batch < 6]  # batch 6 is done again
    drain(messages, collecting(rows), tmp_path / "checkpoint")
    assert len({batch for batch, _ in rows}) >= 20
    assert len(rows) == ORDERED
    assert order_problems(row for _, row in rows) == []


def fail_at(number: int) -> Any:
    """Fail at the end of one batch."""

    def then(_batch: DataFrame, batch_id: int) -> None:
        if batch_id == number:
            raise RuntimeError("injected")

    return then


def test_a_shuffle_ends_the_order_of_lanes(site: Site, tmp_path: Path) -> None:
    """The same check fails for a job with a round-robin repartition; in_lanes() mends it."""
    rows: list[Any] = []
    drain(shuffled(site.stream("ORDER")), collecting(rows), tmp_path / "shuffled")
    assert len(rows) == ORDERED
    assert order_problems(row for _, row in rows) != []
    mended: list[Any] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        ordered = transforms.in_lanes(shuffled(batch), 2)
        collecting(mended)(ordered, batch_id)

    drain(site.stream("ORDER"), write, tmp_path / "mended")
    assert order_problems(row for _, row in mended) == []


def test_large_messages_are_joined_wherever_a_batch_is_cut(site: Site, tmp_path: Path) -> None:
    """Three records and one a batch: the message is there once, in the batch of its last record."""
    body = bytes(range(256)) * (9 * 4096)
    with queues(site) as qm:
        qm.define_queue("LARGE", max_message_length=20_000_000)
        qm.put("LARGE", "before")
        qm.put("LARGE", body)
        qm.put("LARGE", "behind")
    site.wait_copied("LARGE", 5)
    with pytest.raises(Exception, match="more than 4 MiB") as refused:
        site.batch("LARGE").collect()
    assert "large_messages=True" in errors.explain(refused.value)
    rows: list[Any] = []
    messages = site.stream("LARGE", large_messages=True, max_messages_per_batch=1)
    drain(messages, collecting(rows), tmp_path)
    assert [bytes(row["body"]) for _, row in rows] == [b"before", body, b"behind"]
    assert len({batch for batch, _ in rows}) == 3


@pytest.mark.parametrize(
    ("headers", "said"),
    few(
        [
            ([], r"\[0\] at offset \d+ is not a message of a queue: it has no header mqmd"),
            ([("other", b"x")], "it has no header mqmd"),
            ([("mqmd", b"\x02damaged")], r"\[0\] at offset \d+ is damaged"),
            ([("mqmd", b"")], "is damaged"),
            ([("mqmd", b"\x09later")], "written by a later release of mqk"),
        ],
        2,
    ),
)
def test_a_record_that_is_no_message_ends_the_query(
    site: Site, headers: Headers, said: str, request: pytest.FixtureRequest
) -> None:
    queue = f"FOREIGN{abs(hash(str(headers))) % 10**6}"
    with queues(site, queue) as qm:
        qm.put(queue, "ours", priority=5)
    site.wait_copied(queue, 1)
    site.write_foreign(queue, b"theirs", headers)
    with pytest.raises(Exception, match="mqk: ") as refused:
        site.batch(queue).select("body").collect()
    assert re.search(said, errors.explain(refused.value))


def test_a_queue_that_is_not_there(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "NEW_QUEUE_S", 0.0)
    with queues(site, "THERE"):
        pass
    with pytest.raises(
        SparkJobError, match=r"queue NOWHERE of queue manager SPARK\w+ has no topic"
    ):
        site.batch("NOWHERE")
    other = Site(site.manager, site.servers, site.spark)
    other.name = "QM9"
    with pytest.raises(SparkJobError, match="no topic of any queue of queue manager QM9"):
        other.batch("THERE")


def test_a_deleted_and_new_queue_is_read_from_its_new_topic(site: Site) -> None:
    with queues(site, "AGAIN") as qm:
        qm.put("AGAIN", "old")
        site.wait_copied("AGAIN", 1)
        qm.delete_queue("AGAIN", purge=True)
        qm.define_queue("AGAIN")
        qm.put("AGAIN", "new")
    topic = site.topic("AGAIN")
    found: list[Any] = []

    def is_new() -> bool:
        found[:] = site.batch("AGAIN").collect()
        return bool(found) and found[0]["topic"] != topic

    until(is_new)
    assert [(row["topic"], bytes(row["body"])) for row in found] == [(f"{topic}-1", b"new")]


def test_wrong_arguments(site: Site) -> None:
    with queues(site, "ARGUMENTS"):
        pass
    with pytest.raises(InvalidOption, match="'earliest', 'latest' or an offset for each lane"):
        site.stream("ARGUMENTS", starting="first")
    with pytest.raises(InvalidOption, match="max_messages_per_batch is a number from 1 on"):
        site.stream("ARGUMENTS", max_messages_per_batch=0)


def test_finding_spark_n4_a_queue_is_read_without_mqk(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The block of the page, as it stands there, but for the address and the topic."""
    with queues(site, "ALONE"):
        site.put_units("ALONE", 4)
    site.wait_copied("ALONE", 12)
    page = (TOP / "docs" / "spark.md").read_text()
    block = page.partition("without mqk -->\n```python\n")[2].partition("```")[0]
    assert "spark_jobs" not in block
    block = block.replace("127.0.0.1:9092", site.servers)
    block = block.replace("mq.QM1.q.ORDERS", site.topic("ALONE"))
    monkeypatch.chdir(TOP)
    names: dict[str, Any] = {"spark": site.spark}
    exec(compile(block, "docs/spark.md", "exec"), names)
    rows = sorted(names["messages"].collect(), key=lambda row: (row["partition"], row["seq"]))
    ours = sorted(site.batch("ALONE").collect(), key=lambda row: (row["partition"], row["seq"]))
    assert [(row["value"], row["seq"], row["message_id"]) for row in rows] == [
        (row["body"], row["seq"], row["message_id"]) for row in ours
    ]
