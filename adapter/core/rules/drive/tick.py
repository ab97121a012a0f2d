"""Tick: what the passing of time does. Time comes in; no clock is read here."""

from __future__ import annotations

from adapter.core.contract.message import Place
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import activation as broker_activation
from adapter.core.rules.messages import pages, report
from adapter.core.rules.messages.unit import expiry_records
from adapter.core.rules.msmq import queues as msmq_queues
from adapter.core.rules.objects import session
from adapter.core.rules.primitives import marks, waiting
from adapter.core.rules.primitives.step_room import StepRoom

EXPIRIES_PER_TICK = 1000  # so that one tick stays short; the rest is due at once
SESSIONS_EVERY_MS = 60_000


def expire_messages(qm: QueueManager, now_ms: int) -> list[Record]:
    """Discard messages whose time is over; one held by a unit is looked at when it returns."""
    records: list[Record] = []
    met: set[tuple[str, Place]] = set()  # what came back when its time was over is noted twice
    room = StepRoom(EXPIRIES_PER_TICK)  # bytes: of the reports
    for _, name, incarnation, place in qm.due.expiries.due(now_ms):
        queue = qm.that_queue(name, incarnation)
        stored = queue.stored.get(place) if queue else None
        size = 0
        if queue and stored is not None and not stored.locked and (name, place) not in met:
            met.add((name, place))
            records += expiry_records(queue, [stored])
            size = report.expiry_weight(stored)
        room.take(size)
        if room.is_over:
            break
    return records


def expire_pages(qm: QueueManager, now_ms: int) -> None:
    """Ask for the pages of messages that have expired out of memory: they are discarded there."""
    for _, name, incarnation, lane in qm.due.paged_ends.due(now_ms):
        pages.look_for_expired(qm, name, incarnation, lane, now_ms)


def note_clock_set_back(qm: QueueManager) -> None:
    """The time of day is earlier than it was: what was to be looked at again, by the clock as it
    was, is looked at when its own time comes.
    """
    for queue in qm.queues.values():
        qm.note_delays(queue)
        for lane in queue.lanes:
            for end_ms in lane.ends:
                qm.add_paged_end(queue, lane.number, end_ms)


def expire_marks(qm: QueueManager) -> None:
    """Let what has been marked for long enough be browsed again."""
    marks.tick(qm)


def expire_sessions(qm: QueueManager) -> list[Record]:
    """Look for expired sessions, not more than once a minute."""
    if qm.elapsed_ms < qm.due.sessions_ms:
        return []
    qm.due.sessions_ms = qm.elapsed_ms + SESSIONS_EVERY_MS
    expired = session.expire_sessions(qm)
    if expired:
        msmq_queues.note_unused(qm)
    return expired


def end_waits(qm: QueueManager) -> list[Reply]:
    """End the waits whose time is over, with no message."""
    replies = []
    for _, _, waiter in qm.due.deadlines.due(qm.elapsed_ms):
        if not waiter.ended:
            if isinstance(waiter.key, BrokerQueue):
                broker_activation.note_empty(qm, waiter.key, waiter.command)
            replies.append(waiting.answer(qm, waiter, waiting.unserved(waiter)))
    return replies
