"""Feeds: records of a topic are put on a queue, each exactly once, in the order of their partition.

What lies before the position of a partition was put, and is dropped. The rest is put, in one step
with the note of where the partition is read from next; a step has a bounded size, and ends before
the first record that has to wait. A record waits while its queue is full, inhibited or parked, and
others of its partition behind it. What can never be put becomes a dead letter, or waits, as the
feed says. This module does not know how a topic is read, nor what a record looks like.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract.feeds import OFFSET, PARTITION, TOPIC, FedBatch, FedMessage, FeedStart
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised, FeedMoved, FeedSet, Record
from adapter.core.contract.weights import weight
from adapter.core.model.feeds import FeedState
from adapter.core.model.manager import QueueManager
from adapter.core.model.routes import Target
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages import arrival
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.network import routes, topic_attributes
from adapter.core.rules.primitives import staging
from adapter.core.rules.pubsub import publish

BLOCKED = "feed_blocked"
STEP_MESSAGES = 500
STEP_BYTES = 1024 * 1024
"""A step puts no more once it has so much: an entry of the ledger stays short."""
NEXT_STEP = "next step"
"""A record with so many copies that they are put in a step of their own."""
TOO_MANY_COPIES = 2024
"""MQRC_SYNCPOINT_LIMIT_REACHED."""
PASSING = {
    Reason.QUEUE_FULL: "is full",
    Reason.PUT_INHIBITED: "is inhibited for puts",
    Reason.QUEUE_PARKED: "takes no messages while the copying of earlier ones is delayed",
}
"""For which a record waits, whatever the feed says."""


def decide(qm: QueueManager, batch: FedBatch, now_ms: int) -> list[Record]:
    """Put what of a batch is new, as far as it can be put now; see inputs.Fed."""
    state = qm.feeds.of_version(batch.feed, batch.version)
    if state is None or state.topic_id != batch.topic_id:
        return []
    feed = qm.objects[FEED, batch.feed]
    assert isinstance(feed, FeedAttributes)
    position = state.offsets.get(batch.partition, -1)
    if feed.state == "PAUSED" or not batch.start <= position < batch.next:
        return []
    plan = Plan(qm, now_ms)
    target = _find_target(plan, feed)
    until, size, why = batch.next, 0, ""
    for one in batch.messages:
        if one.offset < position:
            continue
        if len(plan.puts) >= STEP_MESSAGES or size > STEP_BYTES:
            until = one.offset
            break
        begin = len(plan.puts)
        why = _plan_put(plan, feed, target, batch, one)
        if why:
            until, why = one.offset, why.removeprefix(NEXT_STEP)
            break
        size += weight(one.message) * max(1, len(plan.puts) - begin)
    records = plan.record(verb="commit")
    if until > position:
        records.append(FeedMoved(batch.feed, batch.topic_id, [batch.partition, until]))
    return records + _note_blocked(state, batch, feed, why, now_ms)


def _find_target(plan: Plan, feed: FeedAttributes) -> Target:
    """Find where a feed puts its messages."""
    if not feed.topic_string:
        return routes.find(plan.qm, feed.queue, "", plan.new_queues)
    topic = topic_attributes.destination(plan.qm, feed.topic_string)
    reason = Reason.PUT_INHIBITED if topic.attributes.inhibit_put else None
    return Target(reason=reason, destination=topic)


def _plan_put(
    plan: Plan, feed: FeedAttributes, to: Target, batch: FedBatch, one: FedMessage
) -> str:
    """Plan the put of a record, or of its dead letter; returns why it waits, or ""."""
    if to.reason in PASSING:
        return f"{_name(feed)} {PASSING[to.reason]}"
    message = structs.replace(one.message, delay_ms=0)
    code = arrival.complete(plan.qm, to, message, plan.now_ms)
    if code:
        message = arrival.as_bytes(plan.qm, message.body, plan.now_ms)
    code = code or one.code
    if not code:
        if one.message.delay_ms and to.destination is not None:
            if DELAYED_QUEUE not in plan.qm.queues:
                return f"{DELAYED_QUEUE} does not exist; the next start defines it"
            message.delay_ms = one.message.delay_ms
            staging.resolve(to.destination, message, plan.now_ms)
        code, why = _send(plan, feed, to, message)
        if why or not code:
            return why
    return _plan_dead_letter(plan, feed, batch, one, message, code)


def _send(plan: Plan, feed: FeedAttributes, to: Target, message: MessageData) -> tuple[int, str]:
    """Plan a put to the queue, or a publication; returns why it never can be (MQRC), or 0, and why
    it is to be tried again, or "".
    """
    if not feed.topic_string:
        reason = plan.send(to, message)
        if reason in PASSING:
            return 0, f"{_name(feed)} {PASSING[reason]}"
        return (0 if reason is None else code_of(reason)), ""
    mark = plan.mark()
    try:
        publish.plan_publication(plan, feed.topic_string, message)
        publish.check_size(plan.qm, plan.puts + plan.reports)
    except Refusal as refusal:
        plan.undo(mark)
        if refusal.reason is Reason.UNIT_TOO_LARGE:
            return (0, NEXT_STEP) if mark.puts else (TOO_MANY_COPIES, "")
        return 0, f"{_name(feed)}: {refusal.detail}"
    return 0, ""


def _plan_dead_letter(
    plan: Plan,
    feed: FeedAttributes,
    batch: FedBatch,
    one: FedMessage,
    message: MessageData,
    code: int,
) -> str:
    """Plan the dead letter of a record, unless the feed waits for it; returns why it waits."""
    record = f"offset {one.offset} of partition {batch.partition}"
    if feed.refused == "WAIT" and (one.why or not one.code):
        past = f"`mqk feed seek {batch.feed} {batch.partition}:{one.offset + 1}` leaves it out"
        if one.why:
            return f"{record}: {one.why}; `mqk feed resume {batch.feed}` reads it again, {past}"
        return f"{record} cannot be put on {_name(feed)}: reason {code}; {past}"
    place = {TOPIC: feed.topic, PARTITION: batch.partition, OFFSET: one.offset}
    message.properties = (message.properties or {}) | place
    message.deliver_at_ms = 0
    reason = plan.bury([message], feed.queue, code)
    if reason is None:
        return ""
    name = plan.qm.attributes.dead_letter_queue
    why = f"dead-letter queue {name} {PASSING.get(reason, 'does not take it')}"
    if reason is Reason.QUEUE_NOT_FOUND:
        why = (
            f"dead-letter queue {name} does not exist" if name else "define one (ALTER QMGR DEADQ)"
        )
    return f"{record} is for the dead-letter queue, with reason {code}: {why}"


def _name(feed: FeedAttributes) -> str:
    return f"queue {feed.queue}" if feed.queue else f"topic string {feed.topic_string!a}"


def _note_blocked(
    state: FeedState, batch: FedBatch, feed: FeedAttributes, why: str, now_ms: int
) -> list[Record]:
    """Note whether a partition waits; the event is raised when it begins to."""
    if not why:
        state.blocked.pop(batch.partition, None)
        return []
    was_blocked = bool(state.blocked)
    state.blocked[batch.partition] = why
    if was_blocked:
        return []
    details = {"feed": batch.feed, "topic": feed.topic, "partition": str(batch.partition)}
    return [EventRaised(BLOCKED, feed.target, now_ms, details)]


def decide_start(qm: QueueManager, start: FeedStart) -> list[Record]:
    """Note from where partitions are read of which nothing was read."""
    state = qm.feeds.of_version(start.feed, start.version)
    if state is None or state.topic_id not in ("", start.topic_id):
        return []
    new = sorted(item for item in start.offsets.items() if item[0] not in state.offsets)
    positions = [part for place in new for part in place]
    return [FeedMoved(start.feed, start.topic_id, positions)] if positions else []


def apply_feed_moved(qm: QueueManager, record: FeedMoved) -> None:
    """Note from where partitions are read next."""
    state = qm.feeds.by_name[record.feed]
    state.topic_id = record.topic_id
    for at in range(0, len(record.positions), 2):
        state.offsets[record.positions[at]] = record.positions[at + 1]


def describe(qm: QueueManager) -> Iterator[Record]:
    """Describe for a snapshot from where feeds read."""
    for name, state in qm.feeds.by_name.items():
        positions = [part for place in state.offsets.items() for part in place]
        yield FeedSet(name, state.begin, state.topic_id, positions)
