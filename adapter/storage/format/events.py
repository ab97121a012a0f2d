"""Values of the events topic."""

from __future__ import annotations

from adapter.core.contract.records import EventRaised
from adapter.storage.format.schemas import Codec

_codec = Codec("event")


def encode(queue_manager: str, event: EventRaised) -> bytes:
    """Return the value of an event's record."""
    return _codec.encode(
        {
            "queue_manager": queue_manager,
            "kind": event.kind,
            "name": event.name,
            "time_ms": event.time_ms,
            "details": event.details,
        }
    )


def decode(data: bytes) -> tuple[str, EventRaised]:
    """Read an event: the queue manager that raised it, and what it raised."""
    value = _codec.decode(data)
    queue_manager: str = value.pop("queue_manager")
    return queue_manager, EventRaised(**value)
