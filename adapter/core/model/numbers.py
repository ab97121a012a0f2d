"""What a queue manager numbers: messages, generated names, and the queues that have had a name.

All of it is unique across owners: message ids by the owner's id, names and places by where the term
began. This module does not know what is named.
"""

from __future__ import annotations

import hashlib

from adapter.core.contract.message import GUID_LENGTH


class Numbers:
    """The numbers of one queue manager in one term."""

    __slots__ = ("_id_prefix", "_ids", "first_n", "generated", "incarnations", "temporaries")

    def __init__(self, owner_id: bytes) -> None:
        self.temporaries = 0
        """How many temporary dynamic queues there have been."""
        self.generated = 0
        """How many names have been generated in this term."""
        self.incarnations: dict[str, int] = {}
        """How many queues of each name there have been, but for names that can be forgotten."""
        self.first_n = 1
        """Where the n of places begins in this term."""
        self.belong_to(owner_id)

    def belong_to(self, owner_id: bytes) -> None:
        """Begin anew with the message ids of an owner."""
        self._id_prefix = b"MQK " + owner_id[:12]
        self._ids = 0

    @property
    def term(self) -> str:
        """What tells this owner's numbers of events from those of others."""
        return self._id_prefix.hex()

    def new_message_id(self) -> bytes:
        """Draw a message id: unique as long as owner ids are."""
        self._ids += 1
        return self._id_prefix + self._ids.to_bytes(8, "big")

    def new_guid(self) -> bytes:
        """Draw 16 bytes that look random: unique as message ids are."""
        return hashlib.blake2b(self.new_message_id(), digest_size=GUID_LENGTH).digest()

    def new_name_digits(self) -> str:
        """Draw what makes a name unique, 16 digits: never drawn before, not by any owner.

        As the n of places: there are far fewer names in a term than numbers before the next one's.
        """
        self.generated += 1
        return f"{self.first_n + self.generated:016X}"
