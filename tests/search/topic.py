"""The ledger's topic and its snapshots in a search: what the process that acts now sees of them.

One object stands for all that is outside a process. Before a process acts it is given a state, and
afterwards it is asked what the state has become: so the production objects, which refer to it, may
be copied from state to state without knowing of it.
"""

from __future__ import annotations

from typing import NamedTuple

from adapter.storage.ledger.memory import LogRecord, MemoryLog
from adapter.storage.ledger.port import LedgerMismatch, LedgerUnavailable
from adapter.storage.ledger.snapshots import Snapshot

LANDS, LOST, LATE, UNHEARD = "lands", "lost", "late", "unheard"
"""What becomes of the announcement of a take-over."""
FATES = (LANDS, LOST, LATE, UNHEARD)
READ, ASK = "read", "ask"
"""What Kafka does not answer."""


class View(NamedTuple):
    """What there was when a take-over read it."""

    first: int
    end: int
    snapshots: tuple[Snapshot, ...]


class SearchedTopic(MemoryLog):
    """A MemoryLog whose records are those of the state that it was given.

    history: every record that ever was, at its offset; begins: what is before it was deleted.
    """

    def __init__(self) -> None:
        super().__init__("searched")
        self.history: tuple[bytes, ...] = ()
        self.begins = 0
        self.snapshots: tuple[Snapshot, ...] = ()
        self.view: View | None = None
        self.fate = LANDS
        self.late: list[bytes] = []
        self.silent_to = ""
        self.now_s = 0.0
        self.read_to = 0
        """Up to which offset a follower has read in this action."""

    @property
    def first(self) -> int:
        """See MemoryLog."""
        return self.view.first if self.view else self.begins

    @property
    def end(self) -> int:
        """See MemoryLog."""
        return self.view.end if self.view else len(self.history)

    def clock_s(self) -> float:
        """Return the time of the process that acts."""
        return self.now_s

    def read(self, offset: int, end: int) -> list[LogRecord]:
        """See MemoryLog."""
        if self.silent_to == ASK:
            raise LedgerUnavailable("Kafka does not answer")
        if offset < self.first:
            raise LedgerMismatch(f"offset {offset} was deleted")
        return [LogRecord(at, self.history[at]) for at in range(offset, min(end, self.end))]

    def wait(self, offset: int, timeout_s: float) -> bool:
        """See MemoryLog."""
        if self.silent_to == READ:
            raise LedgerUnavailable("Kafka does not answer")
        return self.end > offset

    def write(self, value: bytes) -> int:
        """Write an announcement, which may meet its fate."""
        self.view = None
        fate = self.fate
        if fate == UNHEARD:
            self.fate = LANDS  # a second attempt in the same call goes well
        if fate == LATE:
            self.late.append(value)
        elif fate != LOST:
            self.history = (*self.history, value)
        if fate != LANDS:
            raise LedgerUnavailable("it is not known what became of the announcement")
        return len(self.history) - 1

    def newest(self) -> Snapshot | None:
        """See SnapshotLog."""
        kept = self.view.snapshots if self.view else self.snapshots
        return max(kept, key=lambda one: (one.after.offset, one.cut_n), default=None)
