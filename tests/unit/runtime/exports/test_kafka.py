"""What a writer of a topic of Kafka sends, where a producer is stood for.

tests/integration/test_exports.py has the rest, with Kafka.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError

from adapter.runtime.exports.kafka import NEVER, KafkaExportTopics, KafkaExportWriter
from adapter.runtime.exports.port import ExportError, RecordRefusedError
from adapter.storage.format import exports as format_exports
from adapter.storage.format.exports import ExportedRecord, ExportProgress
from adapter.storage.format.hops import ORIGIN
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.open_lanes import OpenLane
from adapter.storage.movers.settings import KafkaCluster
from adapter.storage.topics.specs import TopicSettings


class HiddenRecord:
    """A record that is committed and not shown, as Kafka's client reads it."""

    def value(self) -> bytes:
        return b"x" * 2_000

    def key(self) -> bytes:
        return b"k"

    def partition(self) -> int:
        return 0

    def timestamp(self) -> tuple[int, int]:
        return 1, 5

    def headers(self) -> list[tuple[str, bytes]]:
        return []

    def topic(self) -> str:
        return "T"


class NotedProducer:
    """Keeps what is produced; the topic has so many partitions."""

    def __init__(self, partitions: int = 2) -> None:
        self.sent: list[tuple[Any, ...]] = []
        self.asked = 0
        self._partitions = partitions

    def produce(self, *arguments: Any) -> None:
        self.sent.append(arguments)

    def list_topics(self, topic: str, _timeout_s: float) -> Any:
        self.asked += 1
        there = type("Found", (), {"error": None, "partitions": dict.fromkeys(range(2))})
        return type("Listed", (), {"topics": {topic: there}})


class NotedProducers:
    """Stands for transactions. refuses: what the topic says of each record when it is written."""

    def __init__(self, refuses: int | None = None) -> None:
        self.current = NotedProducer()
        self.refused: dict[str, str] = {}
        self._refuses = refuses

    def begin(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def report(self, _error: object, _message: object) -> None:
        pass

    def write(self, *_: object) -> None:
        if self._refuses is not None:
            for _, _, _, _, report, *_rest in self.current.sent:
                report(KafkaError(self._refuses), HiddenRecord())
            raise Doubtful("writing failed")


def writer_with(producers: NotedProducers, *one_by_one: str) -> KafkaExportWriter:
    topics = KafkaExportTopics(KafkaCluster("127.0.0.1:1"), TopicSettings.for_brokers(1))
    topics.one_by_one |= set(one_by_one)
    writer = topics.writer("QM1", "E", "T")
    writer._producers = producers  # type: ignore[assignment]
    return writer


def test_a_hidden_record_that_the_topic_does_not_take_again_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hidden: Any = [HiddenRecord()]
    writer = writer_with(NotedProducers(KafkaError.MSG_SIZE_TOO_LARGE), "T")
    monkeypatch.setattr(
        writer, "_require_topic", lambda: writer._write_again(ExportProgress(3, topic="T"), hidden)
    )
    with pytest.raises(
        ExportError, match=r"topic T does not take again .*MSG_SIZE_TOO_LARGE"
    ) as it:
        writer.resume()
    assert not isinstance(it.value, RecordRefusedError)


def test_a_record_that_ends_a_transaction_is_one_that_every_topic_takes() -> None:
    """A compacted topic takes none without a key. It is known as ours."""
    producers = NotedProducers()
    writer_with(producers)._abort_in([OpenLane("T", 1, 0, 3), OpenLane("T", 0, 0, 3)])
    assert [(one[0], one[3]) for one in producers.current.sent] == [("T", 1), ("T", 0)]
    for _, _, key, _, _, _, _, headers in producers.current.sent:
        assert key
        assert format_exports.number_of(dict(headers)[ORIGIN], "QM1", "E") == NEVER


def test_partitions_that_are_not_there_are_known_beforehand() -> None:
    producers = NotedProducers()
    writer = writer_with(producers)

    def refused(*partitions: int) -> list[int]:
        records = [ExportedRecord(b"x", None, [], 5, partition) for partition in partitions]
        return [one.at for one in writer.refusals(records)]

    assert refused(-1, -1) == []
    assert producers.current.asked == 0
    assert refused(-1, 0, 1, 2, 77, 1) == [3, 4]
    assert refused(0, 1) == []
    assert producers.current.asked == 1, "it is asked for again only of one that is not known"
    assert producers.current.sent == []
