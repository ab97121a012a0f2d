"""A message's descriptor: the header `mqmd` of its copy, and the same bytes in the ledger.

It is encoded once, when the unit commits, with everything that is known then: what the application
said of the message, and its place and its unit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from adapter.core.model.message import Message, Property
from adapter.core.records import Placed
from adapter.format import avro
from adapter.format.schemas import VERSION, Codec

HEADER = "mqmd"

_codec = Codec("descriptor")
_VERSION = bytes((VERSION,))


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
    if message.properties:
        return _codec.encode(value_of(placed, unit, unit_size))
    return b"".join(
        (
            _VERSION,
            message.message_id,
            message.correlation_id,
            message.group_id,
            avro.long(message.group_seq),
            avro.TRUE if message.last_in_group else avro.FALSE,
            avro.long(message.priority),
            avro.TRUE if message.persistence else avro.FALSE,
            avro.long(message.expiry_ms),
            avro.long(message.expires_at_ms),
            avro.long(message.put_time_ms),
            _described(
                message.format,
                message.message_type,
                message.report,
                message.feedback,
                message.encoding,
                message.ccsid,
                message.reply_to,
                message.reply_to_queue_manager,
                message.user,
                message.application,
            ),
            avro.long(placed.seq),
            unit,
            avro.long(placed.index),
            avro.long(unit_size),
            avro.long(placed.queue_index),
            avro.long(placed.queue_size),
        )
    )


@lru_cache(maxsize=4096)
def _described(*values: str | int) -> bytes:
    """Encode what a program says the same of all its messages, and the empty properties."""
    parts = [avro.text(value) if isinstance(value, str) else avro.long(value) for value in values]
    return b"".join(parts) + avro.END


def value_of(placed: Placed, unit: bytes, unit_size: int) -> dict[str, Any]:
    """Return a descriptor's fields as the schema names them."""
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
    return value


def decode(data: bytes, body: bytes) -> tuple[Message, Position]:
    """Read a descriptor; schemas.UnreadableError if it is none."""
    value = _codec.decode(data)
    properties: dict[str, Property] | None = value.pop("properties") or None
    position = Position(**{name: value.pop(name) for name in _POSITION})
    persistence = int(value.pop("persistent"))
    message = Message(body=body, persistence=persistence, properties=properties, **value)
    return message, position
