"""The jobs as commands: what they write, what they report, how they fail."""

import json
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter.cli.main import run
from adapter.runtime.owner.housekeeping import Housekeeping
from adapter.server.process.figures import ServerFigures
from adapter.server.server import Server
from spark_jobs import running, topics
from spark_jobs.errors import SparkJobError
from tests.support.spark_site import Site, collecting, queues, start, wait_copied

TOP = Path(__file__).parents[2]
DONE_S = 200
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def job(site: Site, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `mqk spark ...` in this process, on this session; status, report, complaints."""

    def call(*arguments: str) -> tuple[int, dict[str, Any], str]:
        name, *rest = arguments
        told = ["--bootstrap-server", site.servers, "--queue-manager", site.name, "--json"]
        capsys.readouterr()
        status = run(["spark", name, *rest, *told])
        said = capsys.readouterr()
        sys.stderr.write(said.err)  # shown if the test fails
        return status, json.loads(said.out) if said.out else {}, said.err

    return call


def test_archive_writes_every_message_once(site: Site, job: Any, tmp_path: Path) -> None:
    with queues(site, "ARCHIVED"):
        ids = site.put_units("ARCHIVED", 20)
    site.wait_copied("ARCHIVED", 60)
    wanted = ["archive", "ARCHIVED", str(tmp_path), "--available-now", "--messages-a-batch", "25"]
    status, report, progress = job(*wanted)
    assert (status, report["messages"]) == (0, 60)
    assert report["batches"] >= 3
    assert "batch 0: " in progress
    assert job(*wanted)[1]["messages"] == 0
    rows = site.spark.read.parquet(str(tmp_path)).collect()
    assert sorted(bytes(row["message_id"]) for row in rows) == sorted(ids)


def test_a_job_ends_when_its_queue_is_defined_again(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's Kafka source would wait for records of the earlier topic, without a word."""
    monkeypatch.setattr(running, "CHECK_S", 0.0)
    options: dict[str, str] = {}
    kafka = site.servers, site.name, options
    with queues(site, "REDEFINED") as qm:
        site.put_units("REDEFINED", 1)
        site.wait_copied("REDEFINED", 3)
        check = partial(
            topics.check_topic, site.spark, "REDEFINED", site.topic("REDEFINED"), *kafka
        )
        check()
        query = start(site.stream("REDEFINED"), collecting([]), tmp_path)
        qm.delete_queue("REDEFINED", purge=True)
        qm.define_queue("REDEFINED")
        with pytest.raises(SparkJobError, match="queue REDEFINED has been deleted since this"):
            running.follow(query, check)
        assert not query.isActive


def test_archive_consumes(site: Site, job: Any, tmp_path: Path) -> None:
    with queues(site, "DRAINED") as qm:
        ids = [qm.put("DRAINED", "").message_id, *site.put_units("DRAINED", 20)]
        site.wait_copied("DRAINED", 61)
        wanted = ["archive", "DRAINED", str(tmp_path), "--available-now", "--consume", "ARCHIVE"]
        wanted += ["--qmgr", site.address, "--messages-a-batch", "25"]
        status, report, _ = job(*wanted)
        assert (status, report["messages"], report["batches"]) == (0, 61, 3)
        (consumer,) = qm.consumers("DRAINED")
        assert (consumer.name, consumer.messages) == ("ARCHIVE", 0)
        assert qm.queue("DRAINED").status().current_depth == 0
        qm.put("DRAINED", "later")
        site.wait_copied("DRAINED", 62)
    assert job(*wanted)[1]["messages"] == 1
    rows = site.spark.read.parquet(str(tmp_path)).collect()
    assert {bytes(row["message_id"]) for row in rows} > set(ids)
    assert len(rows) == 62


def test_archive_consumes_what_is_not_known_to_be_copied_yet(
    site: Site, job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there when the job began. The owner looks at the movers when it was asked for that."""
    sweep, figures = Housekeeping.sweep, Server.figures
    is_asked = threading.Event()

    def sweep_when_asked(keeping: Housekeeping) -> None:
        if is_asked.is_set():
            sweep(keeping)

    def figures_then_sweep(server: Server) -> ServerFigures:
        found = figures(server)
        is_asked.set()
        return found

    with queues(site, "LATE") as qm:
        monkeypatch.setattr(Housekeeping, "sweep", sweep_when_asked)
        qm.put("LATE", "late")
        wait_copied(site.servers, site.topic("LATE"), 1)
        monkeypatch.setattr(Server, "figures", figures_then_sweep)
        wanted = ["archive", "LATE", str(tmp_path), "--available-now", "--consume", "ARCHIVE"]
        assert job(*wanted, "--qmgr", site.address)[1]["messages"] == 1
        assert qm.queue("LATE").status().current_depth == 0


def test_audit_finds_nothing_wrong_with_what_a_queue_manager_wrote(site: Site, job: Any) -> None:
    with queues(site, "SOUND"):
        site.put_units("SOUND", 20)
    site.wait_copied("SOUND", 60)
    status, report, _ = job("audit", "SOUND")
    assert (status, report["messages"], report["units"], report["violations"]) == (0, 60, 20, 0)


def test_audit_finds_what_is_wrong(site: Site, job: Any) -> None:
    """A foreign record, a damaged one, and copies of one message: of a unit, and out of order."""
    with queues(site, "WRONG") as qm:
        with qm.unit():
            qm.put("WRONG", "a", priority=0)
            qm.put("WRONG", "b", priority=0)
        with queues(site, "OTHER") as other, other.unit():
            other.put("OTHER", "c", priority=0)
            other.put("OTHER", "d", priority=0)
    site.wait_copied("WRONG", 2)
    first = site.wait_copied("OTHER", 2)[0]
    site.write_foreign("WRONG", b"theirs", [])
    site.write_foreign("WRONG", b"x", [("mqmd", b"\x02x")])
    site.write_foreign("WRONG", first.value(), first.headers())
    status, report, _ = job("audit", "WRONG")
    assert status == 1
    assert (report["no_messages"], report["out_of_order"], report["incomplete_units"]) == (2, 1, 1)
    assert "has no header mqmd" in report["examples"]
    assert "has seq 1, not 3" in report["examples"]
    assert "has 1 of 2 messages" in report["examples"]


FLIGHT = (
    "2013,1,1,517,515,{delay},830,819,11,{carrier},1545,N14228,{origin},IAH,227,1400,{hour},15,"
)


def test_flights_are_summed_up_and_drawn(site: Site, job: Any, tmp_path: Path) -> None:
    lines = [
        FLIGHT.format(delay=delay, carrier=carrier, origin=origin, hour=hour) + "2013-01-01,-9"
        for delay, carrier, origin, hour in (
            (10, "UA", "EWR", 5), (20, "UA", "EWR", 5), (-4, "AA", "JFK", 6), (30, "B6", "LGA", 6),
        )
    ]  # fmt: skip
    with queues(site, "DONE", "SUMMARY") as qm:
        qm.queue("DONE").put_many(lines)
        site.wait_copied("DONE", len(lines))
        options = ["--queue", "DONE", "--summary-queue", "SUMMARY", "--qmgr", site.address]
        status, report, problem = job("flights", str(tmp_path), "--available-now", *options)
        assert status == 0, problem
        summary = [json.loads(message.body) for message in qm.queue("SUMMARY").browse()]
    assert (tmp_path / "flights.png").read_bytes().startswith(PNG)
    assert report["messages"] == 4
    rows = site.spark.read.parquet(str(tmp_path)).collect()
    found = {(row["hour"], row["carrier"], row["origin"]): row for row in rows}
    assert found[5, "UA", "EWR"]["departure_delay"] == 15
    assert found[5, "UA", "EWR"]["flights"] == 2
    assert summary == [
        {"hour": 5, "flights": 2, "departure_delay": 15.0},
        {"hour": 6, "flights": 2, "departure_delay": 13.0},
    ]


def test_lag_tells_what_queues_suffered(site: Site, job: Any, tmp_path: Path) -> None:
    with queues(site) as qm:
        qm.alter_queue_manager(statistics_interval_s=1)
        qm.define_queue("LAG", max_depth=2, backout_threshold=1)
        qm.put("LAG", "a")
        qm.put("LAG", "b")
        with pytest.raises(adapter.errors.QueueFull):
            qm.put("LAG", "c")
        unit = qm.unit()
        unit.begin()
        qm.get("LAG", unit=unit)
        unit.backout()
    rows: list[dict[str, Any]] = []
    for _ in range(10):  # until the events are there, and the mover has copied them
        status, report, problem = job("lag", str(tmp_path), "--available-now", "--window", "1 day")
        assert status == 0, problem
        rows = [row for row in report.get("lag", []) if row["name"] == "LAG"]
        if rows and rows[0]["backed_out"] and rows[0]["returned"]:
            break
    assert [(row["full"], row["depth"]) for row in rows] == [(1, 2)]
    assert [(row["backed_out"], row["backout_count"]) for row in rows] == [(1, 1)]
    assert [(row["puts"], row["gets"], row["returned"]) for row in rows] == [(2, 0, 1)]
    assert rows[0]["oldest_age_s"] > 0


def test_failures_are_one_sentence(
    job: Any, tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "NEW_QUEUE_S", 0.0)
    status, _, said = job("archive", "NOWHERE", str(tmp_path), "--available-now")
    assert status == 1
    assert said.startswith("mqk: queue NOWHERE of queue manager")
    assert "Traceback" not in said
    with queues(site, "SPOILT") as qm:
        qm.put("SPOILT", "ours", priority=1)
    site.wait_copied("SPOILT", 1)
    site.write_foreign("SPOILT", b"theirs", [])
    status, _, said = job("archive", "SPOILT", str(tmp_path / "spoilt"), "--available-now")
    assert status == 1
    assert "at offset 0 is not a message of a queue: it has no header mqmd" in said
    assert "Traceback" not in said
