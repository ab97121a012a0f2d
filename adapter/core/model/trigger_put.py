"""A trigger message on its way to its initiation queue: soft, noted for a decision or a unit.

This module does not know what caused it.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import MessageData
from adapter.core.model.queue import LocalQueue


class TriggerPut(Struct):
    """A trigger message that is to be put. queue: whose condition was met; initiation: where to.

    with_unit: it goes with the unit that caused it if that is backed out.
    """

    queue: LocalQueue
    initiation: str
    message: MessageData
    now_ms: int
    with_unit: bool = False
