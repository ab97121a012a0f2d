"""A message's descriptor: the header `mqmd` of its copy, and the same bytes in the ledger.

It is encoded once, when the unit commits, with everything that is known then: what the application
said of the message, and its place and its unit.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.model.message import Message, Property
from adapter.core.records import Placed
from adapter.format.schemas import Codec

HEADER = "mqmd"

_codec = Codec("descriptor")


class Position(Struct):
    """Where a unit put a message: seq in its lane, unit, indexes and sizes."""

    seq: int
    unit: bytes
    unit_index: int
    unit_size: int
    queue_unit_index: int
    queue_unit_size: int


_POSITION = Position.__struct_fields__
_OWN = ("body", "persistence", "properties")
_SAME = tuple(name for name in Message.__struct_fields__ if name not in _OWN)


def encode(placed: Placed, unit: bytes, unit_size: int) -> bytes:
    """Return the descriptor of a persistent message at its place."""
    message = placed.message
    value: dict[str, Any] = {name: getattr(message, name) for name in _SAME}
    value["persistent"] = message.persistence == 1
    value["properties"] = message.properties or {}
    value["seq"] = placed.seq
    value["unit"] = unit
    value["unit_index"] = placed.index
    value["unit_size"] = unit_size
    value["queue_unit_index"] = placed.queue_index
    value["queue_unit_size"] = placed.queue_size
    return _codec.encode(value)


def decode(data: bytes, body: bytes) -> tuple[Message, Position]:
    """Read a descriptor; schemas.UnreadableError if it is none."""
    value = _codec.decode(data)
    properties: dict[str, Property] | None = value.pop("properties") or None
    position = Position(**{name: value.pop(name) for name in _POSITION})
    persistence = int(value.pop("persistent"))
    message = Message(body=body, persistence=persistence, properties=properties, **value)
    return message, position
