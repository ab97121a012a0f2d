"""What has happened since the process started, counted for operators: soft.

Nothing is decided by it but what operators are told. Replay is not counted. What was decided and is
then found not to have become durable stays counted: a total never goes back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from adapter.core.contract import records as r
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.model.moment import Moment


class QueueTally(Struct):
    """Messages of one queue: put, got for good, returned by a backout, gone without a get."""

    put: int = 0
    got: int = 0
    returned: int = 0
    discarded: int = 0


class QueueTimes(Struct):
    """When a queue was last put to and got from, 0: not since the process started; and what its
    totals were when they were last reset.
    """

    last_put_ms: int = 0
    last_got_ms: int = 0
    reset_ms: int = 0
    put_before: int = 0
    got_before: int = 0


class Told(Struct):
    """What the last statistics of a queue were made of, and when: its totals, and what it held."""

    totals: QueueTally
    held: tuple[int, ...]
    elapsed_ms: int


class Round(Struct):
    """Statistics of all queues that are made, or come next. left: the queues not looked at yet.

    since: when the round before began; None: none are made. began: when this one began. events: how
    many it has had.
    """

    since: Moment | None = None
    began: Moment | None = None
    left: list[str] = []
    events: int = 0


class Tally:
    """The totals of one queue manager. commits and backouts count the units of clients."""

    def __init__(self) -> None:
        self.commits = 0
        self.backouts = 0
        self.told: dict[str, Told] = {}
        """By queue."""
        self.round = Round()
        self.started_ms = 0
        self.now_ms = 0
        """When what is counted now happens."""
        self._queues: defaultdict[str, QueueTally] = defaultdict(QueueTally)
        self._times: defaultdict[str, QueueTimes] = defaultdict(QueueTimes)

    def of(self, queue: str) -> QueueTally:
        """Return the totals of a queue."""
        return self._queues[queue]

    def times_of(self, queue: str) -> QueueTimes:
        """Return when things last happened to a queue."""
        return self._times[queue]

    def reset(self, queue: str, now_ms: int) -> None:
        """Count puts and gets of a queue from now on."""
        totals, times = self.of(queue), self.times_of(queue)
        times.put_before, times.got_before, times.reset_ms = totals.put, totals.got, now_ms

    def by_queue(self) -> Iterable[tuple[str, QueueTally]]:
        """Return the totals of all queues that have any."""
        return self._queues.items()

    def count(self, record: r.Record) -> None:
        """Count what a record says happened."""
        if isinstance(record, UnitCommitted):  # nearly always
            self.committed(record)
            return
        count = COUNT.get(type(record))
        if count is not None:
            count(self, record)

    def committed(self, record: UnitCommitted) -> None:
        """Count a unit, once if it is two records, and its messages."""
        if record.verb == "commit" and record.outcome is not None:
            self.commits += 1
        name = ""  # of the message before: most units are of one queue
        for put in record.puts:
            if put.queue != name:
                name = put.queue
                totals = self.of(name)
                self.times_of(name).last_put_ms = self.now_ms
            totals.put += 1
        name = ""
        for taken in record.gets:
            if taken.queue != name:
                name = taken.queue
                totals = self.of(name)
                self.times_of(name).last_got_ms = self.now_ms
            totals.got += 1

    def backed_out(self, queues: Iterable[str]) -> None:
        """Count a unit that ended without effect, and the messages that go back to these queues."""
        self.backouts += 1
        for queue in queues:
            self.of(queue).returned += 1

    def discarded(self, record: r.MessagesDiscarded) -> None:
        """Count messages that were removed without a get."""
        for taken in record.places:
            self.of(taken.queue).discarded += 1

    def purged(self, record: r.QueuePurged) -> None:
        """Count the persistent messages that a purge discarded."""
        self.of(record.name).discarded += record.count

    def consumed(self, record: r.BatchesConsumed) -> None:
        """Count the messages of batches."""
        self.of(record.queue).got += record.count
        self.times_of(record.queue).last_got_ms = self.now_ms

    def given_back(self, record: r.BatchReturned) -> None:
        """Count the messages of a batch that go back."""
        self.of(record.queue).returned += record.count

    def expired_while_delayed(self, record: r.DelayedExpired) -> None:
        """Count messages that expired before they were due."""
        self.of(record.queue).discarded += len(record.places)

    def deleted(self, record: r.QueueDeleted) -> None:
        """Forget a queue's totals: another of its name begins anew."""
        self._queues.pop(record.name, None)
        self._times.pop(record.name, None)
        self.told.pop(record.name, None)


COUNT: Final[dict[type, Callable[[Tally, Any], None]]] = {
    r.MessagesDiscarded: Tally.discarded,
    r.QueuePurged: Tally.purged,
    r.QueueDeleted: Tally.deleted,
    r.BatchesConsumed: Tally.consumed,
    r.BatchReturned: Tally.given_back,
    r.DelayedExpired: Tally.expired_while_delayed,
}
