"""The topic of a registry, by a stand-in for Kafka's client: where reading goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from adapter.registry import log
from adapter.registry.log import (
    Kept,
    MemorySchemaLog,
    RecordsMissingError,
    TopicLog,
    TopicRemadeError,
)
from adapter.storage.ledger.memory import MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable
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
        self.ids = ["first"]
        """Its id each time that it is asked for; the last one for ever."""
        self.admins = 0

    def admin(self, *_: object) -> SimpleNamespace:
        self.admins += 1

        def close() -> None:
            self.admins -= 1

        return SimpleNamespace(ensure=lambda _specs: [], identities=self.identities, close=close)

    def identities(self, names: list[str]) -> dict[str, str]:
        found = self.ids[0] if len(self.ids) == 1 else self.ids.pop(0)
        if found == "away":
            raise topics.TopicError("no answer", retriable=True)
        return dict.fromkeys(names, found) if found else {}

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
    monkeypatch.setattr(topics, "TopicAdmin", made.admin)
    return made


def offsets(found: list[Kept]) -> list[int]:
    return [int(one.key[1:]) for one in found]


def test_reading_goes_on_where_it_was_also_after_a_close(topic: Topic) -> None:
    read = TopicLog("k:1")
    assert offsets(read.read()) == [3, 4, 7]
    assert read.read() == []
    read.close()
    read.close()
    topic.offsets += [8, 9]
    topic.end = 10
    assert offsets(read.read()) == [8, 9]
    assert topic.opened == 2


def test_where_something_is_missing_behind_the_last_read_all_is_read_again(topic: Topic) -> None:
    """Whatever compaction has removed there, this reader has not seen."""
    read = TopicLog("k:1")
    assert offsets(read.read()) == [3, 4, 7]
    topic.offsets = [4, 8, 10]
    topic.end = 11
    with pytest.raises(RecordsMissingError, match="offset 9"):
        read.read()
    assert offsets(read.read()) == [4, 8, 10]
    assert read.read() == []


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
    with pytest.raises(TopicRemadeError, match="created again"):
        read.read()


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize("end", [8, 9, 20])
def test_a_longer_topic_of_the_same_name_is_not_read_on(
    topic: Topic, end: int, *, closes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = TopicLog("k:1")
    assert offsets(read.read()) == [3, 4, 7]
    topic.ids = ["second"]
    topic.offsets += range(8, end)
    topic.end = end
    if end == 8 and not closes:
        assert read.read() == []
        monkeypatch.setattr(log, "CHECK_S", 0.0)
    for _ in range(2):
        if closes:
            read.close()
        with pytest.raises(TopicRemadeError, match="another topic than before"):
            read.read()
    read.close()
    assert topic.admins == 0


def test_what_was_read_is_of_the_topic_that_is_there_afterwards(topic: Topic) -> None:
    read = TopicLog("k:1")
    topic.ids = ["first", "second"]  # when it is opened, and behind the first read
    with pytest.raises(TopicRemadeError):
        read.read()


@pytest.mark.parametrize(("found", "says"), [("", "not there at the moment"), ("away", "no ans")])
def test_what_cannot_be_asked_of_a_topic_is_tried_again(
    topic: Topic, found: str, says: str
) -> None:
    read = TopicLog("k:1")
    topic.ids = ["first", found, "first"]
    with pytest.raises(LedgerUnavailable, match=says):
        read.read()
    assert offsets(read.read()) == [3, 4, 7], "nothing of it is lost"


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
