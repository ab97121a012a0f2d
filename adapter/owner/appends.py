"""Entries on their way to the ledger: closed ones are appended when fewer are in flight.

Entries are numbered by the ledger, from 1 in each term. This module does not know what is in them,
nor what waits for them to become durable.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from adapter.ledger.port import Ledger, LedgerClosed
from adapter.owner.clock import Clock

ENTRIES_IN_FLIGHT_MAX: Final = 4
"""One less than an idempotent producer keeps in flight (5): more entries only make them smaller."""


class Appends:
    """The appends of one term. All methods are called on the owner's thread."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._closed: deque[bytes] = deque()
        self._sizes: deque[int] = deque()
        """Of the entries that are closed and not durable, in order."""
        self._waits_since_ms = 0
        self.undurable_bytes = 0
        self.appended_n = 0
        self.durable_n = 0
        self.entries = 0
        self.bytes = 0

    def add(self, payload: bytes) -> None:
        """Take an entry that is closed; append() appends it when it may."""
        self._closed.append(payload)
        self._sizes.append(len(payload))
        self.undurable_bytes += len(payload)

    def append(self) -> bool:
        """Append closed entries as far as they may be in flight; False if the ledger is closed."""
        while self._closed and self._has_room():
            if not self._append(self._closed.popleft()):
                return False
        return True

    def _append(self, payload: bytes) -> bool:
        try:
            n = self._ledger.append(payload)
        except LedgerClosed:
            return False
        assert n == self.appended_n + 1, (n, self.appended_n)
        if self.appended_n == self.durable_n:
            self._waits_since_ms = self._clock.elapsed_ms()
        self.appended_n = n
        self.entries += 1
        self.bytes += len(payload)
        return True

    def _has_room(self) -> bool:
        return self.appended_n - self.durable_n < ENTRIES_IN_FLIGHT_MAX

    def look(self, wait_s: float) -> bool:
        """Wait for what is in flight; return whether that is all there is, and it is durable."""
        return not self._closed and self._ledger.look(wait_s)

    def leave(self) -> None:
        """Wait no more: what is durable is reported by the ledger's thread."""
        self._ledger.leave()

    @property
    def takes_more(self) -> bool:
        """Whether an entry that is added now is appended at once."""
        return not self._closed and self._has_room()

    @property
    def all_durable(self) -> bool:
        """Whether everything appended is durable; closed entries may wait to be appended."""
        return self.appended_n == self.durable_n

    @property
    def idle(self) -> bool:
        """Whether every closed entry is durable."""
        return not self._closed and self.all_durable

    def durable(self, n: int) -> None:
        """Note that entries up to n are durable and valid."""
        for _ in range(n - self.durable_n):
            self.undurable_bytes -= self._sizes.popleft()
        self.durable_n = n
        self._waits_since_ms = self._clock.elapsed_ms()

    @property
    def waits_ms(self) -> int:
        """For how long nothing has become durable although something is to; 0 if nothing is."""
        return 0 if self.all_durable else self._clock.elapsed_ms() - self._waits_since_ms

    def statistics(self) -> dict[str, int]:
        """Return figures of this term."""
        return {
            "entries": self.entries,
            "entries_in_flight": self.appended_n - self.durable_n,
        }
