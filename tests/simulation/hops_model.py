"""What the hops of records promise: a record that comes round in a ring of exports and feeds
becomes a dead letter as soon as it has gone through more exports than the feed that reads it
allows, and not before. It imports nothing of the product.
"""

from __future__ import annotations

from collections import Counter


class HopsModel:
    """How many exports each record has gone through, by its value; and which are dead letters."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.exports: Counter[str] = Counter()
        self.dead: set[str] = set()

    def read(self, value: str, allowed: int, *, is_dead: bool) -> None:
        """A feed has read a record: it allows so many exports, and has made it a dead letter."""
        passed = self.exports[value]
        assert is_dead == (passed > allowed), (
            f"{value} went through {passed}, allowed are {allowed}"
        )
        if is_dead:
            self.dead.add(value)

    def write(self, value: str) -> None:
        """An export has written a record."""
        assert value not in self.dead, f"{value} goes on, and is a dead letter"
        self.exports[value] += 1
