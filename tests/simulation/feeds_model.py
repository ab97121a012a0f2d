"""What a feed promises: each record of a partition once, in its order, on the queue or as a dead
letter. It imports nothing of the product.

The records of a partition are read in stretches: from where its reading began, or was told to
begin, up to where it came to by then. Every record of every stretch is put, and no other one.
"""

from __future__ import annotations

from collections import Counter

DEAD = "dead "
"""What the value of a record begins with that no queue takes."""


class FeedsModel:
    """Topics, what was read of them, and what programs got."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.records: dict[tuple[str, int], dict[int, str]] = {}
        """By topic's id and partition: the value of each record by its offset; some have none."""
        self.ends: dict[tuple[str, int], int] = {}
        self.stretches: list[tuple[str, int, int, int]] = []
        """Topic's id, partition, first offset and the one behind the last, in order."""
        self.got: list[str] = []
        self.dead: list[str] = []

    def append(self, topic: str, partition: int, value: str | None) -> None:
        """Append a record; None: an offset without a record, as the end of a transaction is."""
        at = topic, partition
        offset = self.ends.get(at, 0)
        self.ends[at] = offset + 1
        if value is not None:
            self.records.setdefault(at, {})[offset] = f"{value}{topic} {partition} {offset}"

    def read(self, topic: str, partition: int, first: int, until: int) -> None:
        """A stretch of a partition was read, and is over."""
        self.stretches.append((topic, partition, first, until))

    def check(self) -> None:
        """Compare what was got with what was read, of each partition."""
        expected: dict[str, list[str]] = {}
        for topic, partition, first, until in self.stretches:
            values = self.records.get((topic, partition), {})
            found = [values[offset] for offset in range(first, until) if offset in values]
            expected.setdefault(str(partition), []).extend(found)
        for name, all_of_it in expected.items():
            for kind, got in (("", self.got), (DEAD, self.dead)):
                wanted = [one for one in all_of_it if one.startswith(DEAD) == bool(kind)]
                of_partition = [one for one in got if one.split()[-2] == name]
                assert of_partition == wanted, f"partition {name}: {of_partition}"
        assert all(one.split()[-2] in expected for one in self.got + self.dead), "never read"
