"""What a standby hears of the owner besides the ledger: a port.

It is about liveness only. Whatever it says, the ledger is asked before an owner is replaced. This
module knows no sockets.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from adapter.runtime.owner.announcement import OwnerPlace

PING_S = 0.3
"""How often a standby asks the owner whether it lives."""
PINGS_MISSED = 4
"""An owner that has left so many unanswered, and has written nothing meanwhile, is replaced."""


class LinkEvidence(Enum):
    """What the link to the owner says of it."""

    NOTHING = "nothing"
    """There is no link, or it was never proven that the owner is at its other end."""
    ALIVE = "alive"
    ENDED = "ended"
    """The link broke, and the owner's port is closed."""
    SILENT = "silent"
    """It has answered none of the last pings."""


class FollowProgress(Struct, frozen=True):
    """How far a standby is. next_offset: of the ledger, which it applies next. there_s: when it was
    last where the ledger ended, as far as it had heard of that; behind_s: how long ago.
    """

    next_offset: int = 0
    end_offset: int = 0
    there_s: float = 0.0
    behind_s: float = 0.0

    @property
    def behind(self) -> int:
        """How many records of the ledger it has not applied."""
        return max(0, self.end_offset - self.next_offset)


class OwnerSigns:
    """Hears nothing: for a standby without a link. Methods may be called in any thread."""

    @property
    def evidence(self) -> LinkEvidence:
        """What is known of the owner that is watched."""
        return LinkEvidence.NOTHING

    @property
    def ahead(self) -> int:
        """How many standbys go before this one, as the owner said last."""
        return 0

    @property
    def end_offset(self) -> int:
        """Where the ledger ends, as the owner said last; 0 before it did."""
        return 0

    def watch(self, owner: bytes, place: OwnerPlace) -> None:
        """Look at this owner from now on."""

    def forgive(self) -> None:
        """Forget that the owner was silent: its ledger says that it lives."""
