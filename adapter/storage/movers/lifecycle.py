"""The modes of a mover, and those of a topic that it copies to.

Modes of a mover, what it does in each, and, written by `python -m tests.docs.lives` from NEXT, what
may follow:

STARTING  replaces its producers and reads its progress; so it does again after a topic has
          refused, to park that topic
          -> COPYING, HOLDING, ENDED
COPYING   copies what the ledger holds
          -> STARTING, HOLDING, ENDED
HOLDING   something fails that no topic is to blame for: it begins anew, after longer and longer
          pauses, and says what failed
          -> RESUMED, ENDED
RESUMED   has begun anew and reads the ledger; what failed is still reported, because nothing
          proves yet that it goes on
          -> COPYING, HOLDING, ENDED
ENDED     stopped, or failed for good: its starter starts another mover

Modes of a topic. They are data, not objects: the progress says which topics are parked.

WRITTEN       gets its copies with the others. It refuses     -> PARKED
PARKED        is left out; tried again after longer and longer pauses. It can be written again
                                                              -> CATCHING UP
CATCHING UP   gets what it missed, in slices, the others between. It refuses -> PARKED.
              It has reached the others                       -> WRITTEN
"""

from __future__ import annotations

from enum import Enum


class MoverMode(Enum):
    """What a mover is doing."""

    STARTING = "starting"
    COPYING = "copying"
    HOLDING = "holding"
    RESUMED = "resumed"
    ENDED = "ended"


NEXT: dict[MoverMode, frozenset[MoverMode]] = {
    MoverMode.STARTING: frozenset({MoverMode.COPYING, MoverMode.HOLDING, MoverMode.ENDED}),
    MoverMode.COPYING: frozenset({MoverMode.STARTING, MoverMode.HOLDING, MoverMode.ENDED}),
    MoverMode.HOLDING: frozenset({MoverMode.RESUMED, MoverMode.ENDED}),
    MoverMode.RESUMED: frozenset({MoverMode.COPYING, MoverMode.HOLDING, MoverMode.ENDED}),
    MoverMode.ENDED: frozenset(),
}
BEGUN_AGAIN = {MoverMode.COPYING: MoverMode.STARTING, MoverMode.RESUMED: MoverMode.HOLDING}
"""The mode after a topic has refused: why the mover held before stays reported."""


class MoverLifecycle:
    """Holds the mode, and why the mover holds. Set by the mover's thread, read by any."""

    def __init__(self) -> None:
        self.mode = MoverMode.STARTING
        self.holding = ""
        """What failed, or ""."""

    @property
    def is_ready(self) -> bool:
        """Whether the mover has found where to go on, and is not beginning again."""
        return self.mode in (MoverMode.COPYING, MoverMode.RESUMED)

    def copies(self) -> None:
        """The mover has read its progress, and the ledger is being read."""
        holds = self.mode is MoverMode.HOLDING
        self._to(MoverMode.RESUMED if holds else MoverMode.COPYING)

    def goes_on(self) -> None:
        """Something was read: whatever failed before does not fail any more."""
        if self.mode is MoverMode.RESUMED:
            self._to(MoverMode.COPYING)
        self.holding = ""

    def begins_again(self) -> None:
        """A topic refused: the mover begins again without it."""
        mode = BEGUN_AGAIN.get(self.mode)
        if mode is not None:
            self._to(mode)

    def holds(self, reason: str) -> None:
        """Something else failed."""
        self.holding = reason
        if self.mode is not MoverMode.HOLDING:
            self._to(MoverMode.HOLDING)

    def ended(self) -> None:
        """The mover has stopped or failed."""
        if self.mode is not MoverMode.ENDED:
            self._to(MoverMode.ENDED)

    def _to(self, mode: MoverMode) -> None:
        assert mode in NEXT[self.mode], f"{self.mode.value} does not become {mode.value}"
        self.mode = mode
