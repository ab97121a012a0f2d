"""How much of what may be in one command: types that are checked while a command is decoded.

Without them a frame could be decoded to many times its size: it has room for millions of the
smallest things there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta

ELEMENTS_MAX: Final = 65_535
"""Far beyond what any rule allows. What has more is refused before it is taken apart."""
ATTRIBUTES_MAX: Final = 1_000
MESSAGES_MAX: Final = 16_384
"""Of one put. A rule allows 10,000; an empty message, which is one byte, decodes to 256."""
LANES_MAX: Final = 256
"""Of a queue."""
LATEST_MS: Final = 253_402_300_799_999
"""The last moment of the year 9999, in ms since 1970: no message says a later one."""
WAIT_MAX_MS: Final = 2**31 - 1
"""MQGMO.WaitInterval is a 32-bit number."""

if TYPE_CHECKING:
    Value = Any  # what a program gives; what may arrive is said below
else:
    Value = bool | int | float | str | None

Attributes = Annotated[dict[str, Value], Meta(max_length=ATTRIBUTES_MAX)]
