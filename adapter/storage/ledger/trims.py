"""Reading a topic whose owner deletes its oldest records meanwhile. Pure.

A reader asks first from where to where the records go. If some of them are deleted before they
are read, the reading has not met a damaged topic: it is begun again with the bounds that there are
now. A topic that lost the records without having been trimmed fails as ever.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from adapter.storage.ledger.port import LedgerMismatch, LedgerUnavailable

TRIMS_MET: Final = 5
"""An owner trims once in 10,000 entries: one reading does not meet as many trims."""

T = TypeVar("T")


def reading_anew(bounds: Callable[[], tuple[int, int]], read: Callable[[int, int], T]) -> T:
    """Return what read makes of the records between two offsets, the second one excluded.

    Raises LedgerMismatch of a reading that met no trim, and LedgerUnavailable if all did.
    """
    first, end = bounds()
    for _ in range(TRIMS_MET):
        try:
            return read(first, end)
        except LedgerMismatch:
            before, (first, end) = first, bounds()
            if first <= before:
                raise
    raise LedgerUnavailable(
        f"records were deleted {TRIMS_MET} times while they were read, the last time up to offset "
        f"{first}: try again"
    )
