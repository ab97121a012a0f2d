"""A set of integers kept as ranges: small where the set is dense. It knows no meaning of them."""

from __future__ import annotations

from bisect import bisect_right


class Ranges:
    """Integers as sorted, disjoint, non-adjacent inclusive ranges."""

    __slots__ = ("_highs", "_lows")

    def __init__(self) -> None:
        self._lows: list[int] = []
        self._highs: list[int] = []

    def __len__(self) -> int:
        """Return how many ranges there are."""
        return len(self._lows)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._lows, number) - 1
        return at >= 0 and number <= self._highs[at]

    def add(self, number: int) -> None:
        """Add one integer, joining the ranges it touches."""
        lows, highs = self._lows, self._highs
        at = bisect_right(lows, number)
        if at and number <= highs[at - 1]:
            return
        joins_left = at > 0 and highs[at - 1] == number - 1
        joins_right = at < len(lows) and lows[at] == number + 1
        if joins_left and joins_right:
            highs[at - 1] = highs.pop(at)
            lows.pop(at)
        elif joins_left:
            highs[at - 1] = number
        elif joins_right:
            lows[at] = number
        else:
            lows.insert(at, number)
            highs.insert(at, number)

    def discard(self, number: int) -> None:
        """Take one integer out, if it is in."""
        lows, highs = self._lows, self._highs
        at = bisect_right(lows, number) - 1
        if at < 0 or number > highs[at]:
            return
        low, high = lows.pop(at), highs.pop(at)
        for first, last in ((number + 1, high), (low, number - 1)):
            if first <= last:
                lows.insert(at, first)
                highs.insert(at, last)

    def pop_first(self) -> tuple[int, int]:
        """Remove and return the lowest range; IndexError if there is none."""
        return self._lows.pop(0), self._highs.pop(0)

    def spans(self) -> list[tuple[int, int]]:
        """Return the ranges, lowest first."""
        return list(zip(self._lows, self._highs, strict=True))
