"""What the sender to other queue managers asks of its Kafka client."""

from typing import Any

import pytest

from adapter.network import kafka
from adapter.network.kafka import KafkaTopicWriter


def test_a_writer_has_one_batch_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a partition that is new to it may take the second one without the first."""
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(kafka, "Producer", made.append)
    KafkaTopicWriter("nowhere:9", {"max.in.flight.requests.per.connection": 5})
    assert made[0]["max.in.flight.requests.per.connection"] == 1
