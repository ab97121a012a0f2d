"""What claims of a table's keys promise: one unit at a time has the claim of a key, and it sees the
last value that was committed for it, so that no change is lost. A claim is never lost, whatever
becomes of its unit. It imports nothing of the product.
"""

from __future__ import annotations

from collections import Counter


class ClaimsModel:
    """The last value of each key, and which program has its claim."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.values: dict[str, int] = {}
        self.holders: dict[str, int] = {}

    def claim(self, program: int, key: str, value: int) -> None:
        """A program has got the claim of a key, and sees this value."""
        holder = self.holders.get(key, program)
        assert holder == program, f"programs {holder} and {program} have the claim of {key}"
        last = self.values.get(key, 0)
        assert value == last, f"program {program} sees {value} for {key}, and {last} was committed"
        self.holders[key] = program

    def commit(self, program: int, values: dict[str, int]) -> None:
        """A program has committed these values, of keys that it has claimed."""
        lacks = [key for key in values if self.holders.get(key) != program]
        assert not lacks, f"program {program} has committed, and has no claim of {lacks}"
        self.values |= values
        self.end(program)

    def end(self, program: int) -> None:
        """The unit of a program has ended, or counts for nothing any more."""
        self.holders = {key: one for key, one in self.holders.items() if one != program}
