"""What a unit does to conversations: it takes effect when the unit commits.

No other unit can change an endpoint meanwhile, because the unit has its group locked. What
the far side sends arrives all the same, so that a unit notes of an endpoint what its own side has
changed, and nothing else. This module does not know what a verb means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import ConversationSet, Record
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.conversations import ConversationGroup
from adapter.core.model.waiters import Waiter


class Savepoint(Struct):
    """How much a unit had done: the lengths of its lists, and its endpoints as they were."""

    puts: int
    gets: int
    sends: int
    undo: int
    states: dict[bytes, ConversationSet]


class BrokerWork:
    """The conversations of one unit.

    states: endpoints that the unit has begun or changed, by handle, as they will be. sends: what it
    sends, in order. received: the queues it has received from. locked: the groups it has locked.
    undo: what takes back what it did to groups. cleaned: endpoints that it ends with cleanup.
    waits: its verbs that wait, and some that did. on_commit(qm, work, unit, now_ms): returns what
    to record before a unit that commits, and what ends this work and returns what to record behind.
    on_backout(qm, work, unit id, now_ms): ends it with a unit that is rolled back, and returns what
    to record.
    """

    __slots__ = (
        "cleaned",
        "locked",
        "on_backout",
        "on_commit",
        "received",
        "savepoints",
        "sends",
        "states",
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
        self.states: dict[bytes, ConversationSet] = {}
        self.sends: list[MessageData] = []
        self.received: dict[str, BrokerQueue] = {}
        self.locked: list[tuple[BrokerQueue, ConversationGroup]] = []
        self.undo: list[Callable[[], None]] = []
        self.cleaned: set[bytes] = set()
        self.savepoints: dict[str, Savepoint] = {}
        self.waits: list[Waiter] = []

    def save(self, name: str, puts: int, gets: int) -> None:
        """Note a savepoint. puts, gets: how many the unit holds."""
        states = {handle: structs.replace(state) for handle, state in self.states.items()}
        lengths = puts, gets, len(self.sends), len(self.undo)
        self.savepoints[name] = Savepoint(*lengths, states)

    def return_to(self, savepoint: Savepoint) -> None:
        """Forget what was done after a savepoint, also later savepoints."""
        self.take_back(savepoint.undo)
        del self.sends[savepoint.sends :]
        states = savepoint.states.items()
        self.states = {handle: structs.replace(state) for handle, state in states}
        self.cleaned &= {handle for handle, state in self.states.items() if state.is_ended}
        self.savepoints = {
            name: one
            for name, one in self.savepoints.items()
            if one.undo <= savepoint.undo
            and one.sends <= savepoint.sends
            and one.gets <= savepoint.gets
        }

    def take_back(self, count: int = 0) -> None:
        """Take back what was done to groups, but for the first so many changes."""
        while len(self.undo) > count:
            self.undo.pop()()
