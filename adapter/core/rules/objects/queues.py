"""Objects: defining, altering, deleting, purging and inquiring about queues."""

from __future__ import annotations

from collections.abc import Iterable

from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.attributes.table import without_dates
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract import results
from adapter.core.contract.authorities import QUEUE
from adapter.core.contract.incarnations import (
    AskIncarnations,
    IncarnationState,
    IncarnationStates,
)
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.made_queues import check_queue_room
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.queue_kinds import made_of
from adapter.core.model.undo import Removed
from adapter.core.rules.messages import delays
from adapter.core.rules.messages.unit import discard_records, removal_of, take, taken_from
from adapter.core.rules.primitives import defaults, naming, staging, trigger_events, waiting
from adapter.core.rules.primitives.decision import Decision, done, handle_of, queue_of

SET_ATTRIBUTES = frozenset(name for name, row in QUEUE_ATTRIBUTES.items() if row.attribute.by_set)
"""What MQSET may change; the rest takes ALTER."""
A_QUEUE = "a queue"


def decide_define(qm: QueueManager, request: c.Request, command: c.DefineQueue) -> Decision:
    """DEFINE QLOCAL; with replace an existing queue is altered, its messages stay."""
    if command.name in qm.queues and command.replace:
        return decide_alter(qm, request, c.AlterQueue(command.name, command.attributes))
    if command.name in qm.queues:
        raise Refusal(Reason.QUEUE_EXISTS, command.name)
    kind = naming.kind_of(qm, command.name)
    if kind is not None:
        raise Refusal(Reason.OBJECT_EXISTS, command.name, f"as {kind}")
    naming.check_name(command.name)
    check_queue_room(qm, command.name)
    naming.check_attributes(QUEUE_ATTRIBUTES, A_QUEUE, command.name, command.attributes)
    incarnation = naming.incarnation_of(qm, command.name)
    attributes = defaults.with_defaults(qm, "queue", command.attributes)
    attributes |= {"created_ms": request.now_ms, "altered_ms": request.now_ms}
    record = r.QueueDefined(command.name, incarnation, attributes)
    return done(qm, request, [record], 0)


def decide_alter(qm: QueueManager, request: c.Request, command: c.AlterQueue) -> Decision:
    """ALTER QLOCAL. Altering PRIORITY/FIFO moves no message that is on the queue."""
    queue = queue_of(qm, command.name)
    staging.check_own(queue.name)
    naming.check_attributes(QUEUE_ATTRIBUTES, A_QUEUE, command.name, command.attributes)
    replies = (
        waiting.refuse_all(qm, queue, Reason.GET_INHIBITED)
        if command.attributes.get("inhibit_get")
        else []
    )
    trigger_events.note_change(qm, queue, command.attributes, request.now_ms)
    attributes = command.attributes | {"altered_ms": request.now_ms}
    record = r.QueueAltered(command.name, attributes, logged=not queue.is_temporary)
    return done(qm, request, [record], 0, replies)


def decide_set(qm: QueueManager, request: c.Request, command: c.SetAttributes) -> Decision:
    """MQSET through a handle."""
    handle = handle_of(qm, request, command.handle, c.SET, Reason.NOT_OPEN_FOR_SET)
    other = sorted(set(command.attributes) - SET_ATTRIBUTES)
    if other:
        raise Refusal(
            Reason.ATTRIBUTE_ERROR,
            handle.queue.name,
            f"{other[0]} is not changed by set; alter the queue",
        )
    return decide_alter(qm, request, c.AlterQueue(handle.queue.name, command.attributes))


def decide_delete(qm: QueueManager, request: c.Request, command: c.DeleteQueue) -> Decision:
    """DELETE QLOCAL: not while it is open or units hold messages of it."""
    queue = queue_of(qm, command.name)
    staging.check_own(queue.name)
    if queue.opens.handles or queue.uncommitted_puts or queue.locked_count:
        raise Refusal(Reason.QUEUE_IN_USE, queue.name, "it is open, or units in flight hold it")
    count = queue.available_count + queue.claimed_count + queue.delayed
    if count and not command.purge:
        text = f"{naming.on_it(count)}; purge deletes {'it' if count == 1 else 'them'} too"
        raise Refusal(Reason.QUEUE_NOT_EMPTY, queue.name, text)
    return done(qm, request, delays.deletion(qm, queue), count)


def decide_purge(qm: QueueManager, request: c.Request, command: c.PurgeQueue) -> Decision:
    """CLEAR QLOCAL: discard every message that no unit holds; the answer says how many.

    Delayed messages go with them.
    """
    queue = queue_of(qm, command.name)
    staging.check_own(queue.name)
    soft = [taken_from(queue, stored) for stored in queue.in_memory() if stored.place[2]]
    held = [one for one in queue.stored.values() if one.locked and not one.place[2]]
    soft += delays.soft_places(qm, queue)
    count = queue.available_count + queue.delayed
    records: list[r.Record] = discard_records(soft, "purged")
    if count > len(soft):
        kept = [taken_from(queue, stored) for stored in held]
        records.append(r.QueuePurged(queue.name, kept, count - len(soft)))
    return done(qm, request, records, count)


def decide_inquire(qm: QueueManager, request: c.Request, command: c.Inquire) -> Decision:
    """INQUIRE_Q: attributes of the queues that fit the pattern."""
    found = [
        results.QueueDescription(
            queue.name,
            queue.incarnation,
            without_dates(queue.attributes),
            queue.attributes.created_ms,
            queue.attributes.altered_ms,
        )
        for queue in naming.fitting_queues(qm, command.pattern, command.system)
    ]
    return Decision([], results.Descriptions(found), qm.entry_n)


def decide_status(qm: QueueManager, request: c.Request, command: c.AskStatus) -> Decision:
    """INQUIRE_Q_STATUS: figures of the queues that fit the pattern."""
    fitting = naming.fitting_queues(qm, command.pattern, command.system)
    found = statuses(qm, fitting, request.now_ms)
    for queue in fitting if command.reset else ():
        qm.tally.reset(queue.name, request.now_ms)
        queue.high_depth = queue.depth
    return Decision([], results.Statuses(found), qm.entry_n)


def decide_incarnations(qm: QueueManager, request: c.Request, command: AskIncarnations) -> Decision:
    """Say of queues, also of those that no list shows, whether they are there.

    That a queue was deleted follows from its incarnation alone, which a later one of its name has
    passed, never from its being seen nowhere: who deletes what it had loses nothing.
    """
    states = [_state_of(qm, name, incarnation) for name, incarnation in command.queues]
    return Decision([], IncarnationStates(states), qm.entry_n)


def _state_of(qm: QueueManager, name: str, incarnation: int) -> IncarnationState:
    queue = qm.queues.get(name)
    if queue is not None and queue.incarnation == incarnation:
        return "there"
    if incarnation < qm.numbers.incarnations.get(name, 0):
        return "deleted"
    return "unknown"


def statuses(
    qm: QueueManager, queues: Iterable[LocalQueue], now_ms: int
) -> list[results.QueueStatus]:
    """Return the figures of these queues."""
    return [_status(qm, queue, now_ms) for queue in queues]


def _status(qm: QueueManager, queue: LocalQueue, now_ms: int) -> results.QueueStatus:
    tally, times = qm.tally.of(queue.name), qm.tally.times_of(queue.name)
    heads = [put_ms for lane in queue.lanes if (put_ms := lane.oldest_put_ms()) is not None]
    age_s = max(0, now_ms - min(heads)) / 1000 if heads else 0.0
    return results.QueueStatus(
        queue.name,
        queue.depth,
        queue.opens.input,
        queue.opens.output,
        queue.uncommitted_puts + queue.locked_count,
        queue.uncommitted_puts,
        queue.locked_count,
        qm.waiters.count(queue),
        age_s,
        queue.depth_by_priority,
        tally.put,
        tally.got,
        tally.returned,
        tally.discarded,
        queue.claimed_count,
        times.last_put_ms,
        times.last_got_ms,
        queue.high_depth,
        tally.put - times.put_before,
        tally.got - times.got_before,
        max(0, now_ms - (times.reset_ms or qm.tally.started_ms or now_ms)) / 1000,
        queue.delayed,
    )


def apply_queue_defined(qm: QueueManager, record: r.QueueDefined) -> None:
    """Make the queue."""
    queue = qm.step.made.pop(record.name, None)
    if queue is None:
        queue = made_of(record.name, record.incarnation, record.attributes)
    qm.queues[record.name] = queue
    qm.names_initiation(queue)
    qm.share_with(queue)
    qm.note_usage(queue)
    queue.begin_term(qm.numbers.first_n)
    if record.logged:
        qm.numbers.incarnations[record.name] = record.incarnation + 1


def apply_queue_altered(qm: QueueManager, record: r.QueueAltered) -> None:
    """Change the attributes."""
    queue = qm.queues[record.name]
    qm.names_no_initiation(queue)
    queue.alter(record.attributes)
    qm.names_initiation(queue)
    qm.note_usage(queue)


def apply_queue_deleted(qm: QueueManager, record: r.QueueDeleted) -> Removed:
    """Forget the queue and what was on it; returns what of that is in no ledger.

    A queue that is not there stays so: ledgers hold deletions of temporary queues, and not their
    definitions. A queue with conversations stays: none is dropped, but earlier releases dropped
    queues with conversations that their side had ended, which can only end if the queue is there.
    """
    if qm.conversations.of_queue[record.name]:
        return []
    queue = qm.queues.pop(record.name, None)
    if queue is None:
        return []
    queue.is_deleted = True
    qm.share_no_more(queue)
    if queue.suspended:
        qm.step.asked_again.append(queue)
    delays.clear(qm, queue)
    qm.names_no_initiation(queue)
    qm.note_usage(queue)
    qm.authorities.forget(QUEUE, record.name, logged=record.logged)
    return [(queue.name, stored) for stored in queue.stored.values() if stored.place[2]]


def apply_queue_purged(qm: QueueManager, record: r.QueuePurged) -> None:
    """Remove the messages that no unit held."""
    kept = [((-t.lane, t.seq, t.n), t.priority) for t in record.places]
    qm.queues[record.name].clear(kept)
    delays.clear(qm, qm.queues[record.name])


def apply_messages_discarded(qm: QueueManager, record: r.MessagesDiscarded) -> Removed | None:
    """Remove messages that no program got; returns them, if they are in no ledger."""
    gone = take(qm, record.places)
    for stored in gone:
        if stored.message.destination:
            qm.queues[stored.message.destination].delayed -= 1
    return None if record.logged else removal_of(record.places, gone)


def apply_outcome_recorded(qm: QueueManager, record: r.OutcomeRecorded) -> None:
    """Keep the outcome of a command that moved no message."""
    session = qm.sessions[record.outcome.session]
    session.told(record.outcome.seen)
    session.record(record.outcome.number, results.Done(record.count), written=True)


def apply_event_raised(qm: QueueManager, record: r.EventRaised) -> None:
    """Remember that a queue was reported full, so that it is reported once."""
    queue = qm.queues.get(record.name)
    if queue is not None and record.kind == "queue_full":
        queue.report_full()
