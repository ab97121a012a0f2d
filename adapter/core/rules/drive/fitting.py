"""Whether a record fits the state that it is replayed on.

A ledger is whole, in order and of its owners alone: the validity rule and the seals see to that. So
a record that does not fit was written by a queue manager whose state was another one than its own
ledger's: by an error of that release. A later release must start all the same, as far as nothing is
lost by it:

- *Gone is gone.* A record by which something ends, leaves or changes has nothing to do if that is
  not there: a queue deleted twice, a message got that is not on its queue, an attribute of an
  object that is gone, the outcome of a command of a session that has expired. It is void, or what
  of it does not fit is.
- *What came to be must have a place.* A message that was put on a queue that is not there, or to a
  place that another message was given before, is one that a program was told is safe. To leave it
  out would be to lose it, so the ledger is not readable: UnfitError. Another release may read it,
  or a backup is restored.

Live this is not asked: there a record that does not fit is an error, and ends the term.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract import records as r
from adapter.core.contract.unit_records import OutcomeOf, Taken, UnitCommitted
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue


class UnfitError(ValueError):
    """A record says that something came to be which has no place."""


def fit(qm: QueueManager, record: r.Record) -> tuple[r.Record | None, str]:
    """Return what of a record is to be applied, and what does not fit; "" if all does.

    Raises UnfitError.
    """
    if type(record) is UnitCommitted:  # nearly always
        return _unit(qm, record)
    fits = FITS.get(type(record))
    if fits is not None and not fits(qm, record):
        return None, "it is about something that is not there"
    places = PLACES.get(type(record))
    if places is None:
        return record, ""
    before: list[Taken] = getattr(record, places)
    there = [taken for taken in before if _has(qm, taken)]
    outcome: OutcomeOf | None = getattr(record, "outcome", None)
    if outcome is not None and outcome.session not in qm.sessions:
        setattr(record, "outcome", None)  # noqa: B010 -- of those that have one
        return _only(record, places, there), "its session is not there"
    if len(there) == len(before):
        return record, ""
    return _only(record, places, there), f"{len(before) - len(there)} messages are not there"


def _only(record: r.Record, places: str, there: list[Taken]) -> r.Record:
    setattr(record, places, there)
    return record


def _unit(qm: QueueManager, record: UnitCommitted) -> tuple[r.Record | None, str]:
    why = ""
    if record.puts:
        _check_puts(qm, record)
    outcome = record.outcome
    if outcome is not None and outcome.session not in qm.sessions:
        record.outcome, outcome, why = None, None, "its session is not there"
    gets = record.gets
    there = [taken for taken in gets if _has(qm, taken)] if gets else gets
    if len(there) == len(gets):
        return record, why
    why = f"{len(gets) - len(there)} messages that it got are not there"
    record.gets = there
    if record.verb == "get" and not there:  # nothing can be shown again of what was got
        return (r.OutcomeRecorded(outcome, 0) if outcome is not None else None), why
    return record, why


def _check_puts(qm: QueueManager, record: UnitCommitted) -> None:
    given: dict[tuple[str, int], int] = {}
    for placed in record.puts:
        queue = qm.queues.get(placed.queue)
        if queue is None:
            raise UnfitError(f"a message was put on queue {placed.queue}, which is not there")
        lane = placed.queue, placed.lane
        next_seq = given.get(lane, queue.lanes[placed.lane].next_seq)
        if placed.seq < next_seq:
            raise UnfitError(
                f"message {placed.seq} of lane {placed.lane} of queue {placed.queue} was put twice"
            )
        given[lane] = placed.seq + 1
        if record.gets and record.gets[0].queue == DELAYED_QUEUE:
            continue
        if placed.message.destination and placed.message.destination not in qm.queues:
            name = placed.message.destination
            raise UnfitError(f"a delayed message is for queue {name}, which is not there")


def _has(qm: QueueManager, taken: Taken) -> bool:
    queue = qm.queues.get(taken.queue)
    if queue is None:
        return False
    place = (-taken.lane, taken.seq, taken.n)
    return place in queue.stored or (not taken.n and taken.seq in queue.lanes[taken.lane].paged)


def _queue(qm: QueueManager, name: str, kind: type[LocalQueue] = LocalQueue) -> Any:
    queue = qm.queues.get(name)
    return queue if isinstance(queue, kind) else None


def _batch(qm: QueueManager, record: Any) -> bool:
    """Whether a consumer has the batch."""
    queue = _queue(qm, record.queue)
    consumer = queue.consumers.get(record.consumer) if queue is not None else None
    return consumer is not None and record.batch in consumer.batches


def _batches(qm: QueueManager, record: r.BatchesConsumed) -> bool:
    queue = _queue(qm, record.queue)
    consumer = queue.consumers.get(record.consumer) if queue is not None else None
    if consumer is None or record.through <= consumer.consumed:
        return False
    return all(
        number in consumer.batches for number in range(consumer.consumed + 1, record.through + 1)
    )


def _claimed(qm: QueueManager, record: r.BatchClaimed) -> bool:
    """Whether there are the consumer and all the messages that it was given."""
    queue = _queue(qm, record.queue)
    if queue is None or record.consumer not in queue.consumers:
        return False
    return all(
        _has(qm, Taken(record.queue, span.lane, seq, 0, span.priority))
        for span in record.spans
        for seq in range(span.first, span.last + 1)
    )


def _consumer(qm: QueueManager, record: r.ConsumerDeleted) -> bool:
    queue = _queue(qm, record.queue)
    return queue is not None and record.consumer in queue.consumers


def _object(qm: QueueManager, record: Any) -> bool:
    return record.kind == "queue_manager" or (record.kind, record.name) in qm.objects


def _session(qm: QueueManager, record: Any) -> bool:
    return record.session in qm.sessions


Fits = Callable[[QueueManager, Any], bool]

FITS: Final[dict[type, Fits]] = {
    r.QueueDefined: lambda qm, record: not _is_defined(qm, record),
    r.QueueAltered: lambda qm, record: record.name in qm.queues,
    r.QueueDeleted: lambda qm, record: record.name in qm.queues,
    r.QueuePurged: lambda qm, record: record.name in qm.queues,
    r.SessionBound: _session,
    r.SessionExpired: _session,
    r.UnitFenced: lambda qm, record: record.unit[:16] in qm.sessions,
    r.OutcomeRecorded: lambda qm, record: record.outcome.session in qm.sessions,
    r.ObjectAltered: _object,
    r.ObjectDeleted: _object,
    r.ConsumerSet: lambda qm, record: record.queue in qm.queues,
    r.BatchClaimed: _claimed,
    r.BatchDelivered: _batch,
    r.BatchReturned: _batch,
    r.BatchesConsumed: _batches,
    r.ConsumerDeleted: _consumer,
    r.DelayedExpired: lambda qm, record: {record.queue, DELAYED_QUEUE} <= qm.queues.keys(),
    r.ConversationSet: lambda qm, record: _queue(qm, record.queue, BrokerQueue) is not None,
    r.ConversationGone: lambda qm, record: record.handle in qm.conversations.endpoints,
    r.ReceiveNoted: lambda qm, record: _queue(qm, record.queue, BrokerQueue) is not None,
    r.FeedMoved: lambda qm, record: record.feed in qm.feeds.by_name,
    r.FeedSet: lambda qm, record: record.feed in qm.feeds.by_name,
}
"""By kind of record: whether there is what it is about. Kinds that need nothing, or are of a
snapshot, are not here.
"""

PLACES: Final[dict[type, str]] = {
    r.BackoutCounted: "gets",
    r.DeliveryCounted: "gets",
    r.MessagesDiscarded: "places",
    r.DelayedExpired: "places",
}
"""The field that names messages, each of which may be there or not."""


def _is_defined(qm: QueueManager, record: r.QueueDefined) -> bool:
    """Whether this is said a second time of the same queue."""
    queue = qm.queues.get(record.name)
    return queue is not None and queue.incarnation >= record.incarnation
