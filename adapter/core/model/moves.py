"""Moves: which messages may have come back too often, noted until what returned them is applied."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import Place
from adapter.core.contract.spans import Span
from adapter.core.model.queue import LocalQueue


class MoveDue(Struct):
    """Messages of a queue to be moved if they came back too often.

    spans: of those that came back with a batch, and are not in memory. back: those of places that
    came back just now; the others were met for another reason, and no event says that they stay.
    """

    queue: LocalQueue
    places: list[Place]
    now_ms: int
    spans: list[Span]
    back: frozenset[Place]
