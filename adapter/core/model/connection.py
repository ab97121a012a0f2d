"""A client's connection: its handles, its open units, its session. Soft state."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.contract.message import Stored
from adapter.core.model.groups import Progress
from adapter.core.model.queue import Queue
from adapter.core.model.selector import Fits
from adapter.core.model.topics import Subscription
from adapter.core.model.turns import Turns
from adapter.core.model.unit import Unit
from adapter.core.model.views import START
from adapter.core.model.waiter import Waiter


class Handle:
    """A queue opened by a connection in certain modes, with a browse cursor.

    alias: the attributes of the alias that led to it. is_maker: the queue was made for it.
    locked: the message that a browse has locked, if any. put_group, get_group, browse_group: where
    the handle is in a group or a segmented message, if it is in one. browse_head: where the group
    began that a browse in logical order has come to: the next one begins behind it. selection: what
    it was opened with, and fits what that says of a message. topic: the handle is of a topic, or of
    a subscription to it; then its queue is a placeholder, which a publication is checked
    against. consumer: which one of its queue it has open, and batches: what of it has been
    handed out by this handle. may_break_off: its program is not to blame if it does not close it.
    """

    __slots__ = (
        "alias",
        "batches",
        "browse_group",
        "browse_head",
        "consumer",
        "cursor",
        "fits",
        "get_group",
        "is_maker",
        "locked",
        "may_break_off",
        "modes",
        "number",
        "put_group",
        "queue",
        "selection",
        "subscription",
        "topic",
    )

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
        self.locked: Stored | None = None
        self.put_group: Progress | None = None
        self.get_group: Progress | None = None
        self.browse_group: Progress | None = None
        self.browse_head = START
        self.selection = ""
        self.fits: Fits | None = None
        self.topic: str | None = None
        self.subscription: Subscription | None = None
        self.consumer = ""
        self.batches: set[int] = set()
        self.may_break_off = False


class Party(Struct):
    """Who a connection is, as its client and its listener say. since_ms: when it was made.

    channel: the name by which it connects, "" if it names none.
    """

    application: str = ""
    user: str = ""
    address: str = ""
    since_ms: int = 0
    channel: str = ""


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
