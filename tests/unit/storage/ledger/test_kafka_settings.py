"""What a caller may set of the clients, and what nobody may."""

from typing import Any

from confluent_kafka import KafkaError

from adapter.storage.ledger.kafka_settings import (
    LedgerSettings,
    consumer_settings,
    owner_settings,
    producer_settings,
)
from adapter.storage.ledger.port import RECORD_BYTES_MAX


def ignore(_error: KafkaError) -> None: ...


def settings(**client: Any) -> LedgerSettings:
    return LedgerSettings(bootstrap_servers="a:1", topic="t", client=client)


def test_safety_is_not_the_callers_to_change() -> None:
    unsafe = {
        "acks": 1,
        "enable.idempotence": False,
        "max.in.flight.requests.per.connection": 100,
        "auto.offset.reset": "latest",
        "isolation.level": "read_committed",
        "bootstrap.servers": "b:2",
    }
    producer = owner_settings(settings(**unsafe), ignore)
    assert producer["acks"] == "all"
    assert producer["enable.idempotence"] is True
    assert producer["max.in.flight.requests.per.connection"] == 5
    assert producer["linger.ms"] == 0
    assert producer["message.max.bytes"] == RECORD_BYTES_MAX
    consumer = consumer_settings(settings(**unsafe), ignore)
    assert consumer["auto.offset.reset"] == "error"
    assert consumer["isolation.level"] == "read_uncommitted"
    assert consumer["enable.auto.commit"] is False
    assert producer["bootstrap.servers"] == consumer["bootstrap.servers"] == "a:1"


def test_a_producer_that_awaits_no_first_record_has_one_batch_in_flight() -> None:
    """Else a partition that is new to it may take the second one without the first."""
    unsafe = settings(**{"max.in.flight.requests.per.connection": 5})
    made = producer_settings(unsafe, ignore)
    assert made["max.in.flight.requests.per.connection"] == 1


def test_security_and_timings_are() -> None:
    given = settings(**{"security.protocol": "SSL", "socket.timeout.ms": 1})
    for found in (producer_settings(given, ignore), consumer_settings(given, ignore)):
        assert found["security.protocol"] == "SSL"
        assert found["socket.timeout.ms"] == 1


def test_a_broker_that_does_not_answer_is_given_up_soon() -> None:
    """After librdkafka's 60 s, commits would stall for a minute when a leader's host freezes."""
    for found in (owner_settings(settings(), ignore), consumer_settings(settings(), ignore)):
        assert found["socket.timeout.ms"] == 3000
        assert found["retry.backoff.max.ms"] == 100
        assert found["topic.metadata.refresh.fast.interval.ms"] == 20
    assert owner_settings(settings(), ignore)["request.timeout.ms"] == 2500


def test_an_append_is_given_up_late() -> None:
    """A slow append alone is no reason to step down: it waits for many session timeouts of brokers,
    which are 9 s by Kafka's default, and for the election of another leader.
    """
    assert producer_settings(settings(), ignore)["message.timeout.ms"] >= 60_000
