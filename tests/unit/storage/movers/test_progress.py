"""What passes while progress is read is waited for, as where a broker has just come back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.progress import READ_TIMEOUT_S, Committed

PASSING = KafkaError.NOT_LEADER_FOR_PARTITION
LASTING = KafkaError.TOPIC_AUTHORIZATION_FAILED


class Recovering:
    """A consumer of a partition with one record, whose questions fail so many times at first."""

    def __init__(self, code: int, failures: int) -> None:
        self._code, self._failures = code, failures
        self.asked = 0

    def _fails(self) -> bool:
        self.asked += 1
        self._failures -= 1
        return self._failures >= 0

    def get_watermark_offsets(self, *_: object) -> tuple[int, int]:
        if self._fails():
            raise KafkaException(KafkaError(self._code))
        self._failures = 2
        return 0, 1

    def list_topics(self, *_: object) -> None:
        """Asked for anew."""

    def assign(self, _partitions: object) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""

    def poll(self, _timeout_s: float) -> SimpleNamespace | None:
        if self._fails():
            return SimpleNamespace(error=lambda: KafkaError(self._code), offset=lambda: None)
        if self._failures < -1:
            end = KafkaError(KafkaError._PARTITION_EOF)
            return SimpleNamespace(error=lambda: end, offset=lambda: 1)
        return SimpleNamespace(error=lambda: None, offset=lambda: 0, key=lambda: b"k")


def committed(monkeypatch: pytest.MonkeyPatch, consumer: Recovering) -> Committed:
    monkeypatch.setattr("adapter.storage.movers.progress.Consumer", lambda _settings: consumer)
    monkeypatch.setattr("adapter.storage.movers.progress.consumer_settings", lambda *_: {})
    settings: Any = SimpleNamespace(destination=SimpleNamespace(bootstrap_servers="b:1"))
    return Committed(settings)


def test_a_leader_that_is_not_known_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Recovering(PASSING, 2)
    with committed(monkeypatch, consumer) as read:
        assert read.last("t", 0, "k") is not None
    assert consumer.asked > 5


def test_a_right_that_is_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Recovering(LASTING, 2)
    with (
        pytest.raises(Doubtful, match="failed"),
        committed(monkeypatch, consumer) as read,
    ):
        read.last("t", 0, "k")
    assert consumer.asked == 1


class Slow(Recovering):
    """A consumer of a partition with three records, that takes a second for each answer."""

    def __init__(self, *, answers: bool = True) -> None:
        super().__init__(PASSING, 0)
        self._answers = answers
        self.now_s = 0.0
        self._next = 0

    def monotonic(self) -> float:
        return self.now_s

    def get_watermark_offsets(self, *_: object) -> tuple[int, int]:
        self.now_s += 1.0
        return 0, 3

    def assign(self, _partitions: object) -> None:
        self._next = 0

    def poll(self, _timeout_s: float) -> SimpleNamespace | None:
        self.now_s += 1.0
        if not self._answers:
            return None
        offset, self._next = self._next, self._next + 1
        end = KafkaError(KafkaError._PARTITION_EOF) if offset == 3 else None
        return SimpleNamespace(error=lambda: end, offset=lambda: offset, key=lambda: b"k")


def test_many_lanes_are_read_however_long_they_take_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consumer = Slow()
    monkeypatch.setattr("adapter.storage.movers.progress.time", consumer)
    with committed(monkeypatch, consumer) as read:
        for lane in range(20):
            assert read.last("t", lane, "k") is not None
    assert consumer.now_s > 3 * READ_TIMEOUT_S


def test_a_partition_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Slow(answers=False)
    monkeypatch.setattr("adapter.storage.movers.progress.time", consumer)
    with (
        pytest.raises(Doubtful, match="not read within 20 s"),
        committed(monkeypatch, consumer) as read,
    ):
        read.last("t", 0, "k")
    assert consumer.now_s < 2 * READ_TIMEOUT_S
