"""What a unit does to conversations: it takes effect when the unit commits.

No other unit can change an endpoint meanwhile, because the unit has its group locked. The far side
and the queue manager do: a message arrives, a timer rings, a route becomes known. So a unit notes
of an endpoint what its own side changes, and nothing else, and with the commit that is done to the
endpoint as it is then. This module does not know what a verb means.
"""

from __future__ import annotations

from bisect import insort
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


Side = tuple[bytes, bool]
"""Of a conversation: its id, and whether it is the initiator's."""


class Sends:
    """What a unit sends, in order, but for what it drops: each in the time that it takes alone."""

    def __init__(self) -> None:
        self._messages: list[MessageData] = []
        self._drops: list[int] = []
        """What is not sent after all, in the order in which it was dropped."""
        self._dropped: set[int] = set()
        self._of_side: dict[Side, list[int]] = {}
        """Which messages of each side are sent."""

    def __len__(self) -> int:
        return len(self._messages) - len(self._drops)

    def __iter__(self) -> Iterator[MessageData]:
        return (one for at, one in enumerate(self._messages) if at not in self._dropped)

    def add(self, message: MessageData) -> None:
        """Send one more."""
        self._of_side.setdefault(_side_of(message), []).append(len(self._messages))
        self._messages.append(message)

    def of(self, side: Side) -> list[MessageData]:
        """Return what is sent of one side of a conversation."""
        return [self._messages[at] for at in self._of_side.get(side, ())]

    def drop(self, side: Side) -> list[MessageData]:
        """Send nothing of one side of a conversation; return what is dropped."""
        places = self._of_side.pop(side, [])
        self._drops += places
        self._dropped.update(places)
        return [self._messages[at] for at in places]

    def mark(self) -> tuple[int, int]:
        """Return where it has come to, for return_to()."""
        return len(self._messages), len(self._drops)

    def return_to(self, mark: tuple[int, int]) -> tuple[list[MessageData], list[MessageData]]:
        """Forget what was done since; return what is not sent after all, and what is sent again."""
        messages, drops = mark
        added = range(messages, len(self._messages))
        lost = [self._messages[at] for at in added if at not in self._dropped]
        back = sorted(at for at in self._drops[drops:] if at < messages)
        self._dropped.difference_update(self._drops[drops:])
        for at in reversed(added):
            places = self._of_side.get(_side_of(self._messages[at]), [])
            if places and places[-1] == at:
                places.pop()
        for at in back:
            insort(self._of_side.setdefault(_side_of(self._messages[at]), []), at)
        again = [self._messages[at] for at in back]
        del self._messages[messages:], self._drops[drops:]
        return lost, again


def _side_of(message: MessageData) -> Side:
    header = message.broker
    assert header is not None, "it was made with one"
    return header.conversation, header.from_initiator


class Savepoint(Struct):
    """A unit as it was. sends: where they had come to. undo: how many changes of groups it had
    made. before: as they were, the changes of endpoints that came to be since, and not since a
    later savepoint; None: there was no change of that endpoint.
    """

    unit: UnitMark
    sends: tuple[int, int]
    undo: int
    before: dict[bytes, EndpointChange | None]


class BrokerWork:
    """The conversations of one unit.

    changes: what it does to endpoints, by handle; change() is what adds to them. sends: what it
    sends. received: the queues it has received from. locked: the groups it has locked. undo: what
    takes back what it did to groups. savepoints: the last one is the last. waits: its verbs that
    wait, and some that did. on_commit(qm, work, unit, now_ms): returns what to record before a unit
    that commits, and what ends this work and returns what to record behind. on_backout(qm, work,
    unit id, now_ms): ends it with a unit that is rolled back, and returns what to record.
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
        self.sends = Sends()
        self.received: dict[str, BrokerQueue] = {}
        self.locked: list[tuple[BrokerQueue, ConversationGroup]] = []
        self.undo: list[Callable[[], None]] = []
        self.savepoints: dict[str, Savepoint] = {}
        self.waits: list[Waiter] = []

    def change(self, handle: bytes, begun: ConversationSet | None = None) -> EndpointChange:
        """Return what it does to an endpoint, to be added to. begun: it begins the endpoint."""
        known = self.changes.get(handle)
        if self.savepoints:
            before = self.savepoints[next(reversed(self.savepoints))].before
            if handle not in before:
                before[handle] = structs.replace(known) if known is not None else None
        if known is None:
            known = self.changes[handle] = EndpointChange(begun)
        return known

    def save(self, name: str, mark: UnitMark) -> None:
        """Note a savepoint, behind all others. mark: of the unit."""
        self._forget(name)
        self.savepoints[name] = Savepoint(mark, self.sends.mark(), len(self.undo), {})

    def _forget(self, name: str) -> None:
        """Forget a savepoint; what was noted since then is of the one before it."""
        if name not in self.savepoints:
            return
        names = list(self.savepoints)
        at, forgotten = names.index(name), self.savepoints.pop(name)
        if at > 0:
            earlier = self.savepoints[names[at - 1]].before
            for handle, change in forgotten.before.items():
                earlier.setdefault(handle, change)

    def return_to(self, name: str) -> tuple[list[MessageData], list[MessageData]]:
        """Forget what was done after a savepoint, also later savepoints.

        Returns the messages that are not sent after all, and those that are sent again.
        """
        savepoint = self.savepoints[name]
        self.take_back(savepoint.undo)
        while True:
            last = next(reversed(self.savepoints))
            self._restore(self.savepoints[last].before)
            if last == name:
                break
            self.savepoints.popitem()
        savepoint.before = {}
        return self.sends.return_to(savepoint.sends)

    def _restore(self, before: dict[bytes, EndpointChange | None]) -> None:
        for handle, change in before.items():
            if change is not None:
                self.changes[handle] = change
            else:
                self.changes.pop(handle, None)

    def list_begun(self) -> Iterator[ConversationSet]:
        """Iterate over the endpoints that the unit has begun."""
        return (one.begun for one in self.changes.values() if one.begun is not None)

    def take_back(self, count: int = 0) -> None:
        """Take back what was done to groups, but for the first so many changes."""
        while len(self.undo) > count:
            self.undo.pop()()
