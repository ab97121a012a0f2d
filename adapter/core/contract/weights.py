"""How many bytes messages take, bounded from above: what limits count."""

from __future__ import annotations

from typing import Any, Final

from msgspec import structs

from adapter.core.contract import message_fields as at
from adapter.core.contract.message import MessageData

_as_tuple: Final = structs.astuple  # not looked up each time

DETAILS_WEIGHT: Final = 320
"""Its texts and its token are short, and admission keeps them so."""


def size_of(message: MessageData) -> int:
    """Return how many bytes a message has: its body, and its extension, which MSMQ has beside that.

    Quotas and bounds of memory count these; a program chooses the length of either.
    """
    msmq = message.msmq
    return len(message.body) if msmq is None else len(message.body) + len(msmq.extension)


def weight(message: MessageData) -> int:
    """Bound from above the bytes this message takes in an entry of the ledger, or in a reply."""
    values = _as_tuple(message)  # one call, where each attribute costs a look-up
    letters = (
        len(values[at.FORMAT])
        + len(values[at.REPLY_TO])
        + len(values[at.REPLY_TO_QUEUE_MANAGER])
        + len(values[at.USER])
        + len(values[at.APPLICATION])
        + len(values[at.DESTINATION])
    )
    size = len(values[at.BODY]) + 512 + 4 * letters
    properties: dict[str, Any] | None = values[at.PROPERTIES]
    if properties:
        for name, value in properties.items():
            size += 4 * len(name) + 24
            if isinstance(value, (str, bytes)):
                size += 4 * len(value)
    if values[at.DETAILS] is not None:
        size += DETAILS_WEIGHT
    for header in values[at.TRANSMISSION :]:
        if header is not None:
            size += _header_weight(header)
    return size


def _header_weight(header: Any) -> int:
    """Bound what other queue managers, MSMQ or Service Broker add."""
    size = 0
    for value in _as_tuple(header):
        size += 4 * len(value) + 12 if isinstance(value, (str, bytes)) else 12
    return size
