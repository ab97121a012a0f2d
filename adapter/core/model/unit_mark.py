"""What a unit holds at a time: the part of a savepoint that is about messages of any kind.

This module does not know how a unit goes back to it.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import MessageData
from adapter.core.contract.stored import Stored
from adapter.core.model.queue import LocalQueue


class UnitMark(Struct):
    """What a unit held at a time: the first puts and gets of its lists, and its weight.

    The lists are only appended to, or replaced by others.
    """

    puts: list[tuple[LocalQueue, MessageData]]
    put_count: int
    gets: list[tuple[LocalQueue, Stored]]
    get_count: int
    weight: int
