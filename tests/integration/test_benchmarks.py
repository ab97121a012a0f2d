"""Benchmarks in short: that they run. Those that take longer are in tests/kills."""

from pathlib import Path

import pytest

from benchmarks import peers, verbs
from benchmarks.peers import servers
from tests.support.shared_kafka import AnyKafka


def test_every_verb_is_measured_beside_kafka(kafka: AnyKafka) -> None:
    amount = verbs.Amount(runs=1, seconds=0.2, messages=200)
    rows = verbs.measure(kafka.bootstrap_servers, amount)
    assert all(row.runs for row in rows.values())


def test_a_queue_manager_that_is_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(servers, "RABBITMQ", tmp_path / "rabbitmq-server")
    assert peers.versions()["RabbitMQ"] == "not installed: apt-get install rabbitmq-server"
