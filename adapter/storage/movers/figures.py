"""The figures of one mover: written by its thread, read by any."""

from __future__ import annotations

from msgspec import Struct

from adapter.storage.format.progress import NOWHERE
from adapter.storage.movers.parking import Held


class CopyFigures(Struct):
    """What a mover has done since its start.

    done: the ledger offset up to which everything was copied for good. written_offset: up to which
    that is recorded. end: the ledger's last offset and one. entries, bytes: how many were read.
    """

    terms: int = 0
    doubtful_commits: int = 0
    failures: int = 0
    done: int = NOWHERE
    written_offset: int = NOWHERE
    end: int = 0
    copied: int = 0
    entries: int = 0
    bytes: int = 0

    def statistics(
        self, transactions: int, held: dict[str, Held], keeps_from: int, *, is_holding: bool
    ) -> dict[str, int]:
        """Return the figures for operators. held: the parked topics. keeps_from: see Parking.

        position: the ledger offset up to which all is copied; written: up to which it is recorded,
        so that a mover that starts again reads on behind it; lag_records, lag_bytes: how much of
        the ledger lies behind it, the bytes estimated from those read so far; copied: copies since
        the queue manager exists; holding: 1 while a fault keeps it from copying.
        parked: topics that cannot be written; parked_messages, parked_bytes: what waits for them;
        pinned_records, pinned_bytes: how much of the ledger must be kept for lag and parked topics.
        """
        lag = max(0, self.end - 1 - self.done)
        pinned = max(lag, self.end - 1 - keeps_from) if held else lag
        return {
            "terms": self.terms,
            "transactions": transactions,
            "doubtful_commits": self.doubtful_commits,
            "failures": self.failures,
            "copied": self.copied,
            "position": self.done,
            "written": self.written_offset,
            "lag_records": lag,
            "lag_bytes": lag * self.bytes // max(1, self.entries),
            "holding": int(is_holding),
            "parked": len(held),
            "parked_messages": sum(one.messages for one in held.values()),
            "parked_bytes": sum(one.bytes for one in held.values()),
            "pinned_records": pinned,
            "pinned_bytes": pinned * self.bytes // max(1, self.entries),
        }
