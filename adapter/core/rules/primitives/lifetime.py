"""The queue manager's own life, as the ledger and its operators are told of it."""

from __future__ import annotations

from typing import Final

from adapter.core.contract.records import EventRaised, Record
from adapter.core.model.manager import QueueManager

STOPPED: Final = "queue_manager_stopped"
"""The last record of an owner that was stopped: the next start need not wait for it."""


FOR_GOOD: Final = "for_good"
"""Of that record: an operator stopped the queue manager, so that no standby is to take over."""
SUCCESSOR: Final = "successor"
"""Of that record: the standby that is to take over; the others wait for it."""


def stop(qm: QueueManager, now_ms: int, *, for_good: bool = False, to: str = "") -> list[Record]:
    """Say that the queue manager has been stopped. to: the standby that is to take over."""
    details = {FOR_GOOD: "yes"} if for_good else {}
    if to:
        details[SUCCESSOR] = to
    return [EventRaised(STOPPED, qm.name, now_ms, details)]
