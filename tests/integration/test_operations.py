"""What an operator has: health, metrics and a live table of a server."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    NewTopic,
)
from prometheus_client.parser import text_string_to_metric_families

import adapter
from adapter.localkafka import free_port
from adapter.storage.format import names
from tests.support.backlog import until
from tests.support.server_process import HOST, STOP_S, ServerProcess
from tests.support.shared_kafka import AnyKafka

ANSWER_S = 5.0
WAIT_S = 30.0
TOP = Path(__file__).parents[2]


class Answer(msgspec.Struct):
    """One page of the endpoint."""

    status: int
    text: str

    @property
    def said(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.text)
        return said


def ask(port: int, page: str) -> Answer:
    """Ask the endpoint for a page."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/{page}", timeout=ANSWER_S) as answer:
            return Answer(answer.status, answer.read().decode())
    except urllib.error.HTTPError as refused:
        with refused:
            return Answer(refused.code, refused.read().decode())


def ask_until(port: int, page: str, wanted: Callable[[Answer], bool]) -> Answer:
    """Ask until the answer is as wanted."""
    answers: list[Answer] = []

    def asked() -> bool:
        answers.append(ask(port, page))
        return wanted(answers[-1])

    until(asked)
    return answers[-1]


def copied(qm: adapter.Connection) -> int:
    """How many messages are on their topics."""
    count: int = qm.figures()["movers"].get("stream", {}).get("copied", 0)
    return count


def metrics(port: int) -> dict[str, float]:
    """Every metric, by name and the value of its label, if it has one."""
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for family in text_string_to_metric_families(ask(port, "metrics").text)
        for sample in family.samples
    }


@pytest.fixture
def unlike(unique_name: Callable[..., str]) -> str:
    return unique_name()


def test_a_servers_life_as_it_is_monitored(kafka: AnyKafka, unlike: str, tmp_path: Path) -> None:
    """From start to stop: live and ready, and what the metrics count."""
    port = free_port()
    with ServerProcess(unlike, kafka.bootstrap_servers, tmp_path, http_port=port) as server:
        server.launch()
        assert server.await_ready().http == f"http://{HOST}:{port}"
        assert ask(port, "live").status == 200
        ask_until(port, "ready", lambda answer: answer.status == 200)
        with adapter.connect(server.address) as qm:
            unit = work(qm)
            until(lambda: copied(qm) == 4)
            told = metrics(port)
            assert told["mqk_queue_depth ORDERS"] == 2
            assert told["mqk_queue_in_flight ORDERS"] == 1
            assert told["mqk_queue_uncommitted_puts ORDERS"] == 1
            assert told["mqk_queue_puts_total ORDERS"] == 4
            assert told["mqk_queue_gets_total ORDERS"] == 2
            assert told["mqk_queue_backouts_total ORDERS"] == 1
            assert told["mqk_commits_total"] == 1
            assert told["mqk_backouts_total"] == 1
            assert told["mqk_units_in_flight"] == 1
            assert told["mqk_connections"] == 1
            assert told["mqk_owner_state running"] == 1
            assert told["mqk_ledger_durable_entries_total"] >= 4
            assert told["process_open_fds"] > 0
            the_table_shows_the_same(server)
            assert unit.is_open
        a_topic_that_cannot_be_written_shows(server, kafka, port)
        server.ask_to_end()
        assert server.await_end(STOP_S) == 0


def work(qm: adapter.Connection) -> adapter.Unit:
    """Put 4, get 2 for good and 1 not; return an open unit that has put 1 and got 1."""
    qm.define_queue("ORDERS")
    queue = qm.queue("ORDERS")
    for number in range(4):
        queue.put(b"%d" % number)
    queue.get()
    with qm.unit():
        queue.get()
    with qm.unit() as returned:
        queue.get()
        returned.backout()
    unit = qm.unit()
    unit.begin()
    queue.get(unit=unit)
    queue.put(b"open", unit=unit)
    return unit


def the_table_shows_the_same(server: ServerProcess) -> None:
    command = [sys.executable, "-m", "adapter.cli", "top", "--once", "--interval", "0.1", "--json"]
    done = subprocess.run(
        [*command, "--qmgr", server.address],
        capture_output=True, text=True, timeout=WAIT_S, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["queue_manager"] == server.queue_manager
    assert set(told["movers"]) == {"stream", "events"}
    (line,) = told["queues"]
    assert (line["queue"], line["depth"]) == ("ORDERS", 2)
    assert (line["in_flight"], line["uncommitted_puts"], line["waiting_gets"]) == (1, 1, 0)
    assert line["oldest_message_age_s"] > 0


def a_topic_that_cannot_be_written_shows(server: ServerProcess, kafka: AnyKafka, port: int) -> None:
    """A topic that somebody made before the queue manager did, and wrongly."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    topic = names.queue_topic(server.queue_manager, "WRONG", 0)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(WAIT_S)
    with adapter.connect(server.address) as qm:
        qm.define_queue("WRONG")
        qm.put("WRONG", b"not copied")

    def shown() -> bool:
        told = metrics(port)
        kinds = ("mqk_mover_holding", "mqk_mover_parked_topics")
        return any(told.get(f"{kind} stream") for kind in kinds)

    until(shown)
    assert ask(port, "live").status == 200


def test_a_port_that_is_taken(kafka: AnyKafka, unlike: str, tmp_path: Path) -> None:
    """Whoever chose it is told; nobody else is kept from starting."""
    port = free_port()
    name = unlike
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path, http_port=port) as first:
        first.start()
        servers, other = kafka.bootstrap_servers, f"{name}.B"
        with ServerProcess(other, servers, tmp_path, http_port=port) as told:
            told.launch()
            assert told.await_end() == 1
            assert f"{HOST}:{port} cannot be used to listen" in told.sentence()
            assert "choose another port with --http-listen" in told.sentence()
        with ServerProcess(other, servers, tmp_path, http_port=port, http_if_free=True) as let_be:
            let_be.launch()
            assert let_be.await_ready().http == ""
            let_be.await_said("not monitored")
