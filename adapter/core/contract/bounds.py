"""How much of what may be in one command: types that are checked while a command is decoded.

Without them a frame could be decoded to many times its size: it has room for millions of the
smallest things there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

ELEMENTS_MAX = 65_535
"""Far beyond what any rule allows. What has more is refused before it is taken apart."""
ATTRIBUTES_MAX = 1_000
MESSAGES_MAX = 16_384
"""Of one put. A rule allows 10,000; an empty message, which is one byte, decodes to 256."""
LANES_MAX = 256
"""Of a queue."""
WAIT_MAX_MS = 2**31 - 1
"""MQGMO.WaitInterval is a 32-bit number."""

if TYPE_CHECKING:
    Value = Any  # what a program gives; what may arrive is said below
else:
    Value = bool | int | float | str | None

Attributes = Annotated[dict[str, Value], Meta(max_length=ATTRIBUTES_MAX)]
