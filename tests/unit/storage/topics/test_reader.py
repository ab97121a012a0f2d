"""Points and guesses: a message is found in few steps, whatever its lane is strewn with."""

import random
from bisect import bisect_left, bisect_right

import pytest

from adapter.storage.topics.reader import POINTS_MAX, STRIDE, Point, Points, guess, search

MESSAGES = 20_000
READ_ON = 32


def test_near_points_are_one_and_all_are_bounded() -> None:
    points = Points()
    for seq in range(1, 2 * POINTS_MAX * STRIDE, STRIDE // 2):
        points.add(seq, seq)
    assert len(points._seqs) <= POINTS_MAX
    assert points.around(5 * STRIDE)[0] == (4 * STRIDE + 1, 4 * STRIDE + 1)


def test_without_any_point_it_knows_nothing() -> None:
    assert Points().around(1_000_000) == (None, None)


def test_a_guess_counts_from_what_is_known_before() -> None:
    assert guess(1 + STRIDE + 5, (1 + STRIDE, 2 * STRIDE), None, 0) == 2 * STRIDE + 5


def test_a_guess_between_two_points_passes_most_of_the_markers() -> None:
    assert STRIDE - 20 < guess(1 + STRIDE // 2, (1, 0), (1 + STRIDE, 2 * STRIDE), 0) < STRIDE


class Lane:
    """Messages at their offsets, as a partition holds them; counts how often one looks."""

    def __init__(self, messages: list[Point]) -> None:
        self.seqs = [seq for seq, _ in messages]
        self.points = Points()
        self._messages = messages
        self._offsets = [offset for _, offset in messages]
        self._stands = 0
        self._looks = 0

    def looks_for(self, seq: int) -> int:
        """Search, read on to the message, and say how many looks it took."""
        low, high = self.points.around(seq)
        self._looks = 0
        search(seq, low or (seq, 0), high, self._look, READ_ON)
        assert self.seqs[self._stands] <= seq, "it was passed"
        assert bisect_left(self.seqs, seq) - self._stands <= READ_ON, "it is far away"
        return self._looks

    def _look(self, offset: int) -> Point | None:
        self._looks += 1
        self._stands = bisect_left(self._offsets, offset)
        if self._stands == len(self._messages):
            return None
        found = self._messages[self._stands]
        self.points.add(*found)
        return found


def strewn(chance: random.Random, size: int, missing: float) -> Lane:
    """Make a lane: a marker behind each transaction of about size, and spans of numbers missing."""
    messages: list[Point] = []
    seq = offset = 0
    while len(messages) < MESSAGES:
        seq += chance.randint(1, 5_000) if chance.random() < missing else 0
        for _ in range(chance.randint(1, 2 * size - 1)):
            seq += 1
            messages.append((seq, offset))
            offset += 1
        offset += 1
    return Lane(messages)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("size", [1, 2, 40, 2_000])
def test_few_looks_lead_to_any_message(size: int, missing: float) -> None:
    """With nothing known at first, and by what was met on the way then."""
    chance = random.Random(size)
    lane = strewn(chance, size, missing)
    looks = [lane.looks_for(chance.choice(lane.seqs)) for _ in range(600)]
    assert max(looks) <= 24
    if not missing:
        assert sum(looks[400:]) <= 2 * 200


def test_what_is_not_there_is_looked_for_in_vain() -> None:
    lane = strewn(random.Random(3), 40, 0.5)
    for seq in (1, lane.seqs[-1] + 1_000_000, lane.seqs[100] + 1):
        search(seq, (seq, 0), None, lane._look, READ_ON)
        assert lane._stands <= bisect_right(lane.seqs, seq)
