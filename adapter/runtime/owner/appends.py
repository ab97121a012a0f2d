"""Entries on their way to the ledger: closed ones are appended when fewer are in flight.

Entries are numbered by the ledger, from 1 in each term. This module does not know what is in them,
nor what waits for them to become durable.

How many are in flight: more of them save commits some waiting, and cost the broker and the owner an
append each. Where an append is quick, that is the dearer of the two: on two cores, with a broker
beside the owner and 1,500 messages a second, four in flight made of each stall of 5 ms one of 50,
because many small entries were written where one large one would have ended it. So only one is in
flight as long as appends are quick. Where they are not, as with replicated brokers, several hide
what each takes. How long an append takes shows only if it is alone: others make it wait.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from adapter.runtime.owner.clock import Clock
from adapter.storage.ledger.port import Ledger, LedgerClosed

ENTRIES_IN_FLIGHT_MAX: Final = 4
"""One less than an idempotent producer keeps in flight (5): more entries only make them smaller."""
QUICK_MS: Final = 2
"""An append to a broker on the same machine takes a tenth of it, one to three brokers in a network
more."""
SLOW_IN_A_ROW: Final = 32
"""Appends that are not quick, one after the other, before several are in flight: a collection of
garbage, or a moment without a core, delays one or a few. One that is quick ends it."""


class Appends:
    """The appends of one term. All methods are called on the owner's thread."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._closed: deque[bytes] = deque()
        self._sizes: deque[int] = deque()
        """Of the entries that are closed and not durable, in order."""
        self._waits_since_ms = 0
        self._alone_n = 0
        """The last one that was appended while none was in flight."""
        self._slow_in_a_row = SLOW_IN_A_ROW
        self._quick_ms = QUICK_MS
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
            self._alone_n = n
        self.appended_n = n
        self.entries += 1
        self.bytes += len(payload)
        return True

    def _has_room(self) -> bool:
        many = ENTRIES_IN_FLIGHT_MAX if self._slow_in_a_row >= SLOW_IN_A_ROW else 1
        return self.appended_n - self.durable_n < many

    def call_none_quick(self) -> None:
        """Have several in flight from now on, whatever an append takes: for tests of that."""
        self._quick_ms, self._slow_in_a_row = -1, SLOW_IN_A_ROW

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
        now_ms = self._clock.elapsed_ms()
        if self.durable_n < self._alone_n <= n:
            is_slow = now_ms - self._waits_since_ms > self._quick_ms
            self._slow_in_a_row = self._slow_in_a_row + 1 if is_slow else 0
        self.durable_n = n
        self._waits_since_ms = now_ms

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
