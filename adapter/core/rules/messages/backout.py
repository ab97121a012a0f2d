"""Backout threshold: where a message goes that came back as often as its queue allows.

backout_action says who moves it. PROGRAM, as on MQ: the program that gets it;
of durable consumers the queue manager, for they get no single messages. MOVE: the queue manager, in
the entry that records the backout, whether a program asked for that backout, a connection was lost,
or a batch was returned. Counts that a crash has raised (harden_get_backout) are looked at when the
queue manager is back, and what is not in memory when it is read: before a program gets it.

It goes to the backout_requeue_queue, with properties that say why; if that is not there, is the
queue itself, or cannot take it (full, inhibited, shorter messages), to the dead-letter queue, under
a header with MQRC_BACKOUT_THRESHOLD_REACHED. If neither takes it, it stays: it is given to gets
again, and the next backout tries again. An event says what became of it. The segments of one
message go together. A message keeps its id, its put time and its expiry.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import msgspec

from adapter.core.contract import backout
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised, Record
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import weight
from adapter.core.model.groups import is_segment
from adapter.core.model.manager import QueueManager
from adapter.core.model.moves import MoveDue
from adapter.core.model.queue import LocalQueue
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages.plan import Plan, dead_letter_queue
from adapter.core.rules.messages.unit import Gets
from adapter.core.rules.network import routes
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.step_room import StepRoom


def is_due(queue: LocalQueue, stored: Stored) -> bool:
    """Whether a message came back as often as its queue allows."""
    return 0 < queue.attributes.backout_threshold <= stored.backout_count


def note_restart(qm: QueueManager, now_ms: int) -> None:
    """Note what a crash has left on queues that had come back too often."""
    for queue in qm.queues.values():
        if not queue.moves_backouts:
            continue
        qm.note_backouts(
            queue, [one.place for one in queue.in_memory() if is_due(queue, one)], now_ms
        )
        threshold = queue.attributes.backout_threshold
        for lane in queue.lanes:
            lane.note_returned(0, lane.next_seq, threshold, reports=False)
        qm.note_loaded(queue, [], now_ms)


def decide(qm: QueueManager, due: MoveDue) -> list[Record]:
    """Say what becomes of messages that were noted, as far as they are still there."""
    queue = due.queue
    if queue.is_deleted or not queue.moves_backouts:
        return []
    threshold = queue.attributes.backout_threshold
    for span in due.spans:
        queue.lanes[span.lane].note_returned(span.first, span.last, threshold, reports=True)
    reported = due.back | {place for place in due.places if _is_reported(queue, place)}
    there = [stored for place in due.places if (stored := queue.stored.get(place)) is not None]
    found = [
        one
        for one in there
        if is_due(queue, one) and not one.locked and not matching.is_over(one, due.now_ms)
    ]
    records = move(qm, queue, found, due.now_ms, reported)
    if not due.back:
        _want_pages(qm, queue)
    return records


def _is_reported(queue: LocalQueue, place: Place) -> bool:
    return not place[2] and place[1] in queue.lanes[-place[0]].to_report


def _want_pages(qm: QueueManager, queue: LocalQueue) -> None:
    """Ask for the next page of each lane that has a message to be moved, of which none has been
    read for it; the others follow it.

    Nothing is read to be moved while no queue has room, but for what an event is to be about.
    """
    has_room = _has_room(qm, queue)
    for lane in queue.lanes:
        if not has_room:
            lane.to_move = Ranges(lane.to_report.spans())
        seq = lane.next_to_move()
        if seq is not None:
            qm.want_page(PageNeeded(queue.name, lane.number, seq))


def _has_room(qm: QueueManager, queue: LocalQueue) -> bool:
    """Whether the backout queue or the dead-letter queue might take a message."""
    name = queue.attributes.backout_requeue_queue
    targets = (routes.find_local(qm, name).queue if name else None, dead_letter_queue(qm))
    return any(
        one is not None
        and one is not queue
        and not one.attributes.inhibit_put
        and one.taken_room < one.attributes.max_depth
        for one in targets
    )


def move(
    qm: QueueManager,
    queue: LocalQueue,
    found: list[Stored],
    now_ms: int,
    reported: frozenset[Place],
) -> list[Record]:
    """Move messages to where there is room for them; those that no queue takes stay.

    What is more than one record moves is noted, to be moved next. reported: of which an event says
    that they stay.
    """
    plan, room = Plan(qm, now_ms), StepRoom(qm.limits.unit_messages)
    gets: Gets = []
    parts = list(_messages(found, qm.limits.unit_bytes))
    for at, message in enumerate(parts):
        size = sum(weight(part.message) for part in message)
        if gets and not room.has(size, len(message)):
            left = [part.place for one in parts[at:] for part in one]
            due = MoveDue(queue, left, now_ms, [], reported.intersection(left))
            qm.step.moves_due.append(due)
            break
        room.take(size, len(message))
        if _plan_move(plan, queue, message, reported):
            gets += [(queue, part) for part in message]
    return plan.record(verb="commit", gets=gets)


def _messages(found: list[Stored], most: int) -> Iterator[list[Stored]]:
    """Put the segments together that are of one message, and each other message by itself; so also
    the segments of more than most bytes, which no entry takes together.
    """

    def of(one: Stored) -> tuple[bytes, int]:
        message = one.message
        return (message.group_id, message.group_seq) if is_segment(message) else (b"", id(one))

    for _, group in groupby(found, of):
        parts = list(group)
        if len(parts) > 1 and sum(weight(part.message) for part in parts) > most:
            for part in parts:
                yield [part]
        else:
            yield parts


def _plan_move(
    plan: Plan, queue: LocalQueue, parts: list[Stored], reported: frozenset[Place]
) -> bool:
    """Plan the move of a message's parts, and report it. Returns whether a queue takes them."""
    moved_to, reason = _offer(plan, queue, [_explain(queue, part) for part in parts])
    threshold = queue.attributes.backout_threshold
    for part in parts:
        if moved_to or (part.backout_count == threshold and part.place in reported):
            plan.records.append(_event(queue, part, moved_to, reason, plan.now_ms))
    return moved_to != ""


def _offer(plan: Plan, queue: LocalQueue, messages: list[MessageData]) -> tuple[str, Reason | None]:
    """Plan the puts of a message's parts to the backout queue, or to the dead-letter queue.

    Returns the name of the queue that takes them, or "", and why the backout queue does not.
    """
    reason: Reason | None = None
    name = queue.attributes.backout_requeue_queue
    target = routes.find_local(plan.qm, name)
    if name and target.destination is not queue:
        reason = target.reason or plan.offer(target.queue, messages)
        if target.queue is not None and reason is None:
            return target.queue.name, None
    dead = dead_letter_queue(plan.qm)
    if not queue.moves_backouts or dead is None or dead is queue:
        return "", reason
    obstacle = plan.bury(messages, queue.name, backout.MQRC_BACKOUT_THRESHOLD_REACHED)
    return ("", reason or obstacle) if obstacle is not None else (dead.name, reason)


def _explain(queue: LocalQueue, stored: Stored) -> MessageData:
    message = stored.message
    told = backout.explain(message.properties, queue.name, stored.backout_count)
    return msgspec.structs.replace(message, properties=told)


def _event(
    queue: LocalQueue, stored: Stored, target: str, reason: Reason | None, now_ms: int
) -> EventRaised:
    """Report where a message went, or that it stays; reason: why not to the backout queue."""
    details = {
        "message_id": stored.message.message_id.hex(),
        "backout_count": str(stored.backout_count),
        "moved_to": target,
        "reason": str(code_of(reason)) if reason is not None else "",
    }
    return EventRaised(backout.THRESHOLD_REACHED, queue.name, now_ms, details)
