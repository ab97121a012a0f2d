"""Replies that wait for their entry: a reply is a promise, given when it is durable.

Also what each entry that is not yet durable did, so that it can be told from what happened.
"""

from __future__ import annotations

from collections import deque

from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.model.undo import Removed


class Collected:
    """Records that were applied, for one entry; and what they removed that no ledger has."""

    __slots__ = ("records", "removed")

    def __init__(self, records: list[Record] | None = None, removed: Removed | None = None) -> None:
        self.records: list[Record] = [] if records is None else records
        self.removed: Removed = [] if removed is None else removed


class Promises:
    """Pending replies and undurable records, by entry number, in order."""

    def __init__(self) -> None:
        self._pending: dict[int, list[Reply]] = {}
        self._undurable: deque[tuple[int, Collected]] = deque()

    def __len__(self) -> int:
        return sum(map(len, self._pending.values()))

    @property
    def is_single(self) -> bool:
        """Whether one reply is pending, and no more."""
        if len(self._pending) != 1:
            return False
        (replies,) = self._pending.values()
        return len(replies) == 1

    def add(self, n: int, reply: Reply) -> None:
        """Keep a reply until entry n is durable."""
        self._pending.setdefault(n, []).append(reply)

    def made(self, n: int, collected: Collected) -> None:
        """Keep what entry n did until it is durable."""
        self._undurable.append((n, collected))

    def bring_forward(self, n: int) -> None:
        """No entry n + 1 is being written: what waits for it waits for entry n only."""
        if not self._pending:
            return
        replies = self._pending.pop(n + 1, None)
        if replies:
            self._pending.setdefault(n, []).extend(replies)

    def take_replies(self, n: int) -> list[Reply]:
        """Everything up to entry n is durable: return the replies to give."""
        while self._undurable and self._undurable[0][0] <= n:
            self._undurable.popleft()
        pending = self._pending
        if not pending:
            return []
        if len(pending) == 1 and n in pending:  # as for most entries
            return pending.pop(n)
        replies: list[Reply] = []
        for at in sorted([at for at in pending if at <= n]):
            replies += pending.pop(at)
        return replies

    def void(self, last_n: int) -> Collected:
        """Return what the entries behind last_n did, which did not happen; forget everything."""
        void = Collected()
        for n, collected in self._undurable:
            if n > last_n:
                void.records += collected.records
                void.removed += collected.removed
        self._pending.clear()
        self._undurable.clear()
        return void
