"""A client's connection: its handles, its open units, its session. Soft state."""

from __future__ import annotations

from adapter.core.contract.commands import Command
from adapter.core.contract.parties import Party
from adapter.core.contract.results import Refused
from adapter.core.model.handles import Handle
from adapter.core.model.msmq_handles import MsmqSender
from adapter.core.model.turns import Turns
from adapter.core.model.unit import UnitOfWork
from adapter.core.model.waiters import Waiter


class ConnectionState:
    """What one client connection holds; all of it ends with the connection."""

    __slots__ = (
        "handles",
        "number",
        "openings",
        "party",
        "refused_begins",
        "session",
        "turns",
        "units",
        "waiters",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.party = Party()
        self.handles: dict[int, Handle | MsmqSender] = {}
        self.openings: dict[int, Command] = {}
        """What opened each handle; only where authorities are checked."""
        self.units: dict[bytes, UnitOfWork] = {}
        self.waiters: dict[int, Waiter] = {}
        self.turns = Turns()
        self.session = b""  # the id of its session, if it has one
        self.refused_begins: dict[bytes, Refused] = {}
        """Units whose one-way begins were refused, the last ones, and why: their verbs say so."""
