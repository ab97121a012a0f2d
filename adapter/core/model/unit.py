"""A unit of work in flight: soft state, gone with the owner.

It holds uncommitted puts in the order they were made, and locks the messages it got. A unit ends
exactly once: by commit or by backout; then it is no longer known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adapter.core.attributes.system import RETAINED_QUEUE
from adapter.core.contract import weights
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.results import Refused
from adapter.core.contract.stored import Stored
from adapter.core.model.moment import Moment
from adapter.core.model.msmq_get import MsmqGet
from adapter.core.model.queue import LocalQueue
from adapter.core.model.unit_mark import UnitMark

if TYPE_CHECKING:
    from adapter.core.model.broker_unit import BrokerWork
    from adapter.core.model.trigger_put import TriggerPut


class HeldBytes:
    """How many bytes of bodies all units of a queue manager hold, put and got."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0


class UnitOfWork:
    """What one client has put and got since the unit's first verb.

    weight: bounds the bytes of its puts in an entry. held_bytes: of bodies, put and got.
    holds_returned: among what it got is a message that came back before. counted: places of what
    it got whose delivery was counted in advance, by queue. since: when it was begun. restore:
    what is to be done if it is backed out, by handle and kind; where handles were in groups.
    triggers: trigger messages that its puts caused, and that cannot be got before it ends. broker:
    what it does to conversations of Service Broker, if it does anything. lifetime: of the first
    message of MSMQ that it sent, which all have: when they expire (0: never), and the interval.
    retains: it puts retained publications. ahead: no program was shown what it got. refusal: of the
    first deferred put that was refused. received: what it does with the messages of MSMQ that it
    got.
    puts and gets are only appended to, or replaced by other lists: see UnitMark.
    """

    __slots__ = (
        "_held",
        "ahead",
        "broker",
        "connection",
        "counted",
        "gets",
        "held_bytes",
        "holds_returned",
        "ident",
        "lifetime",
        "puts",
        "received",
        "refusal",
        "restore",
        "retains",
        "since",
        "triggers",
        "weight",
    )

    def __init__(self, ident: bytes, connection: int, since: Moment, held: HeldBytes) -> None:
        self.ident = ident
        self._held = held
        self.connection = connection
        self.since = since
        self.puts: list[tuple[LocalQueue, MessageData]] = []
        self.gets: list[tuple[LocalQueue, Stored]] = []
        self.triggers: list[TriggerPut] = []
        self.weight = 0
        self.held_bytes = 0
        self.holds_returned = False
        self.counted: set[tuple[str, Place]] = set()
        self.lifetime: tuple[int, int] | None = None
        self.restore: dict[tuple[object, str], Callable[[], None]] = {}
        self.broker: BrokerWork | None = None
        self.ahead = False
        self.retains = False
        self.refusal: Refused | None = None
        self.received: dict[Stored, MsmqGet] = {}

    def __len__(self) -> int:
        sends = 0 if self.broker is None else len(self.broker.sends)
        return len(self.puts) + len(self.gets) + sends

    def hold_put(self, queue: LocalQueue, message: MessageData, weight: int) -> None:
        """Keep a put until the unit ends."""
        self.puts.append((queue, message))
        self.weight += weight
        self._hold(weights.size_of(message))
        queue.hold_put(message)

    def hold_puts(self, queue: LocalQueue, messages: list[MessageData], weight: int) -> None:
        """Keep puts to one queue, of so much weight together, until the unit ends."""
        self.puts += [(queue, message) for message in messages]
        self.weight += weight
        self._hold(sum([len(message.body) for message in messages]))
        for message in messages:
            queue.hold_put(message)

    def drop_put(self, queue: LocalQueue, message: MessageData) -> None:
        """Let go of one put: it is not to take effect."""
        self.puts = [put for put in self.puts if put[1] is not message]
        self._drop([message])
        queue.drop_put(message)

    def drop_puts(self, is_dropped: Callable[[LocalQueue, MessageData], bool]) -> None:
        """Let go of those puts of which that is said."""
        puts, self.puts = self.puts, []
        for queue, message in puts:
            if is_dropped(queue, message):
                self._drop([message])
                queue.drop_put(message)
            else:
                self.puts.append((queue, message))

    def _drop(self, puts: list[MessageData]) -> None:
        """Stop counting puts."""
        self.weight -= sum([weights.weight(message) for message in puts])
        self._hold(-sum([weights.size_of(message) for message in puts]))

    def _hold(self, size: int) -> None:
        self.held_bytes += size
        self._held.total += size

    def end(self) -> None:
        """Stop counting what the unit holds: it has ended."""
        self._hold(-self.held_bytes)

    def forget(self, queue: LocalQueue) -> None:
        """Let go of what is of a queue that is gone."""
        self._drop([message for of, message in self.puts if of is queue])
        gone = [stored for of, stored in self.gets if of is queue]
        self.puts = [(of, message) for of, message in self.puts if of is not queue]
        self.gets = [(of, stored) for of, stored in self.gets if of is not queue]
        self._hold(-sum(stored.length for stored in gone))
        for stored in gone:
            self.received.pop(stored, None)

    def hold_trigger(self, trigger: TriggerPut) -> None:
        """Keep a trigger message until the unit ends."""
        self.triggers.append(trigger)
        self._hold(len(trigger.message.body))

    def hold_send(self, message: MessageData, weight: int) -> None:
        """Count a message that has been sent, and whose queue is not known yet."""
        self.weight += weight
        self._hold(len(message.body))

    def hold_less(self, messages: list[MessageData], weight: int) -> None:
        """Stop counting messages that were sent, and are not to be sent after all."""
        self.weight -= weight
        self._hold(-sum(len(message.body) for message in messages))

    def settled_puts(self) -> list[tuple[LocalQueue, MessageData]]:
        """Return its puts; of several retained publications of one topic the last alone."""
        if not self.retains:
            return self.puts
        last = {one.correlation_id: one for to, one in self.puts if to.name == RETAINED_QUEUE}
        return [
            (to, one)
            for to, one in self.puts
            if to.name != RETAINED_QUEUE or last[one.correlation_id] is one
        ]

    def mark(self) -> UnitMark:
        """Note what the unit holds now."""
        return UnitMark(self.puts, len(self.puts), self.gets, len(self.gets), self.weight)

    def return_to(
        self, mark: UnitMark, dropped: list[MessageData], again: list[MessageData]
    ) -> list[tuple[LocalQueue, Stored]]:
        """Let go of all that was put and got since, but for what is gone by now; returns what is
        unlocked. dropped, again: messages that are not sent after all, or are sent again.
        """
        known = {id(message) for _, message in mark.puts[: mark.put_count]}
        known |= {id(stored) for _, stored in mark.gets[: mark.get_count]}
        puts, gets = self.puts, self.gets
        self.puts = [put for put in puts if id(put[1]) in known]
        self.gets = [got for got in gets if id(got[1]) in known]
        for queue, message in puts:
            if id(message) not in known:
                self._hold(-weights.size_of(message))
                queue.drop_put(message)
        unlocked = [got for got in gets if id(got[1]) not in known]
        for queue, stored in unlocked:
            self._hold(-stored.length)
            queue.unlock(stored)
            self.received.pop(stored, None)
        self._hold(sum(len(message.body) for message in again))
        self._hold(-sum(len(message.body) for message in dropped))
        self.weight = mark.weight
        return unlocked

    def lock(self, queue: LocalQueue, found: list[Stored]) -> None:
        """Lock messages until the unit ends, given in the order of delivery: one at least."""
        self.gets += [(queue, stored) for stored in found]
        self._hold(sum([stored.length for stored in found]))
        if not self.holds_returned:
            self.holds_returned = any(stored.backout_count > 0 for stored in found)
        queue.lock_all(found)
        if queue.marks is not None:
            for stored in found:
                queue.marks.forget(stored.place)
