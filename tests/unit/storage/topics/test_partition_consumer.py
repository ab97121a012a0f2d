"""What a consumer of one partition says of a partition that it cannot read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.storage.topics import partition_consumer
from adapter.storage.topics.port import MessageMissingError, PagesUnavailableError
from adapter.storage.topics.reader import AHEAD, READ_ON, Cursor

LANE = 3
PLACE = ("topic", LANE)


class WithoutLeader:
    """A consumer that remembers no leader of a partition. found: what Kafka says of its topic."""

    def __init__(self, found: SimpleNamespace) -> None:
        self._found = found

    def get_watermark_offsets(self, *_: object) -> None:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    def list_topics(self, topic: str, _timeout_s: float) -> SimpleNamespace:
        return SimpleNamespace(topics={topic: self._found})


@pytest.mark.parametrize(
    ("found", "is_missing"),
    [
        (SimpleNamespace(error=None, partitions={LANE: None}), False),
        (SimpleNamespace(error=None, partitions={}), True),
        (SimpleNamespace(error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), partitions={}), True),
    ],
)
def test_a_partition_without_a_leader_has_not_lost_its_messages(
    monkeypatch: pytest.MonkeyPatch, found: SimpleNamespace, is_missing: bool
) -> None:
    monkeypatch.setattr(partition_consumer, "Consumer", lambda _settings: WithoutLeader(found))
    cursor = Cursor({}, {}, READ_ON, AHEAD)
    with pytest.raises(PagesUnavailableError) as caught:
        cursor.read(PLACE, 1, 1)
    assert isinstance(caught.value, MessageMissingError) is is_missing
