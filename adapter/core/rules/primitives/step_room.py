"""What one step may still move: so many messages, and so many bytes of them.

A step is short, and its records are one entry of the ledger, which takes no more than so many
bytes. Messages that wait to be moved may be any number, and long ones. So a step moves some of
them, and the rest is for the next one. This module does not know what is moved, nor where to.
"""

from __future__ import annotations

from typing import Final

BYTES_PER_STEP: Final = 4 * 1024 * 1024
"""What one step moves, or one message more: it is written, and read again by a replay, at once."""


class StepRoom:
    """The room that is left in one step."""

    __slots__ = ("bytes", "messages")

    def __init__(self, messages: int, size: int | None = None) -> None:
        """size: bytes, if other than what steps have that move what waits."""
        self.messages = messages
        self.bytes = BYTES_PER_STEP if size is None else size

    @property
    def is_over(self) -> bool:
        """Whether the rest is for the next step."""
        return self.messages <= 0 or self.bytes <= 0

    def has(self, size: int, messages: int = 1) -> bool:
        """Whether there is room for so much more."""
        return messages <= self.messages and size <= self.bytes

    def take(self, size: int, messages: int = 1) -> None:
        """Count what the step moves, which may be more than there is room for."""
        self.messages -= messages
        self.bytes -= size
