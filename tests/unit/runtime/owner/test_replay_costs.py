"""What is carried over at a doubt costs as much as it is: it holds up the owner's thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.promises import Collected
from adapter.runtime.owner.replay import carry_over, take_over
from adapter.storage.ledger.memory import MemoryLedger
from tests.support.by_hand import ByHand

QUEUES = 30


class Counting(dict[str, Any]):
    """A dictionary that counts how often all its keys are walked over."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        Counting.walks += 1
        return super().__iter__()

    def keys(self) -> Any:
        Counting.walks += 1
        return super().keys()

    def values(self) -> Any:
        Counting.walks += 1
        return super().values()


def carried(messages: int) -> int:
    """Carry so many messages over; how often all queues were walked over."""
    owner = ByHand()
    client = owner.connect()
    for number in range(QUEUES):
        client.define(f"Q{number}")
    client.open("Q0", handle=1)
    for number in range(messages):
        client.put(str(number), persistence=0, handle=1)
    old: QueueManager = owner.qm
    ledger = MemoryLedger(owner.log)
    new = take_over("QM1", bytes([7]) * 16, "who", ledger, None).qm
    old.queues, new.queues = Counting(old.queues), Counting(new.queues)
    Counting.walks = 0
    assert carry_over(old, new, Collected()) == messages
    assert new.queues["Q0"].depth == messages
    return Counting.walks


@pytest.mark.parametrize("messages", [10, 200])
def test_queues_are_walked_over_as_often_for_many_messages_as_for_one(messages: int) -> None:
    assert carried(messages) == carried(1)
