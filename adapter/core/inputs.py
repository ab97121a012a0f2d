"""The inputs of core: the closed union of what a queue manager can be given, a client's request
among them. dispatch.step takes one of them and returns its effects.

A run of a queue manager is a list of inputs: the same list makes the same records from the same
state. now_ms: the time of day at which one came. Monotonic time and the entry being collected are
set on the queue manager before a step, by the owner's loop. This module does not know what an input
causes.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.contract.arrivals import ArrivedUnit
from adapter.core.contract.commands import Request
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.parties import Party


class Connected(Struct):
    """A connection was made, under a number never used before in this process."""

    connection: int


class Introduced(Struct):
    """A connection has said who it is."""

    connection: int
    party: Party


class Disconnected(Struct):
    """A connection ended, wanted or lost."""

    connection: int
    now_ms: int = 0


class OutcomesSeen(Struct):
    """A client has seen the outcomes of these numbered commands."""

    connection: int
    numbers: list[int]
    now_ms: int = 0


class Tick(Struct):
    """Time has passed."""

    now_ms: int = 0


class PageLoaded(Struct):
    """A page that was wanted was read: all messages of a lane from the one needed to seq through,
    as far as they are still there. incarnation: of the queue that it was read for.
    """

    needed: PageNeeded
    incarnation: int
    through: int
    page: list[Paged]
    now_ms: int = 0


class PageMissing(Struct):
    """The message for which a page was wanted is not on its topic."""

    needed: PageNeeded
    incarnation: int
    now_ms: int = 0


class MoversReported(Struct):
    """The movers have said which queues' topics cannot be written."""

    parked: dict[str, ParkedQueue]
    now_ms: int = 0


class Copied(Struct):
    """Entries up to moved_n are on their topics for good, but for those of these queues."""

    moved_n: int
    parked: frozenset[str] = frozenset()
    now_ms: int = 0


class NamesForgotten(Struct):
    """No program can have been given these names any more, of queues that are gone."""

    names: list[str]


class Configured(Struct):
    """The queue manager was given its settings."""

    settings: dict[str, Any]
    now_ms: int = 0


class Quiesced(Struct):
    """The queue manager is to take no new work; units in flight may end."""


class QueueManagersKnown(Struct):
    """The other queue managers that messages can be sent to, all of them, by name; and their
    computers of MSMQ, by name without case.
    """

    names: frozenset[str]
    computers: dict[str, KnownComputer] = {}


class Arrived(Struct):
    """A unit has arrived from outside.

    It has taken effect then, unless qm.arrivals.blocked has its topic: there is no room for it, and
    it is to be given again later.
    """

    unit: ArrivedUnit
    now_ms: int = 0


class Stopped(Struct):
    """The queue manager has been stopped: it is given nothing after this."""

    now_ms: int = 0


Timed = (
    Disconnected
    | OutcomesSeen
    | Tick
    | PageLoaded
    | PageMissing
    | MoversReported
    | Configured
    | Arrived
    | Stopped
)
"""Those that say at what time of day they came, but for requests."""

Input = (
    Request
    | Connected
    | Introduced
    | Copied
    | NamesForgotten
    | Quiesced
    | QueueManagersKnown
    | Timed
)
