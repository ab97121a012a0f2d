"""Where the owner is that a standby follows: asked of the ledger until it is known.

The owner writes it when it takes over, and again with each snapshot, so that it is found near the
end of the ledger. It may not be found all the same: Kafka does not answer at that moment, or an
earlier release has trimmed it. Without it there is no link, so it is asked for again and again.
"""

from __future__ import annotations

from collections.abc import Callable

from adapter.runtime.owner.announcement import Announcement, read_announcement
from adapter.runtime.owner.owner_signs import OwnerSigns
from adapter.storage.ledger.port import Ledger, LedgerMismatch, LedgerUnavailable

ASK_S, ASK_S_MAX = 1.0, 60.0
"""Before it is asked again, and twice as long each time: many records are read in vain."""


class OwnerWatch:
    """Finds where an owner is, and has it watched. For the thread that follows."""

    def __init__(self, ledger: Ledger, signs: OwnerSigns, now_s: Callable[[], float]) -> None:
        self._ledger = ledger
        self._signs = signs
        self._now_s = now_s
        self._owner = b""
        self._is_known = True
        self._pause_s = ASK_S
        self._next_s = 0.0

    def begin(self, owner: bytes) -> Announcement:
        """Watch this owner from now on; return what is known of it. Blocking."""
        self._owner, self._pause_s = owner, ASK_S
        announced = self._ask()
        self._signs.watch(owner, announced.place)
        return announced

    def look(self) -> Announcement | None:
        """Ask again where it is, if that is not known and it is time; what is known now, if so."""
        if self._is_known or self._now_s() < self._next_s:
            return None
        announced = self._ask()
        if not announced.text:
            return None
        self._signs.watch(self._owner, announced.place)
        return announced

    def _ask(self) -> Announcement:
        try:
            announced = read_announcement(self._ledger.announcement_of(self._owner))
        except (LedgerUnavailable, LedgerMismatch):
            announced = Announcement()
        self._is_known = bool(announced.text)  # of an earlier release it says no more
        self._next_s = self._now_s() + self._pause_s
        self._pause_s = min(2 * self._pause_s, ASK_S_MAX)
        return announced
