"""PagedIndex: finds what is paged out by an id, and forgets what is not."""

from collections.abc import Callable

import pytest

from adapter.core.model.paged_index import FEW, STALE_MAX, PagedIndex

MANY = 1_000_000


def always(_lane: int, _seq: int) -> bool:
    return True


def test_it_finds_in_the_order_of_delivery() -> None:
    index = PagedIndex()
    for lane, seq in ((3, 7), (9, 2), (3, 5)):
        index.add(b"a" * 24, lane, seq)
    index.add(b"b" * 24, 9, 1)
    assert index.find(b"a" * 24, always, MANY) == [(9, 2), (3, 5), (3, 7)]
    assert index.find(b"c" * 24, always, MANY) == []


def test_what_is_gone_leaves_nothing_behind() -> None:
    index = PagedIndex()
    for seq in range(1, 11):
        index.add(b"a" * 24, 0, seq)
    index.add(b"a" * 24, 0, 10)
    assert index.find(b"a" * 24, lambda _lane, seq: seq > 8, MANY) == [(0, 9), (0, 10)]
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
        index.find(b"%d" % number, first_half, half)
    assert looked_at <= 101
    for number in range(2 * half):
        index.find(b"%d" % number, first_half, FEW)
    assert half <= len(index) <= STALE_MAX * half
    for number in range(2 * half):
        index.find(b"%d" % number, lambda _lane, _seq: False, 0)
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
    found = [len(index.find(ident(number), always, MANY)) for number in range(20_000)]
    assert min(found) == 1
    assert sum(found) <= 20_000 + 4


def test_places_come_back_as_they_were_put_in() -> None:
    index = PagedIndex()
    for lane, seq in [(0, 1), (9, 2**40 - 1), (9, 7), (3, 2**33)]:
        index.add(b"one", lane, seq)
    assert index.find(b"one", always, MANY) == [
        (9, 7),
        (9, 2**40 - 1),
        (3, 2**33),
        (0, 1),
    ]
