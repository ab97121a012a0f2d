"""Which partitions are paused, whatever waits and whatever is assigned."""

from __future__ import annotations

import random
from typing import Any

from adapter.runtime.feeds.waiting import PausedPartitions, WaitingBytes

MOST = 100


class PausingConsumer:
    """Notes what is paused; of a partition that is not assigned a pause does nothing."""

    def __init__(self) -> None:
        self.assigned: set[int] = set()
        self.paused: set[int] = set()

    def pause(self, partition: int) -> None:
        self.paused |= {partition} & self.assigned

    def resume(self, partition: int) -> None:
        self.paused -= {partition}


def test_what_has_room_is_read_and_what_has_none_is_not() -> None:
    chance = random.Random(3)
    for _ in range(50):
        waiting = WaitingBytes()
        paused = PausedPartitions(waiting)
        consumer: Any = PausingConsumer()
        held: set[int] = set()
        for _ in range(60):
            n = chance.randrange(4)
            match chance.randrange(5):
                case 0:
                    waiting.add(n, chance.randrange(2 * MOST))
                case 1:
                    waiting.add(n, -waiting.by_partition().get(n, 0))
                case 2:
                    consumer.assigned.add(n)
                case 3:
                    held ^= {n}
                case _ if chance.random() < 0.1:  # another consumer reads
                    consumer = PausingConsumer()
                    paused.begin()
            paused.look(consumer, set(consumer.assigned), MOST, held)
            assert len(paused) == len(consumer.paused)
            for one in consumer.assigned:
                size = waiting.by_partition().get(one, 0)
                if size > MOST or one in held:
                    assert one in consumer.paused
                elif size <= MOST // 2:
                    assert one not in consumer.paused
