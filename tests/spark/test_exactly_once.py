"""Archive, write-back and get, with failures in foreachBatch and drivers that are killed: what has
been put is there once, and the rows of each lane reached the sink in order."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import adapter
from spark_jobs import errors, sinks
from tests.spark import lives
from tests.support.spark_site import Site, collecting, drain, order_problems, queues

ARCHIVED_UNITS, TAKEN_UNITS = 56, 40
KILLS = (
    # The files are there, the queue has nothing; of what is taken nothing is written.
    ("archive.3.files", "get.1.read"),
    # Everything is there, and neither Spark nor the queue manager knows.
    ("archive.9.queue", "get.3.files"),
)
FAILURES = ("archive.12.files!", "archive.15.queue!", "get.4.read!")


@pytest.mark.timeout(600)
def test_killed_and_failing_drivers_do_everything_once(site: Site, tmp_path: Path) -> None:
    scene = lives.Scene(site.servers, site.name, site.address, tmp_path)
    filled = lives.fill(scene, ARCHIVED_UNITS, TAKEN_UNITS)
    for stops in KILLS:
        lives.kill_at(scene, *stops)
    said, complaints = lives.finish(scene, *FAILURES)
    assert sorted(said.splitlines()) == [f"failed at {place[:-1]}" for place in FAILURES]
    assert complaints == ""
    assert lives.check(scene, filled)["archive"] >= 20


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
