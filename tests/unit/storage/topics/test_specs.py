"""How each kind of topic must be."""

import pytest

from adapter.storage.topics.specs import (
    TIMESTAMP_MS_MAX,
    TopicSettings,
    TopicSpec,
    events_spec,
    ledger_spec,
    progress_spec,
    queue_spec,
    snapshots_spec,
)

SETTINGS = TopicSettings.for_brokers(3)


@pytest.mark.parametrize(
    ("brokers", "replication", "in_sync"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (7, 3, 2)]
)
def test_copies_suit_the_brokers(brokers: int, replication: int, in_sync: int) -> None:
    settings = TopicSettings.for_brokers(brokers)
    assert settings.replication == replication
    assert settings.min_insync_replicas == in_sync


@pytest.mark.parametrize("spec", [ledger_spec("l"), queue_spec("q", 10), progress_spec("p", 2)])
def test_nothing_is_deleted_by_age_or_size(spec: TopicSpec) -> None:
    assert spec.settings["retention.ms"] == "-1"
    assert spec.settings["retention.bytes"] == "-1"


def test_the_ledger_is_one_partition_stamped_by_the_broker() -> None:
    spec = ledger_spec("mq.QM1.ledger")
    assert (spec.name, spec.partitions) == ("mq.QM1.ledger", 1)
    assert spec.settings["message.timestamp.type"] == "LogAppendTime"
    assert spec.settings["max.message.bytes"] == "8388608"
    assert spec.settings["cleanup.policy"] == "delete"


@pytest.mark.parametrize(
    "spec",
    [
        queue_spec("q", 10),
        progress_spec("p", 2),
        snapshots_spec("s"),
        events_spec("e", TopicSettings.for_brokers(1)),
    ],
    ids=lambda spec: spec.name,
)
def test_what_is_stamped_by_those_who_write_takes_any_time(spec: TopicSpec) -> None:
    assert spec.settings["message.timestamp.type"] == "CreateTime"
    assert spec.settings["message.timestamp.after.max.ms"] == str(TIMESTAMP_MS_MAX)
    assert spec.settings["message.timestamp.before.max.ms"] == str(TIMESTAMP_MS_MAX)


@pytest.mark.parametrize("lanes", [0, 11, -1])
def test_a_queue_has_one_to_ten_lanes(lanes: int) -> None:
    with pytest.raises(ValueError, match=f"q: a queue has 1 to 10 lanes, not {lanes}"):
        queue_spec("q", lanes)


def test_progress_is_compacted() -> None:
    spec = progress_spec("p", 3)
    assert spec.partitions == 3
    assert spec.settings["cleanup.policy"] == "compact,delete"


def test_events_are_kept_for_a_while() -> None:
    assert events_spec("e", SETTINGS).settings["retention.ms"] == "604800000"
