"""Trimming finds where the messages before one end, also among records of other programs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from adapter.storage.topics.trim import Finder
from tests.unit.storage.topics.test_decoder import records_of

PLACE = TopicPartition("mq.QM1.q.Q", 0)
FOREIGN = 0
"""In place of a seq: a record without a descriptor."""


class Lane:
    """A consumer of one partition: what each offset holds, a seq or FOREIGN; None: a marker."""

    def __init__(self, *seqs: int | None) -> None:
        self._seqs = seqs
        self._next = 0
        self.is_away = False

    def get_watermark_offsets(self, _place: object, _timeout_s: float) -> tuple[int, int]:
        return 0, len(self._seqs)

    def assign(self, places: list[TopicPartition]) -> None:
        self._next = places[0].offset

    def poll(self, _timeout_s: float) -> object | None:
        if self.is_away:
            return failure(KafkaError.BROKER_NOT_AVAILABLE, self._next)
        while self._next < len(self._seqs) and self._seqs[self._next] is None:
            self._next += 1
        at, self._next = self._next, self._next + 1
        if at >= len(self._seqs):
            return failure(KafkaError._PARTITION_EOF, at)
        headers: Any = None
        if seq := self._seqs[at]:
            headers = records_of(seq, b"a")[0].headers()
        return SimpleNamespace(error=lambda: None, offset=lambda: at, headers=lambda: headers)


def failure(code: int, offset: int) -> object:
    return SimpleNamespace(error=lambda: KafkaError(code), offset=lambda: offset)


def finder(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> Finder:
    monkeypatch.setattr("adapter.storage.topics.trim.Consumer", lambda _settings: lane)
    return Finder({})


@pytest.mark.parametrize(
    ("seq", "end"), [(1, 0), (2, 1), (3, 3), (4, 7), (5, 10), (6, 10), (100, 10)]
)
def test_what_lies_before_a_message_ends_behind_the_one_before_it(
    monkeypatch: pytest.MonkeyPatch, seq: int, end: int
) -> None:
    one = finder(Lane(1, 2, 2, None, None, 3, 3, None, None, 4), monkeypatch)
    assert one.before(PLACE, seq) == (0, end)


@pytest.mark.parametrize("at", range(8))
@pytest.mark.parametrize("count", [1, 3])
def test_records_of_other_programs_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, at: int, count: int
) -> None:
    seqs = list(range(1, 8))
    lane = [*seqs[:at], *[FOREIGN] * count, *seqs[at:]]
    for seq in range(2, 9):
        _, end = finder(Lane(*lane), monkeypatch).before(PLACE, seq)
        assert lane[:end][-1] == seq - 1, "what is deleted ends behind a message"
        assert seq not in lane[:end]


def test_a_lane_of_other_programs_alone_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert finder(Lane(FOREIGN, FOREIGN), monkeypatch).before(PLACE, 7) == (0, 0)


def test_what_kafka_does_not_answer_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane(1, 2)
    lane.is_away = True
    with pytest.raises(KafkaException):
        finder(lane, monkeypatch).before(PLACE, 2)
