"""Archive and write-back, with failures in foreachBatch and drivers that are killed: what has been
put is there once, and the rows of each lane reached the sink in order."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import adapter
from spark_jobs import errors, sinks
from tests.support.spark_site import Site, collecting, drain, order_problems, queues

TOP = Path(__file__).parents[2]
UNITS = 300
SAID_S = 250
KILLS = (
    "3.files",  # the files are there, the queue has nothing
    "9.queue",  # both are there, and Spark does not know
)


def start_driver(site: Site, folder: Path, stops: str) -> "subprocess.Popen[str]":
    """Start a driver in a process of its own."""
    command = [sys.executable, "-m", "tests.spark.driver"]
    told = [site.servers, site.name, site.address, str(folder), stops]
    return subprocess.Popen(
        [*command, *told], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


@contextmanager
def driver(site: Site, folder: Path, stops: str) -> "Iterator[subprocess.Popen[str]]":
    """A driver, and the JVM and Python processes that are its own: all are killed at the end."""
    process = start_driver(site, folder, stops)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def kill_at(site: Site, folder: Path, stop: str) -> None:
    """Run a driver up to a place, and kill it there, with all that it has started."""
    with driver(site, folder, stop) as process:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        if said != stop:
            _, problem = process.communicate(timeout=SAID_S)
            pytest.fail(f"the driver did not come to {stop}: {said} {problem[-2000:]}")


def finish(site: Site, folder: Path, stops: str = "") -> str:
    """Run a driver to its end; what it complained about."""
    with driver(site, folder, stops) as process:
        return process.communicate(timeout=SAID_S)[1]


@pytest.mark.timeout(900)
def test_killed_drivers_write_everything_once(site: Site, tmp_path: Path) -> None:
    with queues(site, "IN", "BACK"):
        ids = site.put_units("IN", UNITS)
    site.wait_copied("IN", len(ids))
    for stop in KILLS:
        kill_at(site, tmp_path, stop)
    assert "failed at 12.files" in finish(site, tmp_path, "12.files!")
    assert finish(site, tmp_path) == ""

    files = site.spark.read.parquet(str(tmp_path / "files")).collect()
    assert sorted(bytes(row["message_id"]) for row in files) == sorted(ids)
    assert len({row["batch_id"] for row in files}) >= 20
    with site.manager.connect() as qm:
        back = list(qm.queue("BACK").browse())
        assert sorted(message.message_id for message in back) == sorted(ids)
        assert qm.queue("IN").depth() == len(ids)  # reading consumes nothing
    by_id = {bytes(row["message_id"]): row for row in files}
    assert all(by_id[one.message_id]["priority"] == one.priority for one in back)
    assert in_order(tmp_path / "journal") == []


def in_order(journal: Path) -> list[str]:
    """Check the rows as they reached the sinks, of each batch the last time it was done."""
    last: dict[int, list[dict[str, Any]]] = {}
    former = None
    for line in journal.read_text().splitlines():
        batch_id, lane, seq = json.loads(line)
        if batch_id != former:
            last[batch_id] = []
        former = batch_id
        last[batch_id].append({"partition": lane, "seq": seq})
    # A batch that was read twice in a row is in the journal twice: the second half counts.
    rows: list[dict[str, Any]] = []
    for batch in last.values():
        seen = {(row["partition"], row["seq"]) for row in batch}
        rows += batch[-len(seen) :]
    return order_problems(rows)


def test_a_unit_that_is_too_large_is_refused_with_advice(site: Site, tmp_path: Path) -> None:
    with queues(site, "MANY", "FEW") as qm:
        qm.queue("MANY").put_many(str(number) for number in range(10_001))
    site.wait_copied("MANY", 10_001)
    sink = sinks.to_queue("FEW", address=site.address, application_id="LARGE")
    with pytest.raises(StreamingQueryException) as refused:
        drain(site.stream("MANY"), sink, tmp_path)
    assert "read with a smaller max_messages_per_batch" in errors.explain(refused.value)
    with site.manager.connect() as qm:
        assert qm.queue("FEW").depth() == 0


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
