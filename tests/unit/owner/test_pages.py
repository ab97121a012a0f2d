"""Points and guesses: a message is found in few steps, however its topic is strewn with markers."""

import random
from bisect import bisect_left

from adapter.owner.pages import POINTS_MAX, STRIDE, Point, Points, guess, least

MESSAGES = 20_000


def test_without_any_point_it_begins_at_the_beginning() -> None:
    assert Points().around(1_000_000) == (None, None)
    assert guess(1_000_000, None, None, 7) == 7


def test_a_guess_counts_from_the_nearest_point_before() -> None:
    points = Points()
    points.add(1, 0)
    points.add(1 + STRIDE, 2 * STRIDE)
    before, behind = points.around(1 + STRIDE + 5)
    assert (before, behind) == ((1 + STRIDE, 2 * STRIDE), None)
    assert guess(1 + STRIDE + 5, before, behind, 0) == 2 * STRIDE + 5


def test_a_guess_between_two_points_passes_most_of_the_markers() -> None:
    before, behind = (1, 0), (1 + STRIDE, 2 * STRIDE)
    half = 1 + STRIDE // 2
    assert least(half, before, 0) == STRIDE // 2
    assert STRIDE - 20 < guess(half, before, behind, 0) < STRIDE


def test_what_was_deleted_is_not_guessed() -> None:
    assert guess(3, (1, 0), None, 1_000) == 1_000


def test_near_points_are_one_and_all_are_bounded() -> None:
    points = Points()
    for seq in range(1, 2 * POINTS_MAX * STRIDE, STRIDE // 2):
        points.add(seq, seq)
    assert len(points._seqs) <= POINTS_MAX
    assert points.around(5 * STRIDE)[0] == (4 * STRIDE + 1, 4 * STRIDE + 1)


def test_few_steps_lead_to_any_message() -> None:
    """With transactions of 1 to 2,000 messages, from nothing known and from points on the way."""
    for size in (1, 2, 40, 2_000):
        chance = random.Random(size)
        offsets = strewn(chance, size)
        points = Points()
        steps = [probes(offsets, points, chance.randint(1, MESSAGES)) for _ in range(300)]
        assert max(steps) <= 16, f"transactions of {size}"
        assert sum(steps[200:]) <= 3 * 100, f"transactions of {size}"


def strewn(chance: random.Random, size: int) -> list[int]:
    """Return the offset of each seq (from 1 on), a marker behind each transaction of about size."""
    offsets = [-1]
    offset = 0
    while len(offsets) <= MESSAGES:
        for _ in range(chance.randint(1, 2 * size - 1)):
            offsets.append(offset)
            offset += 1
        offset += 1
    return offsets


def probes(offsets: list[int], points: Points, seq: int) -> int:
    """Go to a message as a cursor does; returns how many places were looked at."""
    before: Point | None
    before, behind = points.around(seq)
    for count in range(1, 100):
        offset = guess(seq, before, behind, 0)
        found = bisect_left(offsets, offset)
        points.add(found, offsets[found])
        if found > seq:
            assert offset > least(seq, before, 0), "it was passed for good"
            behind = found, offsets[found]
        elif seq - found <= 32:
            return count
        else:
            before = found, offsets[found]
    raise AssertionError(f"{seq} is not found")
