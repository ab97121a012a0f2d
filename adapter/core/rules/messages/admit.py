"""Admission: the one way in for messages: of programs, copies, reports, releases, trigger messages.

What a put causes is noted here. A unit holds the message until it ends; outside a unit it is
recorded, at the queue where it is stored. Whether a queue takes a message is decided before: this
module refuses nothing.
"""

from __future__ import annotations

from adapter.core.contract.message import MessageData, weight
from adapter.core.contract.records import OutcomeOf, Record, Verb
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.messages.unit import Gets, Puts, commit_records
from adapter.core.rules.primitives import staging, trigger_events


def put_records(
    qm: QueueManager,
    ident: bytes,
    puts: Puts,
    now_ms: int,
    gets: Gets | None = None,
    verb: Verb = "put",
    outcome: OutcomeOf | None = None,
    *,
    is_event: bool = True,
    segments: Puts | None = None,
) -> list[Record]:
    """Take messages in, outside any unit, and record them together with what is got for them.

    ident: of the unit that they are. is_event: whether triggers take notice of the puts. segments:
    what take_segments() has returned; they are recorded before the puts.
    """
    stored = _take(qm, puts, now_ms) if is_event else puts
    if segments:
        stored = segments + stored
    return commit_records(ident, stored, gets or [], verb, outcome)


def _take(qm: QueueManager, puts: Puts, now_ms: int) -> Puts:
    """Take messages in, outside any unit. Returns where each is stored, which is to be recorded."""
    for queue, message in puts:
        trigger_events.note_put(qm, queue, message, now_ms)
    return staging.stage(qm, puts)


def hold(qm: QueueManager, unit: UnitOfWork, puts: Puts, sizes: list[int], now_ms: int) -> None:
    """Take messages in, for a unit to hold until it ends. sizes: what each weighs in an entry."""
    for (queue, message), size in zip(puts, sizes, strict=True):
        trigger_events.note_put(qm, queue, message, now_ms, unit)
        unit.hold_put(queue, message, size)


def take_segments(
    qm: QueueManager,
    queue: LocalQueue,
    whole: MessageData,
    parts: list[MessageData],
    now_ms: int,
    unit: UnitOfWork | None,
) -> Puts:
    """Take in the segments of one message, which is one event for triggers.

    Returns what put_records() is to record: nothing, if a unit holds them.
    """
    trigger_events.note_put(qm, queue, whole, now_ms, unit, stored=len(parts))
    if unit is None:
        return staging.stage(qm, [(queue, part) for part in parts])
    for part in parts:
        unit.hold_put(queue, part, weight(part))
    return []
