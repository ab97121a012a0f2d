"""A set of integers kept as ranges: small where the set is dense. It knows no meaning of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """Integers as sorted, disjoint, non-adjacent inclusive ranges."""

    __slots__ = ("_highs", "_lows", "total")

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        """spans: inclusive, ascending, not touching one another."""
        self._lows: list[int] = []
        self._highs: list[int] = []
        self.total = 0
        """How many integers there are."""
        for low, high in spans:
            self._lows.append(low)
            self._highs.append(high)
            self.total += high - low + 1

    def __len__(self) -> int:
        """Return how many ranges there are."""
        return len(self._lows)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._lows, number) - 1
        return at >= 0 and number <= self._highs[at]

    def __iter__(self) -> Iterator[int]:
        for low, high in self.spans():
            yield from range(low, high + 1)

    def add(self, number: int) -> None:
        """Add one integer, joining the ranges it touches."""
        lows, highs = self._lows, self._highs
        at = bisect_right(lows, number)
        if at and number <= highs[at - 1]:
            return
        self.total += 1
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

    def remove(self, number: int) -> None:
        """Remove one integer; ValueError if it is not there."""
        lows, highs = self._lows, self._highs
        at = bisect_right(lows, number) - 1
        if at < 0 or number > highs[at]:
            raise ValueError(f"{number} is in no range")
        self.total -= 1
        low, high = lows[at], highs[at]
        if low == high:
            lows.pop(at)
            highs.pop(at)
        elif number == low:
            lows[at] = number + 1
        elif number == high:
            highs[at] = number - 1
        else:
            highs[at] = number - 1
            lows.insert(at + 1, number + 1)
            highs.insert(at + 1, high)

    def discard(self, number: int) -> None:
        """Take one integer out, if it is in."""
        if number in self:
            self.remove(number)

    def at_or_after(self, number: int) -> int | None:
        """Return the lowest integer that is not below this one, if there is any."""
        at = bisect_right(self._lows, number) - 1
        if at >= 0 and number <= self._highs[at]:
            return number
        return self._lows[at + 1] if at + 1 < len(self._lows) else None

    def clear(self) -> None:
        """Remove everything."""
        self._lows.clear()
        self._highs.clear()
        self.total = 0

    def pop_first(self) -> tuple[int, int]:
        """Remove and return the lowest range; IndexError if there is none."""
        low, high = self._lows.pop(0), self._highs.pop(0)
        self.total -= high - low + 1
        return low, high

    def spans(self) -> list[tuple[int, int]]:
        """Return the ranges, lowest first."""
        return list(zip(self._lows, self._highs, strict=True))
