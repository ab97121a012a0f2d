"""Points: a guess is never behind the message, and near it once something near is known."""

from adapter.owner.pages import POINTS_MAX, STRIDE, Points


def test_without_any_point_it_begins_at_the_beginning() -> None:
    assert Points().guess(1_000_000, 7) == 7


def test_a_guess_counts_from_the_nearest_point_before() -> None:
    points = Points()
    points.add(1, 0)
    points.add(1 + STRIDE, 2 * STRIDE)
    assert points.guess(10, 0) == 9
    assert points.guess(1 + STRIDE + 5, 0) == 2 * STRIDE + 5


def test_what_was_deleted_is_not_guessed() -> None:
    points = Points()
    points.add(1, 0)
    assert points.guess(3, 1_000) == 1_000


def test_near_points_are_one_and_all_are_bounded() -> None:
    points = Points()
    for seq in range(1, 2 * POINTS_MAX * STRIDE, STRIDE // 2):
        points.add(seq, seq)
    assert len(points._seqs) <= POINTS_MAX
    assert points.guess(5 * STRIDE, 0) == 5 * STRIDE
