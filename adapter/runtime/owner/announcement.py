"""What an owner writes of itself when it takes its ledger over: for people, and for its standbys.

A sentence for people comes first; behind a NUL is, as JSON, where the owner is reached, and the key
by which the owner and its standbys know each other: it is known to those who read the ledger. A
release that knows no such part wrote the sentence alone.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

import msgspec
from msgspec import Struct

KEY_BYTES = 32
BEHIND = "\0"


class OwnerPlace(Struct, frozen=True):
    """Where an owner is reached. address, tls_address: HOST:PORT without TLS and with it, or "".

    key: of the link to its standbys; b"": it has none.
    """

    address: str = ""
    tls_address: str = ""
    key: bytes = b""


class Announcement(Struct, frozen=True):
    """What is known of an owner. text: for people."""

    text: str = ""
    place: OwnerPlace = OwnerPlace()

    def __str__(self) -> str:
        return self.text

    @property
    def written(self) -> str:
        """Return it as it is written to the ledger."""
        return self.text + BEHIND + msgspec.json.encode(self.place).decode()


def announcement(name: str, place: OwnerPlace) -> Announcement:
    """Say who owns the ledger from now on: this process."""
    at = f" at {place.address}" if place.address else ""
    text = f"{name} (process {os.getpid()} on {socket.gethostname()}){at}"
    return Announcement(text, place)


def read_announcement(written: str) -> Announcement:
    """Read what was written; what cannot be read of it is left out."""
    text, _, behind = written.partition(BEHIND)
    place = OwnerPlace()
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        place = msgspec.json.decode(behind, type=OwnerPlace)
    return Announcement(text, place)
