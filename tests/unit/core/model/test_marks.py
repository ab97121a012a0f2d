"""Marks: whose they are, when they are over, and how many there may be."""

from adapter.core.model import marks as module
from adapter.core.model.marks import Marks

A, B = (0, 1, 0), (0, 2, 0)


def marked(marks: Marks, handle: str, *, cooperates: bool = False) -> list[bool]:
    return [marks.is_marked(place, handle, cooperates=cooperates) for place in (A, B)]


def test_a_mark_is_of_one_handle_or_of_the_set() -> None:
    marks = Marks()
    marks.mark(A, "amy", None)
    marks.mark(B, "amy", 7)
    assert marked(marks, "amy") == [True, False]
    assert marked(marks, "amy", cooperates=True) == [True, True]
    assert marked(marks, "bob", cooperates=True) == [False, True]
    assert len(marks) == 2


def test_marks_are_taken_away_by_handle_by_set_and_by_message() -> None:
    marks = Marks()
    for handle in ("amy", "bob"):
        marks.mark(A, handle, None)
    marks.mark(A, "amy", 7)
    marks.unmark(A, "amy")
    assert marked(marks, "amy") == [False, False]
    assert marked(marks, "bob") == [True, False]
    marks.unmark(A, None)
    assert not any(marked(marks, "amy", cooperates=True))
    marks.mark(A, "amy", 7)
    marks.forget(A)
    assert len(marks) == 0
    marks.mark(A, "amy", None)
    marks.forget_handle("amy")
    marks.mark(B, "amy", 7)
    marks.forget_set()
    assert len(marks) == 0


def test_the_sets_marks_are_over_in_their_order() -> None:
    marks = Marks()
    marks.mark(A, "amy", 5)
    marks.mark(B, "amy", 6)
    marks.mark(A, "bob", 7)
    assert marks.oldest_ms() == 6
    assert not marks.expire(5)
    assert marks.expire(6)
    assert marked(marks, "amy", cooperates=True) == [True, False]
    assert marks.expire(9)
    assert marks.oldest_ms() is None


def test_the_oldest_go_when_there_are_too_many() -> None:
    marks = Marks()
    marks.mark(A, "amy", None)
    for number in range(module.MARKS_MAX):
        marks.mark((0, 10 + number, 0), "bob", number)
    assert len(marks) == module.MARKS_MAX
    assert marked(marks, "amy") == [True, False]
    assert marks.oldest_ms() == 1
    alone = Marks()
    for number in range(module.MARKS_MAX + 1):
        alone.mark((0, 1 + number, 0), "amy", None)
    assert marked(alone, "amy") == [False, True]
