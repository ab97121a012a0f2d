"""Backed-out messages: what one that was moved says of why.

A message that came back too often is moved with these properties, by the queue manager and
programs alike. This module does not know where such a message goes.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.message import Property, with_properties

REASON: Final = "mqk.backout_reason"
QUEUE: Final = "mqk.backout_queue"
COUNT: Final = "mqk.backout_count"
THRESHOLD_REACHED: Final = "backout_threshold_reached"
"""The reason; and the event that tells of it."""
RETRIES_USED_UP: Final = "retries_used_up"
"""The reason of a message that a program has tried as often as its policy says (adapter.Retry)."""
ATTEMPTS: Final = "mqk.attempts"
"""How often programs with such a policy have failed with this message."""
ERROR: Final = "mqk.error"
"""What they failed with last."""
MQRC_BACKOUT_THRESHOLD_REACHED: Final = 2362
"""What a dead-letter header gives as its reason."""


def explain(properties: dict[str, Property] | None, queue: str, count: int) -> dict[str, Property]:
    """Return a message's properties with those that say why it was moved from a queue. What has no
    room for three more is moved without them.
    """
    return with_properties(properties, {REASON: THRESHOLD_REACHED, QUEUE: queue, COUNT: count})
