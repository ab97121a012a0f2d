"""Cursors read what is there though the topic was deleted, and made again with other offsets."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from adapter.storage.topics import partition_consumer
from adapter.storage.topics.port import MessageMissingError
from adapter.storage.topics.reader import AHEAD, READ_ON, SINGLE_READ_ON, STRIDE, Cursor, Points
from tests.unit.storage.topics.test_reader_cursor import PLACE, MadeUpConsumer, MadeUpRecord

MESSAGES = 3_000


class BeyondRecord(MadeUpRecord):
    """That no record has this offset, nor will the next one have it."""

    def __init__(self) -> None:
        super().__init__(0, 0)

    def error(self) -> Any:
        return KafkaError(KafkaError.OFFSET_OUT_OF_RANGE)


class MadeUpTopic:
    """A partition with so many messages of which each so many-th ends a transaction."""

    def __init__(self, seqs: list[int], every: int, start: int) -> None:
        self.seqs = seqs
        self.offsets = [start + at + at // every for at in range(len(seqs))]
        self.records = [MadeUpRecord(*one) for one in zip(self.seqs, self.offsets, strict=True)]
        self.first = start
        self.end = MadeUpRecord(0, self.offsets[-1] + 1)


class StrictConsumer(MadeUpConsumer):
    """A consumer of whatever partition is there now; offsets that it does not have are refused."""

    def make_again(self, partition: MadeUpTopic) -> None:
        self._partition = partition  # type: ignore[assignment]
        self._queue = []
        self._at = bisect_left(partition.offsets, getattr(self, "_offset", 0))

    def assign(self, partitions: list[TopicPartition]) -> None:
        super().assign(partitions)
        self._offset = partitions[0].offset

    def poll(self, timeout_s: float) -> MadeUpRecord | None:
        there: Any = self._partition
        if not self._queue and not there.first <= self._offset <= there.end.offset():
            return BeyondRecord()
        found = super().poll(timeout_s)
        if found is not None:
            self._offset = found.offset() + (found.error() is None)
        return found

    def consume(self, count: int, timeout_s: float) -> list[MadeUpRecord]:
        found = super().consume(count, timeout_s)
        if len(found) > 0:
            self._offset = found[-1].offset() + (found[-1].error() is None)
        return found

    def get_watermark_offsets(self, *_: Any) -> tuple[int, int]:
        there: Any = self._partition
        return there.first, there.end.offset()


def made_up(chance: random.Random) -> MadeUpTopic:
    seqs = list(range(1, MESSAGES))
    if chance.random() < 0.5:  # restored: some of them had been consumed
        seqs = sorted(chance.sample(seqs, MESSAGES * 2 // 3))
    if chance.random() < 0.5:  # trimmed
        seqs = seqs[chance.randrange(MESSAGES // 3) :]
    start = chance.choice([0, 0, chance.randrange(2 * MESSAGES)])
    return MadeUpTopic(seqs, chance.choice([1, 2, 40, MESSAGES]), start)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_single", [True, False])
def test_a_topic_that_is_made_again_is_read(
    seed: int, is_single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pages, by records and by blocks: each begins with the message that is asked for."""
    chance = random.Random(seed)
    topic = made_up(chance)
    consumer = StrictConsumer(topic, chance)  # type: ignore[arg-type]
    monkeypatch.setattr(partition_consumer, "Consumer", lambda _settings: consumer)
    read_on, ahead = (SINGLE_READ_ON, 1) if is_single else (READ_ON, AHEAD)
    cursor = Cursor({}, {}, read_on, ahead)
    at = 0
    for turn in range(300):
        if turn % 30 == 29:
            topic = made_up(chance)
            consumer.make_again(topic)
        at = chance.choice([min(at + 1, len(topic.seqs) - 1), chance.randrange(len(topic.seqs))])
        seq, count = topic.seqs[at], 1 if is_single else chance.randrange(1, 60)
        wanted = topic.seqs[at : at + count]
        how = chance.random()
        if how < 0.8:
            assert [one.seq for one in cursor.read(PLACE, seq, count).messages] == wanted
            at += len(wanted) - 1
        elif how < 0.9:
            records = cursor.records(PLACE, seq)
            assert [found for (found, _), _ in zip(records, wanted, strict=False)] == wanted
            records.close()  # type: ignore[attr-defined]
        else:
            blocks = cursor.blocks(PLACE, seq, seq)
            assert (next(blocks)[0].offset() or 0) <= topic.offsets[at]
            blocks.close()  # type: ignore[attr-defined]


def test_what_is_known_of_a_topic_that_is_there_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that is not there, or not yet, is no sign of another topic."""
    chance = random.Random(1)
    seqs = [one for one in range(1, 2_000) if one % 10]
    topic = MadeUpTopic(seqs, 7, 0)
    consumer = StrictConsumer(topic, chance)  # type: ignore[arg-type]
    monkeypatch.setattr(partition_consumer, "Consumer", lambda _settings: consumer)
    points: dict[Any, Points] = {}
    cursor = Cursor({}, points, READ_ON, AHEAD)
    seq = 1
    while seq < 1_900:
        seq = cursor.read(PLACE, seq, 100).through + 1
    known = list(points[PLACE]._seqs)
    for missing in (2_000, 2_500, 900, 1_010):
        at = bisect_right(seqs, missing)
        if at == len(seqs):
            with pytest.raises(MessageMissingError):
                cursor.read(PLACE, missing, 10)
        else:
            assert cursor.read(PLACE, missing, 10).messages[0].seq == seqs[at]
    assert list(points[PLACE]._seqs)[: len(known)] == known


def test_points_of_two_topics_are_never_mixed() -> None:
    """Whatever the offsets of the second topic are, those that are known rise with the seqs."""
    chance = random.Random(3)
    for _ in range(200):
        points = Points()
        for every in (chance.randrange(1, 5), chance.randrange(1, 5)):
            for seq in sorted(chance.sample(range(1, 40 * STRIDE), 30)):
                points.add(seq, seq * every)
                assert points._offsets.tolist() == sorted(set(points._offsets))
