"""Details: refuses the further fields of a descriptor that no message can have.

It knows the fields of one message, and not what groups and segments mean on a queue.
"""

from __future__ import annotations

from typing import Final

from adapter.core.contract.details import (
    FLAGS,
    LAST_SEGMENT,
    LENGTH_UNDEFINED,
    OFFSET_MAX,
    SEGMENT,
    TOKEN_LENGTH,
    Details,
)
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.destination import Destination

TEXT_LENGTHS: Final = (("identity_data", 32), ("origin_data", 4), ("put_date_time", 16))
NUMBERS: Final = ("appl_type", "original_length", "priority_asked")


def check(queue: Destination, message: MessageData, details: Details) -> None:
    """Refuse details that no message can have."""
    if details.flags & ~FLAGS:
        raise Refusal(Reason.MESSAGE_FLAGS_ERROR, queue.name, f"flags {details.flags}")
    if len(details.accounting_token) not in (0, TOKEN_LENGTH):
        raise Refusal(Reason.IDENTIFIER_ERROR, queue.name, "accounting_token is not 32 bytes")
    for name, length in TEXT_LENGTHS:
        if len(getattr(details, name)) > length:
            text = f"{name} has more than {length} characters"
            raise Refusal(Reason.OPTIONS_ERROR, queue.name, text)
    for name in NUMBERS:
        if not -(2**31) <= getattr(details, name) < 2**31:
            raise Refusal(Reason.OPTIONS_ERROR, queue.name, f"{name} is not a 32-bit number")
    if details.original_length < LENGTH_UNDEFINED:
        text = f"original_length {details.original_length}"
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, text)
    if not 0 <= details.offset <= OFFSET_MAX:
        raise Refusal(Reason.OFFSET_ERROR, queue.name, f"offset {details.offset}")
    if details.flags & SEGMENT and not details.flags & LAST_SEGMENT and not message.body:
        raise Refusal(Reason.SEGMENT_EMPTY, queue.name, "only a last segment may have no bytes")
