"""Reports of forged records in a sealed ledger: each record once, however often it is read.

This module is pure.
"""

from __future__ import annotations

from collections.abc import Callable

from adapter.storage.ledger.port import Forged


class ForgedReports:
    """Of one ledger. count: of the records that were reported."""

    def __init__(self, on_forged: Callable[[Forged], object]) -> None:
        self.count = 0
        self._on_forged = on_forged
        self.through = -1
        """The last offset that was reported: a scan leaves out what it meets up to there."""

    def report(self, found: Forged | None) -> None:
        """Report forged records, all of them behind those that were reported before."""
        if found is not None:
            self.through = found.last
            self.count += found.records
            self._on_forged(found)
