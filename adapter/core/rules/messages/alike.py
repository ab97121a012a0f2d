"""Messages of one put that say the same: what has been checked of one is true of the next.

A unit's messages mostly differ in their bodies and ids alone. To compare all other fields at once
costs less than half of what checking them one by one does. This module does not know what is
checked.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.core.contract import message_fields as at
from adapter.core.contract.message import ID_LENGTH, MessageData

_IDS: Final = (at.MESSAGE_ID, at.CORRELATION_ID, at.GROUP_ID)
_REST: Final = at.GROUP_SEQ
"""The first field of those that must be the same; before it are the body and the ids."""
_LENGTHS: Final = (0, ID_LENGTH)


class Alike:
    """The last message that was checked, and what was left to its queue and is settled."""

    __slots__ = ("_candidate", "_expiry_ms", "_longest", "_persistence", "_priority", "_said")

    def __init__(self, longest: int) -> None:
        """longest: bytes of a body that need no check."""
        self._longest = longest
        self._said: tuple[Any, ...] | None = None
        """What the last message said; None: it has to be checked what the next one says."""
        self._candidate: tuple[Any, ...] = ()
        self._priority = self._persistence = self._expiry_ms = 0

    def settles(self, message: MessageData, said: tuple[Any, ...]) -> bool:
        """Settle a message as the one before, if it says the same; whether it does.

        said: all fields of the message.
        """
        rest = said[_REST:]
        if rest != self._said or len(said[at.BODY]) > self._longest:
            self._said, self._candidate = None, rest
            return False
        for one in _IDS:
            if len(said[one]) not in _LENGTHS:
                return False
        message.priority = self._priority
        message.persistence = self._persistence
        message.expiry_ms = self._expiry_ms
        return True

    def note(self, message: MessageData) -> None:
        """Take a message that was checked, after settles(): without what is more than fields."""
        if (
            message.details is None
            and not message.properties
            and message.transmission is None
            and message.msmq is None
            and message.broker is None
            and not message.delay_ms
            and not message.deliver_at_ms
        ):
            self._said = self._candidate
            self._priority = message.priority
            self._persistence = message.persistence
            self._expiry_ms = message.expiry_ms
