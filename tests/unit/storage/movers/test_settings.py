"""What exactly-once copying stands on is nobody's to change; the rest is the cluster's."""

import msgspec

from adapter.storage.ledger.seals import SealKeys
from adapter.storage.movers.settings import (
    FLUSH_TIMEOUT_S,
    TRANSACTION_TIMEOUT_MS,
    KafkaCluster,
    MoverSettings,
    consumer_settings,
    producer_settings,
)
from adapter.storage.movers.socket_timeout import (
    DEFINITE_PART,
    SOCKET_TIMEOUT_MAX_MS,
    SOCKET_TIMEOUT_MS,
)
from adapter.storage.movers.transactions import (
    COMMIT_TIMEOUT_S,
    Trouble,
)
from adapter.storage.topics.specs import TopicSettings

OPTIONS = {
    "security.protocol": "SSL",
    "transactional.id": "mine",
    "socket.timeout.ms": "60000",
    "log_level": "0",
    "log.connection.close": "false",
    "isolation.level": "read_uncommitted",
    "retry.backoff.ms": "1000",
}
SETTINGS = MoverSettings(
    queue_manager="QM.1",
    source=KafkaCluster("host:9092", OPTIONS),
    destination=KafkaCluster("host:9092", OPTIONS),
    topics=TopicSettings.for_brokers(3),
    keys=SealKeys((b"k" * 32, b"l" * 32), seals=False),
)


def test_options_do_not_change_what_safety_stands_on() -> None:
    watch = Trouble()
    made = producer_settings(SETTINGS, "the.id", watch, SOCKET_TIMEOUT_MS)
    assert made["security.protocol"] == "SSL"
    assert made["transactional.id"] == "the.id"
    assert made["socket.timeout.ms"] == SOCKET_TIMEOUT_MS
    assert made["retry.backoff.ms"] <= 10
    assert (made["log_level"], made["log.connection.close"]) == (6, True)
    assert made["logger"] is watch
    read = consumer_settings(SETTINGS, lambda _error: None)
    assert read["isolation.level"] == "read_committed"
    assert read["auto.offset.reset"] == "error"


def test_the_ledger_is_read_with_its_keys() -> None:
    assert SETTINGS.ledger.keys == SETTINGS.keys
    assert "kkkk" not in repr(SETTINGS)


def test_time_limits_fit_into_each_other() -> None:
    assert DEFINITE_PART < 1
    assert SOCKET_TIMEOUT_MAX_MS < TRANSACTION_TIMEOUT_MS
    assert max(FLUSH_TIMEOUT_S, COMMIT_TIMEOUT_S) * 1000 < TRANSACTION_TIMEOUT_MS


def test_settings_cross_a_pipe() -> None:
    assert msgspec.json.decode(msgspec.json.encode(SETTINGS), type=MoverSettings) == SETTINGS


def test_names_are_the_queue_managers() -> None:
    assert SETTINGS.progress_topic == "mq.QM-o1.progress"
    assert SETTINGS.ledger.topic == "mq.QM-o1.ledger"
    assert SETTINGS.ledger.client.items() >= OPTIONS.items()
