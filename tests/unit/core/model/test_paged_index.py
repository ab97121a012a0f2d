"""PagedIndex: finds what is paged out by an id, and forgets what is not."""

from adapter.core.model.paged_index import PagedIndex


def test_it_finds_in_the_order_of_delivery() -> None:
    index = PagedIndex()
    for lane, seq in ((3, 7), (9, 2), (3, 5)):
        index.add(b"a" * 24, lane, seq)
    index.add(b"b" * 24, 9, 1)
    assert index.find(b"a" * 24, lambda _lane, _seq: True) == [(9, 2), (3, 5), (3, 7)]
    assert index.find(b"c" * 24, lambda _lane, _seq: True) == []


def test_what_is_gone_leaves_nothing_behind() -> None:
    index = PagedIndex()
    for seq in range(1, 11):
        index.add(b"a" * 24, 0, seq)
    index.add(b"a" * 24, 0, 10)
    assert index.find(b"a" * 24, lambda _lane, seq: seq > 8) == [(0, 9), (0, 10)]
    assert len(index) == 2
