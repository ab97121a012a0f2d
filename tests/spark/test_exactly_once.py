"""Sinks, with failures in foreachBatch: what has been put is there once, in the order of each lane.

Drivers that are killed are in tests/kills.
"""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import adapter
from adapter import Message
from spark_jobs import errors, sinks
from tests.support.spark_site import Site, collecting, drain, order_problems, queues


def test_a_batch_of_more_than_a_unit_is_put_in_several(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the job fails between two of them: what is on the queue is not put again."""
    with queues(site, "MANY", "FEW") as qm:
        qm.alter_queue("FEW", max_depth=20_000)
        qm.queue("MANY").put_many(str(number) for number in range(10_001))
        site.wait_copied("MANY", 10_001)
        sink = sinks.to_queue("FEW", address=site.address, application_id="LARGE")
        put = sinks.Putting._put

        def put_once(self: sinks.Putting, messages: list[Message], first: int, end: int) -> None:
            if first:
                raise RuntimeError("injected")
            put(self, messages, first, end)

        with monkeypatch.context() as patched:
            patched.setattr(sinks.Putting, "_put", put_once)
            with pytest.raises(StreamingQueryException):
                drain(site.stream("MANY"), sink, tmp_path)
        assert qm.queue("FEW").depth() == 5_000
        drain(site.stream("MANY"), sink, tmp_path)
        drain(site.stream("MANY"), sink, tmp_path)
        found = [int(one.body) for one in qm.queue("FEW").browse()]
    assert found == list(range(10_001))


def test_a_message_that_is_put_back_is_what_it_was(site: Site, tmp_path: Path) -> None:
    with queues(site, "REQUESTS", "COPIES", "ANSWERS") as qm:
        message = Message(
            b"ask", message_type=1, reply_to="ANSWERS", report=0x20, feedback=7, ccsid=850,
            encoding=273, format="MQSTR", correlation_id=b"c" * 24, group_id=b"g" * 24, group_seq=3,
            last_in_group=True, priority=3,
            properties={"n": 2**40, "t": True, "f": -1.5, "s": "7", "b": b"\x00\xff", "z": None},
        )  # fmt: skip
        put = qm.queue("REQUESTS").put(message)
        site.wait_copied("REQUESTS", 1)
        reader = site.spark.readStream.format("mq").option("queue", "REQUESTS")
        read = (site.stream("REQUESTS"), reader.option("address", site.address).load())
        for way, messages in zip("AB", read, strict=True):
            sink = sinks.to_queue("COPIES", address=site.address, application_id=way)
            drain(messages, sink, tmp_path / way)
        copies = list(qm.queue("COPIES").browse())
    assert len(copies) == 2
    for copy in copies:
        assert copy.message_id == put.message_id
        for name in (*sinks.CARRIED, "body", "properties"):
            wanted = getattr(message, name) or getattr(copy, name)
            assert getattr(copy, name) == wanted, name
        assert copy.reply_to_queue_manager == site.name


def test_what_another_query_has_written_is_not_taken_for_written(
    site: Site, tmp_path: Path
) -> None:
    with queues(site, "TWICE", "TWICE.BACK"):
        site.put_units("TWICE", 2)
    site.wait_copied("TWICE", 6)
    files = sinks.parquet(str(tmp_path / "files"))
    back = sinks.to_queue("TWICE.BACK", address=site.address, application_id="TWICE")
    for sink, said in ((files, "use another path"), (back, "use another application_id")):
        name = said.rpartition(" ")[2]
        drain(site.stream("TWICE"), sink, tmp_path / name / "first")
        drain(site.stream("TWICE"), sink, tmp_path / name / "first")  # goes on: nothing is new
        with pytest.raises(StreamingQueryException) as refused:
            drain(site.stream("TWICE"), sink, tmp_path / name / "second")
        assert said in errors.explain(refused.value)
    assert site.spark.read.parquet(str(tmp_path / "files")).count() == 6
    with site.manager.connect() as qm:
        assert qm.queue("TWICE.BACK").depth() == 6


def test_a_claim_that_a_driver_did_not_finish_is_made_again(site: Site, tmp_path: Path) -> None:
    with queues(site, "UNFINISHED"):
        site.put_units("UNFINISHED", 1)
    site.wait_copied("UNFINISHED", 3)
    claim = tmp_path / "files" / "_query"
    claim.parent.mkdir()
    claim.touch()
    sink = sinks.parquet(str(claim.parent))
    drain(site.stream("UNFINISHED"), sink, tmp_path / "checkpoint")
    assert site.spark.read.parquet(str(claim.parent)).count() == 3
    with pytest.raises(StreamingQueryException, match="has been written by query"):
        drain(site.stream("UNFINISHED"), sink, tmp_path / "another checkpoint")


def test_a_second_driver_is_refused_while_the_first_writes(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "IN_USE_S", 0.0)
    with queues(site, "RIVAL", "SYSTEM.SPARK.RIVAL") as qm:
        qm.put("RIVAL", "x")
        site.wait_copied("RIVAL", 1)
        held: adapter.Queue = qm.queue("SYSTEM.SPARK.RIVAL", open_for="input_exclusive")
        sink = sinks.to_queue("RIVAL", address=site.address, application_id="RIVAL")
        with pytest.raises(StreamingQueryException) as refused:
            drain(site.stream("RIVAL"), sink, tmp_path)
        assert "another driver holds SYSTEM.SPARK.RIVAL" in errors.explain(refused.value)
        held.close()
        drain(site.stream("RIVAL"), sink, tmp_path)
        assert qm.queue("RIVAL").depth() == 2


def test_the_sinks_see_batches_as_they_are(site: Site, tmp_path: Path) -> None:
    """The check of order itself: a row that is missing, and one that comes too early, are seen."""
    with queues(site, "SEEN"):
        site.put_units("SEEN", 10)
    site.wait_copied("SEEN", 30)
    rows: list[Any] = []
    drain(site.stream("SEEN"), collecting(rows), tmp_path)
    seen = [row for _, row in rows]
    assert order_problems(seen) == []
    assert order_problems(seen[1:]) != []
    assert order_problems([seen[1], seen[0], *seen[2:]]) != []
