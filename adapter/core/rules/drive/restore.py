"""Snapshots: the hard state of a queue manager as records, and back.

A snapshot is what a ledger would hold that had nothing to tell but how things are. Messages are in
it by their places: their content is on their topics. What is on no topic yet is added whole.
This module does not know where a snapshot is kept, nor when one is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.contract import records as r
from adapter.core.contract.details import Details
from adapter.core.contract.message import NO_ID, Delivered, MessageData
from adapter.core.contract.pages import Paged
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Done,
    Messages,
    PutContext,
    PutDone,
    Refused,
    Result,
    put_done,
)
from adapter.core.contract.stored import Stored, delivered
from adapter.core.model.lane import Lane, bucket_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.queue_kinds import made_of
from adapter.core.model.segments import join
from adapter.core.model.session import Session
from adapter.core.model.store import PRIORITIES
from adapter.core.rules.broker import state as broker_state
from adapter.core.rules.consumers import batches
from adapter.core.rules.drive import arrivals, feeds
from adapter.core.rules.messages import delays
from adapter.core.rules.messages.unit import stored_as
from adapter.core.rules.objects import authorities, channel_rules

SPANS_PER_RECORD = 20_000
"""So that a record stays far below what a topic takes."""

Ends = dict[int, Ranges]
"""Which messages of a lane will have expired by which time (ms)."""

UNSIGNED: Final = (1 << 64) - 1
"""The number of a unit has 64 bits, one of a unit of its own the highest of them; what a snapshot
holds has 64 bits and a sign. So the upper half of them is written as negative numbers."""

Unmoved = dict[str, list[Stored]]
"""Messages by queue."""


def snapshot(qm: QueueManager) -> Iterator[r.Record]:
    """Describe the hard state as it is now; to be used up before anything changes."""
    yield r.NamesRestored(dict(qm.numbers.incarnations))
    yield from _objects(qm)
    for queue in qm.queues.values():
        if queue.is_temporary:
            continue
        yield _queue(queue)
        yield from _lanes(queue)
        yield from batches.describe(queue)
    for queue in qm.queues.values():
        if not queue.is_temporary:
            yield from delays.describe(qm, queue)
    yield from broker_state.describe(qm)
    yield from arrivals.describe(qm)
    yield from feeds.describe(qm)
    yield from authorities.describe(qm)
    yield from channel_rules.describe(qm)
    for session in qm.sessions.values():
        yield from _session(session)


def _lanes(queue: LocalQueue) -> Iterator[r.Record]:
    """Describe what is on a queue, also what consumers have been given: that is taken out again."""
    held: dict[int, list[int]] = {}
    counts: dict[int, list[int]] = {}
    ends: dict[int, Ends] = {}
    heads: list[int] = []
    for stored in queue.stored.values():
        lane_number, seq, n = stored.place
        if n:
            continue
        if stored.locked:
            held.setdefault(-lane_number, []).append(seq)
        if stored.backout_count:
            counts.setdefault(-lane_number, []).extend((seq, stored.backout_count))
        if stored.expires_at_ms:
            bucket = bucket_of(stored.expires_at_ms)
            ends.setdefault(-lane_number, {}).setdefault(bucket, Ranges()).add(seq)
    claimed: dict[int, list[tuple[int, int]]] = {}
    for span in queue.claimed_spans():
        claimed.setdefault(span.lane, []).append((span.first, span.last))
    for lane in queue.lanes:
        if lane.next_seq > 1:
            number = lane.number
            mine = held.get(number, [])
            live = lane.live(mine, claimed.get(number, ()))
            counted = counts.get(number, [])
            yield from _lane(queue, lane, live, counted, ends.get(number, {}))
            heads += _head(queue, lane, mine)
    if heads:
        yield r.HeadsRestored(queue.name, heads)


def _objects(qm: QueueManager) -> Iterator[r.Record]:
    """Describe what is not a local queue; of the queue manager what differs from its defaults."""
    usual = qm.usual_attributes()
    altered = {
        name: value
        for name, row in KINDS[QUEUE_MANAGER].items()
        if not row.attribute.fixed
        and (value := getattr(qm.attributes, name)) != getattr(usual, name)
    }
    if qm.attributes.altered_ms:
        altered["altered_ms"] = qm.attributes.altered_ms
    if qm.attributes.msmq_former_computers:
        altered["msmq_former_computers"] = qm.attributes.msmq_former_computers
    if altered:
        yield r.ObjectAltered(QUEUE_MANAGER, qm.name, altered)
    for (kind, name), attributes in qm.objects.items():
        yield r.ObjectDefined(kind, name, msgspec.structs.asdict(attributes))


def unmoved(qm: QueueManager, moved_n: int, parked: frozenset[str]) -> Unmoved:
    """Return the messages in memory that may be on no topic; whatever is not, is in memory.

    moved_n: entries up to it are on their topics for good, but for those of parked queues.
    """
    found: Unmoved = {}
    for queue in qm.queues.values():
        left = _unmoved(queue.stored.values(), -1 if queue.name in parked else moved_n)
        if left:
            found[queue.name] = left
    return found


def still_unmoved(before: Unmoved, moved_n: int, parked: frozenset[str]) -> Unmoved:
    """Return those that may be on no topic even now."""
    found: Unmoved = {}
    for name, stored in before.items():
        left = _unmoved(stored, -1 if name in parked else moved_n)
        if left:
            found[name] = left
    return found


def _unmoved(stored: Iterable[Stored], moved_n: int) -> list[Stored]:
    return [one for one in stored if one.entry_n > moved_n and not one.place[2]]


def whole(messages: Unmoved) -> Iterator[r.MessageRestored]:
    """Describe messages with all that they say; from any thread, whatever becomes of them."""
    for queue, found in messages.items():
        for one in found:
            index, size = one.queue_unit_index, one.queue_unit_size
            lane, seq, n = one.place
            put = r.Placed(queue, -lane, seq, n, one.unit_index, index, size, one.message)
            yield r.MessageRestored(one.unit, one.unit_size, put)


def _queue(queue: LocalQueue) -> r.QueueRestored:
    priorities = [
        available - soft
        for available, soft in zip(queue.available_by_priority, queue.soft_by_priority, strict=True)
    ]
    for stored in queue.stored.values():
        if stored.locked and not stored.place[2]:
            priorities[stored.priority] += 1
    for span in queue.claimed_spans():
        priorities[span.priority] += span.count
    return r.QueueRestored(
        queue.name,
        queue.incarnation,
        queue.describe(),
        queue.fifo_lane,
        queue.full_reported,
        priorities,
    )


def _lane(
    queue: LocalQueue,
    lane: Lane,
    live: list[tuple[int, int]],
    counted: list[int],
    ends: Ends,
) -> Iterator[r.LaneRestored]:
    """live: the spans of all persistent messages. counted, ends: of the messages in memory."""
    spans = _flat(live)
    counts = _flat(lane.counts.items()) + counted
    there = Ranges(live)
    expiries = [
        part
        for source in (lane.ends, ends)
        for end, seqs in source.items()
        for span in seqs.common(there)
        for part in (end, *span)
    ]
    size = SPANS_PER_RECORD
    for at in range(0, max(1, len(spans) // 2, len(counts) // 2, len(expiries) // 3), size):
        end = at + size
        yield r.LaneRestored(
            queue.name,
            lane.number,
            lane.next_seq,
            spans[2 * at : 2 * end],
            counts[2 * at : 2 * end],
            expiries[3 * at : 3 * end],
        )


def _head(queue: LocalQueue, lane: Lane, held: list[int]) -> list[int]:
    """Say when the first persistent message was put, if that is known. held: by units."""
    loaded = next((stored.place[1] for stored in lane.available if not stored.place[2]), None)
    first = min(held if loaded is None else [*held, loaded], default=None)
    gap = lane.paged.at_or_after(0)
    if first is not None and (gap is None or first < gap):
        stored = queue.stored[-lane.number, first, 0]
        return [lane.number, first, stored.message.available_ms]
    return [lane.number, *lane.put_mark] if gap is not None and lane.put_mark[1] else []


def _session(session: Session) -> Iterator[r.Record]:
    yield r.SessionRestored(
        session.ident,
        session.last_seen_ms,
        session.issued,
        _flat(session.committed.spans()),
        [_to_signed(number) for number in _flat(session.fenced.spans())],
        session.forgotten,
    )
    if session.user:
        yield r.SessionBound(session.ident, session.user)
    for number, result in session.outcomes.items():
        if number in session.written:
            yield _outcome(session.ident, number, result)


def _outcome(session: bytes, number: int, result: Result) -> r.OutcomeRestored:
    kept = r.OutcomeRestored(session, number, "done", 0, bytes(24), 0, bytes(24), 0, [], [])
    if isinstance(result, PutDone):
        kept.kind = "put"
        kept.message_id, kept.put_time_ms = result.message_ids[0], result.put_time_ms
        if result.priority >= 0:
            kept.gets = [r.Placed("", 0, 0, 0, 0, 0, 0, _told_of(result))]
    elif isinstance(result, Messages):
        kept.kind = "get"
        kept.gets = [_placed(one) for one in result.messages]
        kept.counts = [one.backout_count for one in result.messages]
        for one in result.messages:
            kept.unit, kept.unit_size = one.unit, one.unit_size
    elif isinstance(result, Done):
        kept.count = result.count
    return kept


def _told_of(result: PutDone) -> MessageData:
    """Return a message, without its body, of which a put is told what it was told."""
    context = result.context or PutContext()
    details = Details(
        context.accounting_token,
        context.identity_data,
        context.appl_type,
        context.origin_data,
        result.offset,
        put_date_time=result.put_date_time,
    )
    return MessageData(
        message_id=result.message_ids[-1],
        correlation_id=NO_ID,
        group_id=result.group_id or NO_ID,
        group_seq=result.group_seq,
        priority=result.priority,
        persistence=result.persistence,
        put_time_ms=result.put_time_ms,
        user=context.user,
        application=context.application,
        details=details,
    )


def _placed(one: Delivered) -> r.Placed:
    return r.Placed(
        "",
        one.lane,
        one.seq,
        one.n,
        one.unit_index,
        one.queue_unit_index,
        one.queue_unit_size,
        one.message,
    )


def _flat(spans: Iterable[tuple[int, int]]) -> list[int]:
    return [number for span in spans for number in span]


def _to_signed(number: int) -> int:
    return number if number <= UNSIGNED >> 1 else number - UNSIGNED - 1


def _pairs(flat: list[int]) -> list[tuple[int, int]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def apply_names_restored(qm: QueueManager, record: r.NamesRestored) -> None:
    """Remember how many queues of each name there have been."""
    qm.numbers.incarnations.update(record.incarnations)


def apply_queue_restored(qm: QueueManager, record: r.QueueRestored) -> None:
    """Make the queue as it was."""
    queue = made_of(record.name, record.incarnation, record.attributes)
    queue.fifo_lane = record.fifo_lane
    queue.full_reported = record.full_reported
    queue.available_by_priority = list(record.priorities)
    assert len(record.priorities) == PRIORITIES, "a count for each priority"
    qm.queues[record.name] = queue
    qm.names_initiation(queue)
    qm.share_with(queue)
    qm.note_usage(queue)


def apply_lane_restored(qm: QueueManager, record: r.LaneRestored) -> None:
    """Say which messages a lane holds; a lane with many gaps comes in several records."""
    queue = qm.queues[record.queue]
    lane = queue.lanes[record.lane]
    lane.next_seq = record.next_seq
    before = lane.paged.total
    for span in _pairs(record.spans):
        lane.paged.add_span(*span)
    queue.available_count += lane.paged.total - before
    lane.counts.update(_pairs(record.counts))
    for at in range(0, len(record.ends), 3):
        end, first, last = record.ends[at : at + 3]
        if lane.add_end(first, last, end):
            qm.add_paged_end(queue, lane.number, end)


def apply_message_restored(qm: QueueManager, record: r.MessageRestored) -> None:
    """Bring a message of a lane into memory, where it stays until it is on its topic."""
    queue = qm.queues[record.put.queue]
    stored = stored_as(record.put, record.unit, record.unit_size, entry_n=qm.entry_n)
    queue.page_in([stored])
    qm.uncopied.add(qm.entry_n, 1, stored.length)
    qm.add_expiry(queue, stored)


def apply_heads_restored(qm: QueueManager, record: r.HeadsRestored) -> None:
    """Remember how old the lanes' first messages are: it may be long before they are read."""
    lanes = qm.queues[record.queue].lanes
    for at in range(0, len(record.heads), 3):
        number, *mark = record.heads[at : at + 3]
        lanes[number].mark_put(*mark)


def apply_consumed_restored(qm: QueueManager, record: r.ConsumedRestored) -> None:
    """Keep it for the owner: no rule asks what is still on a topic."""
    qm.noted.append(record)


def apply_session_restored(qm: QueueManager, record: r.SessionRestored) -> None:
    """Make the session as the ledger knew it."""
    session = qm.sessions[record.session] = Session(record.session, record.time_ms)
    session.issued = record.issued
    session.committed = Ranges(_pairs(record.committed))
    session.fenced = Ranges(_pairs([number & UNSIGNED for number in record.fenced]))
    session.forgotten = record.forgotten


def apply_outcome_restored(qm: QueueManager, record: r.OutcomeRestored) -> None:
    """Keep an outcome that may be asked for."""
    result: Result
    if record.kind == "put" and record.gets:
        result = put_done([record.message_id], record.gets[0].message)
    elif record.kind == "put":  # of an earlier release, or of a publication
        result = PutDone([record.message_id], record.put_time_ms)
    elif record.kind == "get":
        result = Messages(
            [
                delivered(stored_as(placed, record.unit, record.unit_size, backout_count=count))
                for placed, count in zip(record.gets, record.counts, strict=True)
            ]
        )
    else:
        result = Done(record.count)
    qm.sessions[record.session].record(record.number, result, written=True)


def load_outcome(qm: QueueManager, session: bytes, number: int, read: list[Paged] | None) -> None:
    """Complete the outcome of a get whose message was not in memory when it was replayed.

    read: what Absent.missing named; None: a part of it is not on its topic any more. It was got, so
    nothing is lost to others; a client that asks again hears that its message is damaged.
    """
    absent = qm.absent.pop((session, number))
    found = qm.sessions.get(session)
    if found is None or number not in found.outcomes:
        return
    if read is None:
        (gone, *_) = absent.missing()
        text = f"message {gone.seq} of lane {gone.lane}"
        found.keep(number, Refused(Reason.OBJECT_DAMAGED, gone.queue, text))
        return
    source = iter(read)
    parts: list[Stored] = []
    for taken, count, known in zip(absent.gets, absent.counts, absent.known, strict=True):
        part = known or next(source).stored(taken.lane)
        if known is None:
            part.backout_count = count
        parts.append(part)
    found.keep(number, Messages([join(parts)]))
