"""Release of delayed messages: those that are due are put to their destinations.

A destination has room for what is delayed (max_depth counts it from the put on), cannot be deleted
without it, and takes it whatever it is inhibited for since: so a message that was accepted always
arrives, unless it expires before. While its destination's topic cannot be written and too much
waits for that already, it waits, too. Triggers and confirmations of arrival (COA) come with the
release. This module does not know how a delay is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.records import (
    DelayedExpired,
    DelaysRestored,
    EventRaised,
    QueueDeleted,
    Record,
)
from adapter.core.contract.stored import Stored
from adapter.core.contract.unit_records import Taken
from adapter.core.contract.weights import weight
from adapter.core.model.delays import Delays, Entry
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, ReportDue
from adapter.core.model.undo import Removed
from adapter.core.rules.messages import report
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.unit import discard_records, removal_of, taken_from
from adapter.core.rules.primitives import parking
from adapter.core.rules.primitives.step_room import StepRoom

MISSING: Final = "delayed_message_missing"
PAGE: Final = 100
"""Messages read at a time: those that were put together are often due together."""
LOOK_AGAIN_MS: Final = 1_000
"""After a page was asked for, in case it did not come, or while a topic cannot be written."""
MISSING_AGAIN_MS: Final = 60_000
"""After a message was not on its topic: the operator may bring the topic back."""
PER_RECORD: Final = 20_000
"""Messages in a record of a snapshot, which stays far below what a topic takes."""


def release_due(qm: QueueManager, now_ms: int) -> list[Record]:
    """Release what is due, of one destination after the other."""
    records: list[Record] = []
    room = StepRoom(qm.limits.released_per_step)
    for noted_ms, name, incarnation in qm.due.delays.due(now_ms):
        queue = qm.that_queue(name, incarnation)
        if queue is None or queue.delays is None or queue.delays.noted_ms != noted_ms:
            continue
        queue.delays.noted_ms = 0
        found: list[Stored] = []
        expired: list[Stored] = []
        for stored in _due(qm, queue, queue.delays, now_ms, room):
            over = 0 < _expires_ms(stored.message) <= now_ms
            (expired if over else found).append(stored)
        records += _release(qm, queue, found, now_ms) + _expire(qm, queue, expired)
        if not queue.delays.noted_ms:
            qm.note_delays(queue)
        if room.is_over:
            break
    return records


def _due(
    qm: QueueManager, queue: LocalQueue, delays: Delays, now_ms: int, room: StepRoom
) -> Iterator[Stored]:
    """Take out what is due, in order; what is not in memory is waited for."""
    delayed = qm.queues[DELAYED_QUEUE]
    while not room.is_over and (entry := delays.first(now_ms)) is not None:
        _, place, _ = entry
        stored = delayed.stored.get(place)
        if stored is None and qm.is_delayed(place):
            qm.want_page(PageNeeded(DELAYED_QUEUE, -place[0], place[1], PAGE))
            qm.delays_waiting[queue.name] = queue
            qm.look_at_delays(queue, now_ms + LOOK_AGAIN_MS)
            return
        if stored is not None and _is_parked(qm, queue, stored.message):
            qm.look_at_delays(queue, now_ms + LOOK_AGAIN_MS)
            return
        delays.pop(entry)
        if stored is not None:
            room.take(weight(stored.message))
            yield stored


def _is_parked(qm: QueueManager, queue: LocalQueue, message: MessageData) -> bool:
    """Whether too much waits for the destination's topic."""
    try:
        parking.check_put(qm, queue, [message])
    except Refusal:
        return True
    return False


def _expires_ms(message: MessageData) -> int:
    return message.put_time_ms + message.expiry_ms if message.expiry_ms > 0 else 0


def _release(qm: QueueManager, queue: LocalQueue, found: list[Stored], now_ms: int) -> list[Record]:
    """Put messages to their destination, together."""
    if not found:
        return []
    delayed = qm.queues[DELAYED_QUEUE]
    plan = Plan(qm, now_ms)
    for stored in found:
        message = msgspec.structs.replace(
            stored.message, destination="", expires_at_ms=_expires_ms(stored.message)
        )
        if message.report & CONFIRM_ON_ARRIVAL:
            qm.step.reports_due.append(ReportDue(message, CONFIRM_ON_ARRIVAL, now_ms))
        plan.put(queue, message)
    return plan.record(verb="commit", gets=[(delayed, stored) for stored in found])


def _expire(qm: QueueManager, queue: LocalQueue, expired: list[Stored]) -> list[Record]:
    """Say that messages expired before they were due."""
    delayed = qm.queues[DELAYED_QUEUE]
    records: list[Record] = []
    for stored in expired:
        expires_at_ms = _expires_ms(stored.message)
        message = msgspec.structs.replace(stored.message, expires_at_ms=expires_at_ms)
        report.note_expiry(qm, message)
    for logged in (True, False):
        places = [taken_from(delayed, one) for one in expired if (not one.place[2]) is logged]
        if places:
            records.append(DelayedExpired(queue.name, places, logged))
    return records


def resume_release(qm: QueueManager, queue: LocalQueue, now_ms: int) -> list[Record]:
    """Go on with the release, if it is delayed messages that have come into memory."""
    if queue.name != DELAYED_QUEUE:
        return []
    waiting, qm.delays_waiting = qm.delays_waiting, {}
    for one in waiting.values():
        qm.look_at_delays(one, now_ms)
    return release_due(qm, now_ms)


def postpone_missing(qm: QueueManager, needed: PageNeeded, now_ms: int) -> list[Record]:
    """A delayed message is not on its topic: let others go first, and look for it again later."""
    if needed.queue != DELAYED_QUEUE:
        return []
    place = (-needed.lane, needed.seq, 0)
    for queue in qm.queues.values():
        entry = queue.delays.first(now_ms) if queue.delays is not None else None
        if entry is not None and entry[1] == place and queue.delays is not None:
            queue.delays.pop(entry)
            queue.delays.add(now_ms + MISSING_AGAIN_MS, place, entry[2], qm.is_delayed)
            qm.look_at_delays(queue, now_ms)
            details = {"lane": str(needed.lane), "seq": str(needed.seq)}
            return [EventRaised(MISSING, queue.name, now_ms, details), *release_due(qm, now_ms)]
    return []


def soft_places(qm: QueueManager, queue: LocalQueue) -> list[Taken]:
    """Return where a queue's delayed messages lie that are not persistent."""
    delayed = qm.queues.get(DELAYED_QUEUE)
    if delayed is None or queue.delays is None:
        return []
    found = [delayed.stored.get(place) for _, place, _ in queue.delays.entries() if place[2]]
    return [taken_from(delayed, stored) for stored in found if stored is not None]


def deletion(qm: QueueManager, queue: LocalQueue) -> list[Record]:
    """Say that a queue goes, with what is on it; of a temporary one the ledger knows nothing."""
    soft = discard_records(soft_places(qm, queue), "purged")
    return [*soft, QueueDeleted(queue.name, logged=not queue.is_temporary)]


def describe(qm: QueueManager, queue: LocalQueue) -> Iterator[Record]:
    """Describe for a snapshot when a queue's delayed messages are due."""
    if queue.delays is None:
        return
    left: list[Entry] = [
        one for one in queue.delays.entries() if not one[1][2] and qm.is_delayed(one[1])
    ]
    for at in range(0, len(left), PER_RECORD):
        some = left[at : at + PER_RECORD]
        entries = [part for due_ms, (lane, seq, _), p in some for part in (due_ms, -lane, seq, p)]
        yield DelaysRestored(queue.name, entries)


def apply_delays_restored(qm: QueueManager, record: DelaysRestored) -> None:
    """Note when the messages are due."""
    queue = qm.queues[record.queue]
    for at in range(0, len(record.entries), 4):
        due_ms, lane, seq, priority = record.entries[at : at + 4]
        qm.delay(queue, due_ms, (-lane, seq, 0), priority)


def apply_delayed_expired(qm: QueueManager, record: DelayedExpired) -> Removed | None:
    """Remove them; returns them, if they are in no ledger."""
    delayed, queue = qm.queues[DELAYED_QUEUE], qm.queues[record.queue]
    gone = [delayed.take((-one.lane, one.seq, one.n), one.priority) for one in record.places]
    queue.delayed -= len(gone)
    if record.logged:
        return None
    return removal_of(record.places, [stored for stored in gone if stored is not None])


def clear(qm: QueueManager, queue: LocalQueue) -> None:
    """Remove all delayed messages of a queue that is purged or deleted."""
    if queue.delays is None:
        return
    delayed = qm.queues[DELAYED_QUEUE]
    places: dict[Place, int] = {place: priority for _, place, priority in queue.delays.entries()}
    for place, priority in places.items():
        if qm.is_delayed(place):
            delayed.take(place, priority)
    queue.delays, queue.delayed = None, 0
