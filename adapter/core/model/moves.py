"""Moves: which messages may have come back too often, noted until what returned them is applied."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import Place
from adapter.core.model.queue import LocalQueue


class MoveDue(Struct):
    """Messages of a queue to be moved if they came back too often.

    and_paged: look for others that are not in memory.
    """

    queue: LocalQueue
    places: list[Place]
    now_ms: int
    and_paged: bool = False
