"""Pages: what leaves memory, what is asked for, and what happens when it comes.

A rule that meets a message which is not in memory raises PageNeeded. Its request is suspended, the
owner reads the page, and the request is decided again, as if it had just come; what depends on it
is held until then. This module does not know from where a page is read.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from adapter.core.attributes.system import RETAINED_QUEUE
from adapter.core.contract.commands import COMPLETE, ClaimBatch, ReadBatches, Request
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import MessagesDiscarded, Record
from adapter.core.contract.results import Refused
from adapter.core.contract.stored import Stored
from adapter.core.contract.unit_records import Taken
from adapter.core.model.connection import ConnectionState
from adapter.core.model.lane import bucket_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.turns import Turns
from adapter.core.rules.messages import report
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision

LOOK_AGAIN_MS: Final = 1_000
"""After a page of expired messages was asked for, in case it did not come."""


def suspend(qm: QueueManager, request: Request, needed: PageNeeded) -> None:
    """Let a request wait for a page."""
    _suspend(qm, request, qm.queues[needed.queue])
    qm.want_page(needed)


def go_on(qm: QueueManager, request: Request, queue: LocalQueue) -> None:
    """Let a request be decided again in the same step, once its records so far are applied."""
    _suspend(qm, request, queue)
    qm.step.asked_again.append(queue)


def _suspend(qm: QueueManager, request: Request, queue: LocalQueue) -> None:
    queue.suspended.append(request)
    qm.connections[request.connection].turns.suspend(request)
    waiting.runs(qm, request)


def wake_when_come(qm: QueueManager, needed: PageNeeded, key: Hashable) -> None:
    """Let what waits for a key wait for a page first. It is in the line of another thing than the
    queue, as of a lock, so that what comes to the queue does not wake it.
    """
    qm.queues[needed.queue].paging_keys[key] = None
    qm.want_page(needed)


def wake_waiting(qm: QueueManager, queue: LocalQueue) -> None:
    """Note that a page of a queue has come, or is missing, or that the queue is gone."""
    keys, queue.paging_keys = queue.paging_keys, {}
    for key in keys:
        qm.waiters.wake(key)


def resume(qm: QueueManager, queue: LocalQueue) -> list[Request]:
    """Return the suspended requests of a queue, to be decided again."""
    suspended, queue.suspended = queue.suspended, []
    for request in suspended:
        qm.connections[request.connection].turns.resume(request)
        waiting.runs_no_more(qm, request)
    return suspended


def refuse_damaged(qm: QueueManager, needed: PageNeeded) -> Decision | None:
    """Refuse what cannot do without the message that is missing; None if that is another one."""
    if qm.step.missing != (needed.queue, needed.lane, needed.seq):
        return None
    text = f"message {needed.seq} of lane {needed.lane}"
    return Decision([], Refused(Reason.OBJECT_DAMAGED, needed.queue, text), qm.entry_n)


def hold(qm: QueueManager, request: Request) -> None:
    """Let a request wait for one that is suspended, because it depends on it."""
    qm.connections[request.connection].turns.hold(request)
    waiting.runs(qm, request)


def unhold(qm: QueueManager, connection: ConnectionState) -> list[Request]:
    """Return what was held, to be looked at again, in the order it came."""
    held = connection.turns.take_held()
    for request in held:
        waiting.runs_no_more(qm, request)
    return held


def forget(qm: QueueManager, connection: ConnectionState) -> None:
    """Drop what a connection that has gone waited for, without an answer."""
    unhold(qm, connection)
    for queue in qm.queues.values() if connection.turns.suspended else ():
        queue.suspended = [one for one in queue.suspended if one.connection != connection.number]
    for request in connection.turns.suspended:
        waiting.runs_no_more(qm, request)
    connection.turns = Turns()


def look_ahead(qm: QueueManager, queue: LocalQueue, lane_number: int) -> None:
    """Ask for the next page of a lane before it is needed."""
    lane = queue.lanes[lane_number]
    if lane.paged and len(lane.available) <= qm.window[0] // 2:
        seq = lane.paged.at_or_after(0)
        assert seq is not None, "there is one"
        qm.want_page(PageNeeded(queue.name, lane_number, seq))


def look_for_expired(
    qm: QueueManager, name: str, incarnation: int, lane_number: int, now_ms: int
) -> None:
    """Ask for the first page of what has expired in a lane, and look again later."""
    queue = qm.that_queue(name, incarnation)
    if queue is None:
        return
    seq = queue.lanes[lane_number].first_expired(now_ms)
    if seq is not None:
        qm.want_page(PageNeeded(name, lane_number, seq))
        qm.add_paged_end(queue, lane_number, now_ms + LOOK_AGAIN_MS)


def evict(qm: QueueManager, moved_n: int, but: frozenset[str]) -> int:
    """Page out what memory need not hold; moved_n: entries up to it are on their topics for good.

    Returns how many messages were paged out.
    """
    messages, size = qm.window
    count = 0
    for queue in qm.queues.values():
        if queue.indexes.is_used and not queue.suspended and not qm.waiters.count(queue):
            queue.indexes.forget_passed()
        if not queue.stored or queue.name in but or queue.name == RETAINED_QUEUE:
            continue
        if len(queue.stored) <= messages and queue.weight <= size:
            continue
        ends_before = [set(lane.ends) for lane in queue.lanes]
        if _joins(qm, queue):
            gone = queue.page_out(qm.limits.unit_messages, qm.limits.unit_bytes, moved_n)
        else:
            gone = queue.page_out(messages, size, moved_n)
        if gone:
            count += gone
            for lane, before in zip(queue.lanes, ends_before, strict=True):
                for end in lane.ends.keys() - before:
                    qm.add_paged_end(queue, lane.number, end)
    return count


def _joins(qm: QueueManager, queue: LocalQueue) -> bool:
    """Whether a request waits for many messages, which must be in memory together: for all segments
    of one, or for a batch.
    """
    return any(
        isinstance(one.command, (ClaimBatch, ReadBatches))
        or getattr(one.command, "options", 0) & COMPLETE
        for one in queue.suspended
    ) or any(
        getattr(waiter.command, "options", 0) & COMPLETE for waiter in qm.waiters.waiting_for(queue)
    )


def load(
    qm: QueueManager, queue: LocalQueue, lane_number: int, page: list[Paged], now_ms: int
) -> list[Record]:
    """Bring messages back into memory; what has expired is discarded instead."""
    lane = queue.lanes[lane_number]
    expired: list[Taken] = []
    come: list[Stored] = []
    for paged in page:
        if paged.seq not in lane.paged:
            continue
        message = paged.message
        if 0 < message.expires_at_ms <= now_ms:
            lane.forget_end(paged.seq, bucket_of(message.expires_at_ms))
            queue.indexes.passed_by(paged.stored(lane_number))
            report.note_stored_expiry(qm, queue, paged.stored(lane_number))
            queue.note_leaving(paged.stored(lane_number))
            place = Taken(queue.name, lane_number, paged.seq, 0, message.priority)
            expired.append(place)
            continue
        come.append(paged.stored(lane_number))
    if come:
        queue.page_in(come)
        for stored in come:
            qm.add_expiry(queue, stored)
    returned = [stored.place for stored in come if stored.backout_count]
    if returned or lane.to_move:
        qm.note_loaded(queue, returned, now_ms)
    if len(page) > 1:
        lane.last_page = page[0].seq, page[-1].seq
    if page:
        lane.mark_put(page[-1].seq, page[-1].message.available_ms)
    qm.wake(queue)
    return [MessagesDiscarded(expired, "expired")] if expired else []


def index(queue: LocalQueue, field: str, lane_number: int, through: int, page: list[Paged]) -> None:
    """Take a page into an index, or a view, that is being built."""
    queue.indexes.read_page(
        field, lane_number, through, [paged.stored(lane_number) for paged in page]
    )
