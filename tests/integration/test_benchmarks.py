"""Benchmarks in short: that they run. Those that take longer are in tests/kills."""

from pathlib import Path

import pytest

from benchmarks import peers, secured, topics, verbs, web
from benchmarks.peers import servers
from tests.support.shared_kafka import AnyKafka


def test_every_verb_is_measured_beside_kafka(kafka: AnyKafka) -> None:
    amount = verbs.Amount(runs=1, seconds=0.2, messages=200)
    rows = verbs.measure(kafka.bootstrap_servers, amount)
    assert all(row.runs for row in rows.values())


def test_what_security_costs_is_measured(kafka: AnyKafka) -> None:
    amount = secured.Amount(runs=1, seconds=0.1, clients=(1,), is_counted=False)
    rows = secured.measure(kafka.bootstrap_servers, amount)
    assert set(rows) == {"clear-1", "tls-1", "off-1", "on-1"}


def test_a_web_service_is_measured(kafka: AnyKafka) -> None:
    rows = web.measure(kafka.bootstrap_servers, runs=1, seconds=0.5)
    assert all(row.runs for row in rows.values())


def test_a_queue_manager_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(servers, "RABBITMQ", tmp_path / "rabbitmq-server")
    assert peers.versions()["RabbitMQ"] == "not installed: apt-get install rabbitmq-server"


def test_a_worker_between_topics_is_measured_beside_kafka(kafka: AnyKafka) -> None:
    rows = topics.measure(kafka.bootstrap_servers, 1, single=5, messages={1: 50, 100: 300})
    assert all(row.runs for row in rows.values())
