"""The objects that were used last are kept; another one is made when it is needed again."""

import itertools

from adapter.client.kept import LastUsed


def test_the_one_that_was_used_longest_ago_goes() -> None:
    numbers = itertools.count()
    kept: LastUsed[int] = LastUsed(2)

    def get(name: str) -> int:
        return kept.get(name, numbers.__next__)

    assert [get(name) for name in "abaab"] == [0, 1, 0, 0, 1]
    assert get("a") == 0
    assert get("c") == 2  # b was used before a
    assert len(kept) == 2
    assert [get(name) for name in "acb"] == [0, 2, 3]
