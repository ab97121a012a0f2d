"""Whether the topics that a running queue manager rests on are still as they must be.

An administrator can change them at any time: let records be deleted by age, delete them, delete the
topic of the snapshots. The queue manager has everything in memory then, and notices nothing by
itself; its next start would be refused. So it looks now and then, says what it finds, and writes a
new snapshot where that puts it right.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.runtime.owner.storage import Storage
from adapter.storage.ledger.port import Ledger


class TopicAudit(Struct, frozen=True):
    """problems: a sentence each. renew: the next start would be refused without a new snapshot."""

    problems: tuple[str, ...] = ()
    renew: bool = False

    @property
    def text(self) -> str:
        """All of it, for people; "" if all is well."""
        return "; ".join(self.problems)


def look(storage: Storage, ledger: Ledger, needed: int) -> TopicAudit:
    """Look at ledger and snapshots. Blocking; raises LedgerError.

    needed: the ledger's offset from which on the newest snapshot needs it; 0 without a snapshot.
    """
    problems = storage.topic_problems() if storage.topic_problems else []
    first, _ = ledger.bounds()
    is_kept = storage.snapshots.is_kept()
    if first > needed:
        problems.append(
            f"the ledger begins at offset {first}, and a start needs it from offset {needed} on: "
            "its earlier records were deleted"
        )
    if not is_kept:
        problems.append("the snapshots are gone: their records or their topic were deleted")
    return TopicAudit(tuple(problems), first > needed or not is_kept)
