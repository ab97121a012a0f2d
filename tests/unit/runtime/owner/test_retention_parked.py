"""Consumed messages of parked queues: they are readable for a day, whenever a process ends."""

from __future__ import annotations

import copy
from random import Random

import pytest

from adapter.core.contract import records as r
from adapter.runtime.owner.retention import Retention
from adapter.storage.topics.port import ALL, Trimmed
from tests.support.examples import examples
from tests.unit.runtime.owner.test_retention import DAY_MS, HOUR_MS, NONE, snapshot

STEPS = 300
QUEUES = ("A", "B", "C")


class Topics:
    """Since when each consumed message can be read; a parked queue's topic has no copies yet."""

    def __init__(self) -> None:
        self.parked: frozenset[str] = NONE
        self.consumed = dict.fromkeys(QUEUES, 0)
        self.since_ms: dict[tuple[str, int], int] = {}

    def consume(self, queue: str, count: int, now_ms: int) -> None:
        for _ in range(count):
            self.consumed[queue] += 1
            if queue not in self.parked:
                self.since_ms[queue, self.consumed[queue]] = now_ms

    def park(self, queue: str, now_ms: int) -> None:
        """Park a queue, or write its topic again: its copies come."""
        if queue not in self.parked:
            self.parked |= {queue}
            return
        self.parked -= {queue}
        for seq in range(1, self.consumed[queue] + 1):
            self.since_ms.setdefault((queue, seq), now_ms)

    def check(self, retention: Retention, now_ms: int, parked: frozenset[str]) -> None:
        batch = retention.due(now_ms, parked)
        for (queue, _, _), first in batch.items():
            for seq in range(1, first):
                since_ms = self.since_ms.get((queue, seq), now_ms)
                assert now_ms - since_ms >= DAY_MS, f"message {seq} of {queue} goes too early"
        retention.done(batch, Trimmed())

    def records(self) -> list[r.Record]:
        return snapshot(*((queue, 0, count + 1) for queue, count in self.consumed.items()))


@pytest.mark.parametrize("seed", range(examples(60)))
def test_whenever_a_process_ends_what_was_consumed_stays_for_a_day(seed: int) -> None:
    """The next one goes by the notes of the newest snapshot, and does not know at first which
    queues are parked."""
    random = Random(seed)
    topics, retention, kept = Topics(), Retention(DAY_MS, []), list[r.Record]()
    now_ms = 0
    for _ in range(STEPS):
        now_ms += random.randrange(3 * HOUR_MS)
        queue = random.choice(QUEUES)
        chance = random.random()
        if chance < 0.4:
            topics.consume(queue, random.randint(1, 5), now_ms)
        elif chance < 0.5:
            topics.park(queue, now_ms)
        elif chance < 0.6:
            notes = [one for one in kept if isinstance(one, r.ConsumedRestored)]
            retention = Retention(DAY_MS, copy.deepcopy(notes))
            topics.check(retention, now_ms, NONE)
        elif chance < 0.8:
            written = retention.note(topics.records(), now_ms, parked=topics.parked)
            if random.random() < 0.3:  # another queue is parked before it is durable
                now_ms += 1
                topics.park(queue, now_ms)
                topics.check(retention, now_ms, topics.parked)
            kept = copy.deepcopy(written)
            retention.written()
        topics.check(retention, now_ms, topics.parked)


def test_of_a_parked_queue_nothing_is_noted_and_afterwards_all_is() -> None:
    retention = Retention(0, [])
    parked = frozenset({"Q", "GONE"})
    notes = retention.note(snapshot(("Q", 0, 5), ("A", 0, 6), gone=1), 0, parked=parked)
    assert retention.written() == [], "names are forgotten once they are noted"
    assert notes == [r.ConsumedRestored(0, [r.QueueNoted("A", 0, [6] + 9 * [0])])]
    retention.note(snapshot(("Q", 0, 5), ("A", 0, 6), gone=1), 1)
    assert retention.written() == ["GONE"]
    due = retention.due(1, NONE)
    assert due.pop(("Q", 0, 0)) == 5
    assert due.pop(("A", 0, 0)) == 6
    assert set(due.values()) == {ALL}
