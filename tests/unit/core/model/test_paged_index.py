"""PagedIndex: finds what is paged out by an id, and forgets what is not."""

from collections.abc import Callable

import pytest

from adapter.core.model.paged_index import FEW, STALE_MAX, START, PagedIndex

MANY = 1_000_000


def always(_lane: int, _seq: int) -> bool:
    return True


def find(
    index: PagedIndex, value: bytes, is_paged: Callable[[int, int], bool], count: int
) -> list[tuple[int, int]]:
    """Find all, one after the other."""
    found: list[tuple[int, int]] = []
    after = START
    while (place := index.first(value, is_paged, count, after)) is not None:
        found.append(place)
        after = (-place[0], place[1], 0)
    return found


def test_it_finds_in_the_order_of_delivery() -> None:
    index = PagedIndex()
    for lane, seq in ((3, 7), (9, 2), (3, 5)):
        index.add(b"a" * 24, lane, seq)
    index.add(b"b" * 24, 9, 1)
    assert find(index, b"a" * 24, always, MANY) == [(9, 2), (3, 5), (3, 7)]
    assert find(index, b"c" * 24, always, MANY) == []


def test_what_is_gone_leaves_nothing_behind() -> None:
    index = PagedIndex()
    for seq in range(1, 11):
        index.add(b"a" * 24, 0, seq)
    index.add(b"a" * 24, 0, 10)
    assert find(index, b"a" * 24, lambda _lane, seq: seq > 8, MANY) == [(0, 9), (0, 10)]
    assert len(index) == 2


def test_what_is_gone_is_looked_for_only_when_it_is_most() -> None:
    """A get by an id that is there must not cost a look at each entry of its bucket."""
    index = PagedIndex()
    looked_at = 0

    def first_half(_lane: int, seq: int) -> bool:
        nonlocal looked_at
        looked_at += 1
        return seq < half

    half = 10 * FEW
    for number in range(2 * half):
        index.add(b"%d" % number, 0, number)
    for number in range(0, 2 * half, 2 * half // 100):
        index.first(b"%d" % number, first_half, half)
    assert looked_at <= 101
    for number in range(2 * half):
        index.first(b"%d" % number, first_half, FEW)
    assert half <= len(index) <= STALE_MAX * half
    for number in range(2 * half):
        find(index, b"%d" % number, lambda _lane, _seq: False, 0)
    assert len(index) <= FEW


IDENTS: dict[str, Callable[[int], bytes]] = {
    "padded digits": lambda number: b"%024d" % number,
    "digits": lambda number: (b"%d" % number).ljust(24, b"\0"),
    "big-endian": lambda number: number.to_bytes(24, "big"),
    "little-endian": lambda number: number.to_bytes(24, "little"),
    "two counters": lambda number: b"ORDER-%d-%06d........." % (number % 7, number),
}


@pytest.mark.parametrize("kind", IDENTS)
def test_ids_that_differ_in_a_few_digits_are_told_apart(kind: str) -> None:
    """Each that is found in vain is a page read in vain."""
    ident = IDENTS[kind]
    index = PagedIndex()
    for number in range(20_000):
        index.add(ident(number), 4, number)
    found = [len(find(index, ident(number), always, MANY)) for number in range(20_000)]
    assert min(found) == 1
    assert sum(found) <= 20_000 + 4


def test_places_come_back_as_they_were_put_in() -> None:
    index = PagedIndex()
    for lane, seq in [(0, 1), (9, 2**40 - 1), (9, 7), (3, 2**33)]:
        index.add(b"one", lane, seq)
    assert find(index, b"one", always, MANY) == [
        (9, 7),
        (9, 2**40 - 1),
        (3, 2**33),
        (0, 1),
    ]


def test_the_first_one_is_behind_a_place_and_not_passed_over() -> None:
    index = PagedIndex()
    places = [(9, 1), (9, 4), (5, 2), (5, 3), (0, 1)]
    for lane, seq in places:
        index.add(b"a", lane, seq)
    for at, (lane, seq) in enumerate(places):
        assert index.first(b"a", always, MANY, (-lane, seq, 0)) == [*places, None][at + 1]
        behind = (-lane, seq - 1, 7)
        assert index.first(b"a", always, MANY, behind) == (lane, seq)
    skipped = {(-9, 1, 0), (-9, 4, 0), (-5, 2, 0)}
    assert index.first(b"a", always, MANY, START, skipped.__contains__) == (5, 3)
    assert index.first(b"a", always, MANY, START, lambda _: True) is None
    assert len(index) == len(places)
