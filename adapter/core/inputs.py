"""The inputs of core: the closed union of what a queue manager can be given, a client's request
among them. dispatch.step takes one of them and returns its effects.

A run of a queue manager is a list of inputs, and of when each came: the same list makes the same
records from the same state. This module does not know what an input causes.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.core.contract.arrivals import ArrivedUnit
from adapter.core.contract.audit import AuditNote
from adapter.core.contract.commands import Request
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.feeds import FedBatch, FeedStart
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.parties import Party
from adapter.core.contract.topic_names import SCHEMAS


class Now:
    """When an input comes.

    time_ms: the time of day, which may be set ahead or back. elapsed_ms: what a monotonic clock
    says: waits and intervals are measured by it. entry_n: the entry that collects what the input
    causes.
    """

    __slots__ = ("elapsed_ms", "entry_n", "time_ms")

    def __init__(self, time_ms: int, elapsed_ms: int, entry_n: int) -> None:
        self.time_ms = time_ms
        self.elapsed_ms = elapsed_ms
        self.entry_n = entry_n


class FailedBefore(Struct):
    """A request came again which core could not carry out before, because of an error of its own.

    It is refused. detail: the error.
    """

    request: Request
    detail: str


class Restarted(Struct):
    """A term begins: what the ledger says is replayed. It is the first input of a term."""


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


class OutcomesSeen:
    """A client has seen the outcomes of these numbered commands."""

    __slots__ = ("connection", "numbers")

    def __init__(self, connection: int, numbers: list[int]) -> None:
        self.connection = connection
        self.numbers = numbers


class Tick(Struct):
    """Time has passed."""


class PageLoaded(Struct):
    """A page that was wanted was read: all messages of a lane from the one needed to seq through,
    as far as they are still there. incarnation: of the queue that it was read for.
    """

    needed: PageNeeded
    incarnation: int
    through: int
    page: list[Paged]


class PageMissing(Struct):
    """The message for which a page was wanted is not on its topic."""

    needed: PageNeeded
    incarnation: int


class MoversReported(Struct):
    """The movers have said which queues' topics cannot be written."""

    parked: dict[str, ParkedQueue]


class Copied(Struct):
    """Entries up to moved_n are on their topics for good, but for those of these queues."""

    moved_n: int
    parked: frozenset[str] = frozenset()


class NamesForgotten(Struct):
    """No program can have been given these names any more, of queues that are gone."""

    names: list[str]


class Configured(Struct):
    """The queue manager was given its settings.

    checks_authorities: whether authority records count; without it every client may do everything.
    registry_topic: of the schema registry, which no export may write.
    """

    settings: dict[str, Any]
    checks_authorities: bool = False
    registry_topic: str = SCHEMAS


class GroupsKnown(Struct):
    """In which groups users are, beside those that the operating system says of a client."""

    by_user: dict[str, tuple[str, ...]]


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
    it is to be given again later. If qm.arrivals.unfinished has the topic, a part of it has taken
    effect, and it is to be given again at once.
    """

    unit: ArrivedUnit


class Fed(Struct):
    """Records of a feed have been read.

    They have taken effect up to the feed's position. If that is not behind the last of them, the
    rest is to be given again: later, if qm.feeds says that the partition is blocked. If the
    position has not moved, and it is not blocked, they are void.
    """

    batch: FedBatch


class FeedBegins(Struct):
    """It is known where a feed begins to read partitions."""

    start: FeedStart


class Audited(Struct):
    """What is to be on record of the audit has happened."""

    notes: list[AuditNote]


class Stopped(Struct):
    """The queue manager has been stopped: it is given nothing after this.

    for_good: by an operator, so that no standby takes over; else only this process ends. to: the
    standby that it was handed over to, "" for any.
    """

    for_good: bool = False
    to: str = ""


Input = (
    Request
    | FailedBefore
    | Restarted
    | Connected
    | Introduced
    | Disconnected
    | OutcomesSeen
    | Tick
    | PageLoaded
    | PageMissing
    | MoversReported
    | Copied
    | NamesForgotten
    | Configured
    | GroupsKnown
    | QueueManagersKnown
    | Arrived
    | Fed
    | FeedBegins
    | Audited
    | Quiesced
    | Stopped
)
