"""A set of integers kept as ranges: small where the set is dense. It knows no meaning of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
        highs = self._highs
        if not highs or highs[-1] < number:
            return False
        at = bisect_right(self._lows, number) - 1
        return at >= 0 and number <= self._highs[at]

    def __iter__(self) -> Iterator[int]:
        for low, high in self.spans():
            yield from range(low, high + 1)

    def add(self, number: int) -> None:
        """Add one integer, joining the ranges it touches."""
        highs = self._highs
        if highs and highs[-1] == number - 1:  # the next one, as mostly
            highs[-1] = number
            self.total += 1
        else:
            self.add_span(number, number)

    def add_span(self, low: int, high: int) -> None:
        """Add the integers from low to high, joining the ranges they touch."""
        lows, highs = self._lows, self._highs
        at, end = bisect_left(highs, low - 1), bisect_right(lows, high + 1)
        if at < end:
            low, high = min(low, lows[at]), max(high, highs[end - 1])
            self.total -= sum(highs[at:end]) - sum(lows[at:end]) + end - at
        lows[at:end], highs[at:end] = [low], [high]
        self.total += high - low + 1

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

    def remove_span(self, low: int, high: int) -> None:
        """Remove the integers from low to high; ValueError if they are not all there."""
        lows, highs = self._lows, self._highs
        at = bisect_right(lows, low) - 1
        if at < 0 or high > highs[at]:
            raise ValueError(f"{low} to {high} are in no range")
        first, last = lows[at], highs[at]
        left = [(a, b) for a, b in ((first, low - 1), (high + 1, last)) if a <= b]
        lows[at : at + 1] = [a for a, _ in left]
        highs[at : at + 1] = [b for _, b in left]
        self.total -= high - low + 1

    def discard(self, number: int) -> None:
        """Take one integer out, if it is in."""
        if number in self:
            self.remove(number)

    def discard_below(self, number: int) -> None:
        """Take out all integers that are lower."""
        while self._highs and self._highs[0] < number:
            self.pop_first()
        if self._lows and self._lows[0] < number:
            self.total -= number - self._lows[0]
            self._lows[0] = number

    def at_or_after(self, number: int) -> int | None:
        """Return the lowest integer that is not below this one, if there is any."""
        at = bisect_right(self._lows, number) - 1
        if at >= 0 and number <= self._highs[at]:
            return number
        return self._lows[at + 1] if at + 1 < len(self._lows) else None

    def at_or_before(self, number: int) -> int | None:
        """Return the highest integer that is not above this one, if there is any."""
        at = bisect_right(self._lows, number) - 1
        return min(number, self._highs[at]) if at >= 0 else None

    def common(self, others: Ranges) -> Iterator[tuple[int, int]]:
        """Iterate over the ranges of what is in both, lowest first."""
        for low, high in self.spans():
            at = bisect_left(others._highs, low)
            while at < len(others) and others._lows[at] <= high:
                yield max(low, others._lows[at]), min(high, others._highs[at])
                at += 1

    def pop_first(self) -> tuple[int, int]:
        """Remove and return the lowest range; IndexError if they are empty."""
        low, high = self._lows.pop(0), self._highs.pop(0)
        self.total -= high - low + 1
        return low, high

    def spans(self) -> list[tuple[int, int]]:
        """Return the ranges, lowest first."""
        return list(zip(self._lows, self._highs, strict=True))


def spans_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Join ascending integers that follow each other into inclusive spans."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        low, high = spans[-1] if spans else (number, number)
        if number == high + 1:
            spans[-1] = low, number
        else:
            spans.append((number, number))
    return spans
