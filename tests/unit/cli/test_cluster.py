"""What `mqk doctor` makes of a Kafka's settings."""

import pytest

from adapter.cli.cluster import Cluster, ExaminedTopic, NotReachedError, dangers, examine, stall
from adapter.localkafka.settings import FAILOVER

SAFE_TOPIC = {
    "min.insync.replicas": "2", "unclean.leader.election.enable": "false",
    "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
}  # fmt: skip
SAFE_BROKER = {"default.replication.factor": "3", "unclean.leader.election.enable": "false"}


def cluster(
    brokers: int = 3, copies: int = 3, name: str = "mq.QM.ledger", **changes: str
) -> Cluster:
    settings = SAFE_TOPIC | {key.replace("_", "."): value for key, value in changes.items()}
    return Cluster(brokers, dict(SAFE_BROKER), [ExaminedTopic(name, copies, settings)])


def test_three_brokers_with_our_settings_lose_nothing() -> None:
    assert dangers(cluster()) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (cluster(copies=1), "mq.QM.ledger has one replica on 3 brokers"),
        (cluster(min_insync_replicas="1"), "mq.QM.ledger has min.insync.replicas=1"),
        (cluster(unclean_leader_election_enable="true"), "unclean.leader.election.enable=true"),
        (cluster(retention_ms="604800000"), "retention.ms=604800000"),
        (cluster(retention_bytes="1"), "retention.bytes=1"),
        (cluster(name="mq.QM.ledger", cleanup_policy="compact"), "cleanup.policy=compact: Kafka"),
        (cluster(name="mq.QM.ledger", cleanup_policy="compact,delete"), "=compact,delete: Kafka"),
        (cluster(brokers=1, copies=1, min_insync_replicas="1"), "single broker, no redundancy"),
    ],
)
def test_a_setting_that_can_lose_messages_is_named(found: Cluster, words: str) -> None:
    (danger,) = dangers(found)
    assert words in danger


def test_settings_of_the_brokers_count_too() -> None:
    found = cluster()
    assert found.settings is not None
    found.settings["unclean.leader.election.enable"] = "true"
    found.settings["default.replication.factor"] = "1"
    assert len(dangers(found)) == 2


def test_events_may_be_deleted_by_age() -> None:
    assert dangers(cluster(name="mq.QM.events", retention_ms="604800000")) == []


def test_a_compacted_topic_may_not_tell_its_age() -> None:
    assert dangers(cluster(name="mq.QM.progress", cleanup_policy="compact")) == []


def test_a_kafka_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.cli.cluster.ASK_TIMEOUT_S", 0.5)
    with pytest.raises(NotReachedError, match=r"127\.0\.0\.1:1 did not answer"):
        examine("127.0.0.1:1", {})


def test_settings_that_no_client_takes_are_named() -> None:
    with pytest.raises(NotReachedError, match=r"no\.such"):
        examine("127.0.0.1:1", {"no.such": "setting"})


DEFAULTS = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "replica.lag.time.max.ms": "30000",
    "replica.socket.timeout.ms": "30000",
    "replica.fetch.wait.max.ms": "500",
}


def test_what_kafkas_defaults_cost_in_a_fail_over_is_told_with_the_remedy() -> None:
    found = cluster()
    found.settings = SAFE_BROKER | DEFAULTS
    text = stall(found)
    assert "when a broker dies, commits wait for about 9 s, and for up to 30 s" in text
    assert "set broker.session.timeout.ms=2000, broker.heartbeat.interval.ms=300, replica" in text


def test_the_settings_of_a_local_kafka_cost_no_more_than_they_must() -> None:
    found = cluster()
    found.settings = SAFE_BROKER | dict(FAILOVER)
    assert stall(found) == ""


def test_one_broker_has_no_fail_over_and_settings_may_be_hidden() -> None:
    found = cluster(brokers=1)
    found.settings = SAFE_BROKER | DEFAULTS
    assert stall(found) == ""
    assert stall(Cluster(3, None, [])) == ""
