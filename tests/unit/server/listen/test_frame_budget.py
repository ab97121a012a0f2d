"""Long frames take turns when there is no room for all of them."""

from random import Random

import pytest

from adapter.server.listen.frame_budget import LONG_BYTES, FrameBudget


class Sender:
    """One connection."""

    def __init__(self, crowd: FrameBudget) -> None:
        self.held = False
        self.changes = 0
        self.came = 0
        self._crowd = crowd

    def hold_back(self, held: bool) -> None:
        assert self.held is not held
        self.held = held
        self.changes += 1

    def send(self, bytes_: int) -> None:
        new, self.came = not self.came, self.came + bytes_
        self._crowd.has_come(self, self.came, new=new)

    def end(self) -> None:
        self.came = 0
        self._crowd.has_come(self, 0, new=False)


def test_nobody_waits_while_there_is_room() -> None:
    crowd = FrameBudget(bytes_max=10 * LONG_BYTES)
    senders = [Sender(crowd) for _ in range(5)]
    for sender in senders:
        sender.send(2 * LONG_BYTES)
    assert not any(sender.held for sender in senders)
    assert crowd.bytes == 10 * LONG_BYTES


def test_the_first_goes_on_and_then_the_next() -> None:
    crowd = FrameBudget(bytes_max=3 * LONG_BYTES)
    first, second, third, short = (Sender(crowd) for _ in range(4))
    first.send(2 * LONG_BYTES)
    second.send(2 * LONG_BYTES)
    third.send(2 * LONG_BYTES)
    short.send(LONG_BYTES)
    assert [one.held for one in (first, second, third, short)] == [False, True, True, False]
    first.send(10 * LONG_BYTES)
    first.end()
    assert [one.held for one in (second, third)] == [False, True]
    second.end()
    assert not third.held
    assert crowd.bytes == 3 * LONG_BYTES


def test_one_that_begins_another_frame_goes_to_the_end() -> None:
    crowd = FrameBudget(bytes_max=3 * LONG_BYTES)
    first, second = Sender(crowd), Sender(crowd)
    first.send(2 * LONG_BYTES)
    second.send(2 * LONG_BYTES)
    first.came = 0
    first.send(2 * LONG_BYTES)
    assert [first.held, second.held] == [True, False]


@pytest.mark.parametrize("seed", range(20))
def test_all_come_to_their_end_within_the_bound(seed: int) -> None:
    random = Random(seed)
    crowd = FrameBudget(bytes_max=5 * LONG_BYTES)
    left = {Sender(crowd): random.randint(1, 8) * LONG_BYTES for _ in range(12)}
    most = 0
    while left:
        sender = random.choice([sender for sender in left if not sender.held])
        sender.send(LONG_BYTES // 2)
        most = max(most, crowd.bytes)
        if sender.came >= left[sender]:
            sender.end()
            del left[sender]
    assert crowd.bytes == 0
    assert most <= (5 + 8 + 12 * 1.5) * LONG_BYTES, "the first one's, and what is not held back"
