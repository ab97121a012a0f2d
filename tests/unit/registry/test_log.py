"""The topic of a registry, by a stand-in for Kafka's client: where reading goes on."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from adapter.registry import log
from adapter.registry.log import Kept, MemorySchemaLog, TopicLog
from adapter.storage.ledger.memory import MemoryLog
from adapter.storage.ledger.port import LedgerMismatch, LedgerUnavailable
from adapter.storage.topics import admin as topics


class Record:
    def __init__(self, offset: int) -> None:
        self._offset = offset

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes:
        return b"k%d" % self._offset

    def value(self) -> bytes | None:
        return b"v%d" % self._offset


class Topic:
    """What stands for a topic: its offsets, of which compaction took some; and its readers."""

    def __init__(self) -> None:
        self.offsets = [3, 4, 7]
        self.end = 8
        self.opened = 0
        self.fails = 0

    def source(self, _settings: Any) -> Source:
        self.opened += 1
        return Source(self)


class Source:
    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._at = 0

    def bounds(self) -> tuple[int, int]:
        return 2, self._topic.end

    def start(self, offset: int) -> None:
        self._at = offset

    def take_some(self) -> list[Record]:
        found = [one for one in self._topic.offsets if one >= self._at][:1]
        if self._topic.fails:
            self._topic.fails -= 1
            raise LedgerUnavailable("away")
        self._at = found[0] + 1
        return [Record(one) for one in found]

    def rest(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic()
    monkeypatch.setattr(log, "LedgerSource", made.source)
    monkeypatch.setattr(topics, "settings_for", lambda *_: None)
    ensuring = nullcontext(SimpleNamespace(ensure=lambda _specs: []))
    monkeypatch.setattr(topics, "TopicAdmin", lambda *_: ensuring)
    return made


def offsets(found: list[Kept]) -> list[int]:
    return [int(one.key[1:]) for one in found]


def test_reading_goes_on_where_it_was_also_after_a_close(topic: Topic) -> None:
    read = TopicLog("k:1")
    assert offsets(read.read()) == [3, 4, 7]
    assert read.read() == []
    read.close()
    read.close()
    topic.offsets.append(9)
    topic.end = 10
    assert offsets(read.read()) == [9]
    assert topic.opened == 2


def test_what_was_read_before_a_failure_is_not_lost(topic: Topic) -> None:
    read = TopicLog("k:1")
    assert offsets(read.read()) == [3, 4, 7]
    topic.offsets += [8, 9]
    topic.end = 10
    topic.fails = 1
    with pytest.raises(LedgerUnavailable):
        read.read()
    assert offsets(read.read()) == [8, 9]


def test_a_topic_that_was_made_anew_is_not_read_on(topic: Topic) -> None:
    read = TopicLog("k:1")
    read.read()
    topic.end = 1
    with pytest.raises(LedgerMismatch, match="created again"):
        read.read()


class Writer:
    """What stands for Kafka's producer. fails: how many of its records are not written."""

    def __init__(self, *, fails: int = 0, left: int = 0) -> None:
        self.fails = fails
        self.left = left
        self.written: list[bytes] = []

    def produce(self, _topic: str, _value: object, key: bytes, _partition: int, **to: Any) -> None:
        failed = KafkaError(KafkaError._MSG_TIMED_OUT) if self.fails else None
        self.fails -= failed is not None
        self.written += [] if failed else [key]
        to["on_delivery"](failed, None)

    def flush(self, _seconds: float) -> int:
        return self.left


def test_whether_records_were_forgotten_is_said(topic: Topic) -> None:
    del topic
    made = TopicLog("k:1")
    for writer, is_sure in ((Writer(), True), (Writer(fails=1), False), (Writer(left=1), False)):
        made._producer = writer  # type: ignore[assignment]
        assert made.forget([b"a", b"b"]) is is_sure
        assert b"b" in writer.written


def test_readers_of_one_memory_see_the_same() -> None:
    shared = MemoryLog()
    one, two = MemorySchemaLog(shared), MemorySchemaLog(shared)
    one.write(b"k", b"v")
    assert one.read() == two.read() == [Kept(b"", b"v")]
    assert one.read() == []
