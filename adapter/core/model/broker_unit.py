"""What a unit does to conversations: it takes effect when the unit commits.

No other unit can change an endpoint meanwhile, because the unit has its group locked. The far side
and the queue manager do: a message arrives, a timer rings, a route becomes known. So a unit notes
of an endpoint what its own side changes, and nothing else, and with the commit that is done to the
endpoint as it is then. This module does not know what a verb means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, structs

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import ConversationSet, Record
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.conversations import BROKEN, ConversationGroup
from adapter.core.model.unit_mark import UnitMark
from adapter.core.model.waiters import Waiter


class EndpointChange(Struct):
    """What a unit does to an endpoint.

    begun: the endpoint, if the unit has begun it. sent: how many messages it sends. group: empty:
    the same one. timer_ms: None: the same time. is_cleaned: it is ended with cleanup.
    """

    begun: ConversationSet | None = None
    sent: int = 0
    group: bytes = b""
    timer_ms: int | None = None
    is_ended: bool = False
    is_cleaned: bool = False

    def applied_to(self, state: ConversationSet) -> ConversationSet:
        """Return an endpoint as it is with this change. A timer of one that is broken off never
        rings.
        """
        timer_ms = state.timer_ms if self.timer_ms is None else self.timer_ms
        return structs.replace(
            state,
            sent=state.sent + self.sent,
            group=self.group or state.group,
            timer_ms=0 if state.far == BROKEN else timer_ms,
            is_ended=state.is_ended or self.is_ended,
        )


class Savepoint(Struct):
    """A unit as it was. Of lists only the first elements count: those that it had then.

    undo: how many changes of groups it had made.
    """

    unit: UnitMark
    sends: list[MessageData]
    send_count: int
    undo: int
    changes: dict[bytes, EndpointChange]


class BrokerWork:
    """The conversations of one unit.

    changes: what it does to endpoints, by handle. sends: what it sends, in order; only appended to,
    or replaced by another list. received: the queues it has received from. locked: the groups it
    has locked. undo: what takes back what it did to groups. savepoints: the last one is the last.
    waits: its verbs that wait, and some that did. on_commit(qm, work, unit, now_ms): returns what
    to record before a unit that commits, and what ends this work and returns what to record behind.
    on_backout(qm, work, unit id, now_ms): ends it with a unit that is rolled back, and returns what
    to record.
    """

    __slots__ = (
        "changes",
        "locked",
        "on_backout",
        "on_commit",
        "received",
        "savepoints",
        "sends",
        "undo",
        "waits",
    )

    def __init__(
        self,
        on_commit: Callable[
            [Any, BrokerWork, Any, int], tuple[list[Record], Callable[[], list[Record]]]
        ],
        on_backout: Callable[[Any, BrokerWork, bytes, int], list[Record]],
    ) -> None:
        self.on_commit = on_commit
        self.on_backout = on_backout
        self.changes: dict[bytes, EndpointChange] = {}
        self.sends: list[MessageData] = []
        self.received: dict[str, BrokerQueue] = {}
        self.locked: list[tuple[BrokerQueue, ConversationGroup]] = []
        self.undo: list[Callable[[], None]] = []
        self.savepoints: dict[str, Savepoint] = {}
        self.waits: list[Waiter] = []

    def save(self, name: str, mark: UnitMark) -> None:
        """Note a savepoint, behind all others. mark: of the unit."""
        changes = {handle: structs.replace(change) for handle, change in self.changes.items()}
        self.savepoints.pop(name, None)
        self.savepoints[name] = Savepoint(
            mark, self.sends, len(self.sends), len(self.undo), changes
        )

    def return_to(self, name: str) -> tuple[list[MessageData], list[MessageData]]:
        """Forget what was done after a savepoint, also later savepoints.

        Returns the messages that are not sent after all, and those that are sent again.
        """
        savepoint = self.savepoints[name]
        self.take_back(savepoint.undo)
        before, self.sends = self.sends, savepoint.sends[: savepoint.send_count]
        changes = savepoint.changes.items()
        self.changes = {handle: structs.replace(change) for handle, change in changes}
        while next(reversed(self.savepoints)) != name:
            self.savepoints.popitem()
        now, were = {id(one) for one in self.sends}, {id(one) for one in before}
        dropped = [one for one in before if id(one) not in now]
        return dropped, [one for one in self.sends if id(one) not in were]

    def list_begun(self) -> Iterator[ConversationSet]:
        """Iterate over the endpoints that the unit has begun."""
        return (one.begun for one in self.changes.values() if one.begun is not None)

    def take_back(self, count: int = 0) -> None:
        """Take back what was done to groups, but for the first so many changes."""
        while len(self.undo) > count:
            self.undo.pop()()
