"""Visitors: who asks something of a queue manager without a connection, such as over HTTP."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.authorities import Denial
from adapter.core.contract.parties import Party


class VisitorRequest(Struct):
    """A visitor, and what it asks for. object_type: "": nothing that needs an authority."""

    party: Party
    command: str = ""
    object_type: str = ""
    name: str = ""
    bits: int = 0


class VisitorDecision(Struct):
    """Whether it may be done. party: who the visitor counts as; None: channel rules refuse it.

    denied: for the log, what refused it, and what would have if it did not only warn.
    """

    party: Party | None
    is_allowed: bool
    denied: list[Denial] = []
