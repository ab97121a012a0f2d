"""What was read of partitions, until it is known how its values are decoded.

A value may name a schema that is not registered yet: its partition waits for some seconds, and the
others are read on: what one program writes holds up the partitions that it writes to. That is true
of the questions about its schemas, too: so much is asked in each turn and no more, of the
partitions in rotation, and what is known costs no question. What waits is bounded; when it is too
much, all partitions wait. This module must not know what becomes of a value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from adapter.runtime.feeds.port import Preparation, Read, UnaskedError, UnsettledError
from adapter.storage.format.feeds import TopicRecord

AGAIN_S = (0.5, 1.0, 2.0, 5.0)
"""Before it is asked again of a partition whether it is decided."""
TURN_S = 0.05
"""So long is asked before partitions that do not wait are read on; and for one question more."""
RECORDS_MAX = 5_000
BYTES_MAX = 8 * 1024 * 1024
"""When this waits, of all partitions of a feed, nothing more is read. Fewer records than schemas
are remembered that cannot be used, of which each of them may name one."""


class HeldPartition(Struct):
    """What was read of a partition, since when it waits, and when it is asked again.

    round_s: when the last round of questions about it began.
    """

    reads: list[Read]
    since_s: float
    round_s: float
    due_s: float = 0.0
    in_a_row: int = 0

    @property
    def records(self) -> list[TopicRecord]:
        """Those of the reads that are records."""
        return [one for one in self.reads if isinstance(one, TopicRecord)]


class UndecidedPartitions:
    """By partition what waits for its schemas. For one thread."""

    def __init__(
        self,
        prepare: Callable[[Sequence[TopicRecord], Preparation], None],
        failed: Callable[[str], None],
    ) -> None:
        """prepare: asks for what decoding needs; raises UnaskedError if it had no time for all,
        UnsettledError while that may be on its way, and other FeedErrors. failed: is called with
        what it says of a partition that waits.
        """
        self._prepare = prepare
        self._failed = failed
        self._held: dict[int, HeldPartition] = {}
        self.why = ""
        """What partitions wait for, or ""."""

    def begin(self) -> None:
        """A new consumer reads: what waited comes again."""
        self._held.clear()
        self.why = ""

    @property
    def held(self) -> Collection[int]:
        """The partitions that wait."""
        return self._held.keys()

    @property
    def is_full(self) -> bool:
        """Whether so much waits that nothing more is to be read."""
        records = [one for held in self._held.values() for one in held.records]
        return len(records) >= RECORDS_MAX or sum(one.size for one in records) >= BYTES_MAX

    def add(self, found: Iterable[Read]) -> None:
        """Take in what was read, in its order."""
        now_s = time.monotonic()
        for one in found:
            held = self._held.get(one.partition)
            if held is None:
                held = self._held[one.partition] = HeldPartition([], now_s, now_s)
            held.reads.append(one)

    def decide(self) -> list[Read]:
        """Return what waits no more, in the order of each partition. Raises FeedError: then all of
        it waits, until it is called again.
        """
        now_s = time.monotonic()
        until_s = now_s + TURN_S
        decided: list[int] = []
        unasked: list[int] = []
        for partition, held in self._held.items():
            if held.due_s > now_s:
                continue
            try:
                self._prepare(held.records, Preparation(held.since_s, held.round_s, until_s))
            except UnaskedError as error:
                self.why = str(error)
                unasked.append(partition)
            except UnsettledError as error:
                self.why = str(error)
                self._failed(self.why)
                pause_s = AGAIN_S[min(held.in_a_row, len(AGAIN_S) - 1)]
                held.due_s = held.round_s = time.monotonic() + pause_s
                held.in_a_row += 1
            else:
                decided.append(partition)
        for partition in unasked[:1]:  # which had this turn: the next one is the others'
            self._held[partition] = self._held.pop(partition)
        found = [one for partition in decided for one in self._held.pop(partition).reads]
        if not self._held:
            self.why = ""
        return found
