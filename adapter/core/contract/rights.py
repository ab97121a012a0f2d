"""What right a command needs: a part of its trait.

Most commands on messages need none of their own: what a handle allows was asked for when it was
opened. This module knows neither principals nor records.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from adapter.core.contract import authorities as a


class Need(Enum):
    """When, and on what, a command's right is asked for."""

    CONNECTED = "connected"
    """A connection is enough: the command touches nothing but its own connection."""
    HANDLE = "handle"
    """It was asked for when the handle was opened."""
    OBJECT = "object"
    """Before the command, on the object that a field of it names."""
    CREATION = "creation"
    """To create the object that a field names, or to change it where it is replaced."""
    EACH = "each"
    """On each object of the answer: others are left out. One that was named alone is refused."""
    RULE = "rule"
    """Before the command, by a rule of its own: core.rules.objects.checks."""


class NeededRight:
    """bits: all of them are needed; of EACH any of them is enough. object_type: "" if the command's
    field kind says it. of: the field with the object's name; "": the queue manager itself.
    """

    __slots__ = ("bits", "need", "object_type", "of")

    def __init__(self, need: Need, bits: int = 0, object_type: str = "", of: str = "") -> None:
        self.need: Final = need
        self.bits: Final = bits
        self.object_type: Final = object_type
        self.of: Final = of


CONNECTED: Final = NeededRight(Need.CONNECTED)
BY_HANDLE: Final = NeededRight(Need.HANDLE)
BY_RULE: Final = NeededRight(Need.RULE)


def on_queue(bits: int, of: str = "name") -> NeededRight:
    """Return a right on the queue that a field names."""
    return NeededRight(Need.OBJECT, bits, a.QUEUE, of)


def on_queue_manager(bits: int) -> NeededRight:
    """Return a right on the queue manager itself."""
    return NeededRight(Need.OBJECT, bits, a.QUEUE_MANAGER)


def each(
    object_type: str = "", of: str = "pattern", bits: int = a.DISPLAY | a.INQUIRE
) -> NeededRight:
    """Return a right on each object of an answer. of: the field that names or means them."""
    return NeededRight(Need.EACH, bits, object_type, of)
