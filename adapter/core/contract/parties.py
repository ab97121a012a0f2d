"""Parties: who is at the other end of a connection."""

from __future__ import annotations

from msgspec import Struct


class Party(Struct):
    """Who a connection is, as its client and its listener say. since_ms: when it was made.

    channel: the name by which it connects, "" if it names none.
    """

    application: str = ""
    user: str = ""
    address: str = ""
    since_ms: int = 0
    channel: str = ""
