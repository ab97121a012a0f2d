"""A client's connection: its handles, its open units, its session. Soft state."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.model.message import Place
from adapter.core.model.queue import Queue
from adapter.core.model.turns import Turns
from adapter.core.model.unit import Unit
from adapter.core.model.waiter import Waiter

START: Place = (-99, 0, 0)
"""A cursor before every message."""


class Handle:
    """A queue opened by a connection in certain modes, with a browse cursor.

    alias: the attributes of the alias that led to it. is_maker: the queue was made for it.
    """

    __slots__ = ("alias", "cursor", "is_maker", "modes", "number", "queue")

    def __init__(
        self,
        number: int,
        queue: Queue,
        modes: int,
        alias: AliasAttributes | None = None,
        is_maker: bool = False,
    ) -> None:
        self.number = number
        self.queue = queue
        self.modes = modes
        self.alias = alias
        self.is_maker = is_maker
        self.cursor = START


class Party(Struct, frozen=True):
    """Who a connection is, as its client and its listener say. since_ms: when it was made."""

    application: str = ""
    user: str = ""
    address: str = ""
    since_ms: int = 0


class Connection:
    """What one client connection holds; all of it ends with the connection."""

    __slots__ = ("handles", "number", "party", "session", "turns", "units", "waiters")

    def __init__(self, number: int) -> None:
        self.number = number
        self.party = Party()
        self.handles: dict[int, Handle] = {}
        self.units: dict[bytes, Unit] = {}
        self.waiters: dict[int, Waiter] = {}
        self.turns = Turns()
        self.session = b""  # the id of its session, if it has one
