"""What may cause a trigger message. It is soft, and noted for as long as a decision takes.

This module does not know the conditions: they are in core.rules.drive.trigger_conditions.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from adapter.core.model.queue import LocalQueue
from adapter.core.model.unit import UnitOfWork

Kind = Literal["put", "close", "alter", "open"]


class TriggerEvent(Struct, kw_only=True):
    """Something that happened to a queue, be it an application's or an initiation queue.

    put: priority and stored are of what was put (several segments count as several), before says
    how many messages that count for triggers were there before it, and unit holds it, if one does.
    close and open: inputs is how many handles have the queue open for input now. alter: was has the
    values before of the attributes that have others now.
    """

    kind: Kind
    queue: LocalQueue
    now_ms: int
    priority: int = 0
    before: int = 0
    stored: int = 1
    unit: UnitOfWork | None = None
    inputs: int = 0
    was: dict[str, Any] = {}
