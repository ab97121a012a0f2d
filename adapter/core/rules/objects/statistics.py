"""Statistics: an event for each queue, at an interval: what it holds, and what happened to it.

What MQ writes as statistics messages at STATINT. A queue has one when anything but its age is not
as the last one said, so that traffic, an open unit and an emptied queue show; one that holds
messages and is left alone has them more seldom, an empty one none, and a temporary one none either.

There is a round of them when the queue manager is stopped, as on MQ. Otherwise all of it is soft:
after a crash counting begins anew, and what happened since the last event is in none. This module
knows no clock and does not know where events go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from adapter.core.contract.records import EventRaised, Record
from adapter.core.model.manager import QueueManager
from adapter.core.model.moment import Moment
from adapter.core.model.queue import LocalQueue
from adapter.core.model.tally import QueueTally, Round, Told
from adapter.core.rules.objects import queues

KIND = "queue_statistics"
INTERVAL = "statistics_interval_s"
IDLE_MS = 600_000
"""Between two events of a queue that is left alone, at least: only its age has changed, and by how
much is plain. Without any, a reader of the events of one hour, or when older ones are deleted,
would not see that it is stuck."""
NOTHING = (0, 0, 0, 0)


def begin(qm: QueueManager, now_ms: int) -> None:
    """Count from now on, unless that is being done; what queues hold is told in the first round."""
    if qm.tally.round.since is not None:
        return
    qm.tally.round = Round(Moment(now_ms, qm.elapsed_ms))
    qm.tally.told = {
        name: Told(msgspec.structs.replace(totals), NOTHING, qm.elapsed_ms)
        for name, totals in qm.tally.by_queue()
    }
    _look_next(qm, _interval_ms(qm))


def note_change(qm: QueueManager, attributes: dict[str, Any], now_ms: int) -> None:
    """Take in that the queue manager's attributes are about to become these."""
    interval_s = attributes.get(INTERVAL)
    if interval_s is None:
        return
    if not _interval_ms(qm):
        qm.tally.round = Round()
    begin(qm, now_ms)
    _look_next(qm, interval_s * 1000)


def raise_due(qm: QueueManager, now_ms: int) -> list[Record]:
    """Return the events that are due, of a bounded number of queues; how many follow at once.

    While there was something to tell the next round comes when its time has; later ones come when
    a client asks, so that a queue manager that does nothing is not woken for nothing.
    """
    interval_ms, current = _interval_ms(qm), qm.tally.round
    if not interval_ms:
        _look_next(qm, 0)
        return []
    if not current.left:
        if current.since and qm.elapsed_ms < current.since.elapsed_ms + interval_ms:
            if qm.due.statistics_ms is not None:
                _look_next(qm, interval_ms)
            return []
        current.began = Moment(now_ms, qm.elapsed_ms)
        current.events, current.left = 0, list(qm.queues)
    most = qm.limits.statistics_per_tick
    names, current.left = current.left[:most], current.left[most:]
    records = _look_at(qm, names, now_ms)
    current.events += len(records)
    if current.left:
        qm.due.statistics_ms = qm.elapsed_ms
    else:
        current.since = current.began
        _look_next(qm, interval_ms if current.events else 0)
    return records


def raise_last(qm: QueueManager, now_ms: int) -> list[Record]:
    """Return the events of a queue manager that is being stopped: nothing is left uncounted."""
    return _look_at(qm, qm.queues, now_ms) if _interval_ms(qm) else []


def _interval_ms(qm: QueueManager) -> int:
    return qm.attributes.statistics_interval_s * 1000


def _look_next(qm: QueueManager, interval_ms: int) -> None:
    """Note when the next round is due; at no time if there is no interval."""
    since = qm.tally.round.since
    qm.due.statistics_ms = since.elapsed_ms + interval_ms if since and interval_ms else None


def _look_at(qm: QueueManager, names: Iterable[str], now_ms: int) -> list[Record]:
    """Return the events of these queues, as far as they are still there."""
    looked = [_look(qm, qm.queues[name], now_ms) for name in names if name in qm.queues]
    return [event for event in looked if event is not None]


def _look(qm: QueueManager, queue: LocalQueue, now_ms: int) -> EventRaised | None:
    """Return the event of one queue, if it is to have one."""
    if queue.is_temporary:
        return None
    totals = qm.tally.of(queue.name)
    held = (queue.depth, queue.uncommitted_puts, queue.locked_count, queue.claimed_count)
    told = qm.tally.told.get(queue.name) or Told(QueueTally(), NOTHING, 0)
    changed = (totals, held) != (told.totals, told.held)
    if not changed and (held == NOTHING or qm.elapsed_ms - told.elapsed_ms < IDLE_MS):
        return None
    qm.tally.told[queue.name] = Told(msgspec.structs.replace(totals), held, qm.elapsed_ms)
    details = _details(qm, queue, told.totals, now_ms)
    return EventRaised(KIND, queue.name, now_ms, details)


def _details(
    qm: QueueManager, queue: LocalQueue, before: QueueTally, now_ms: int
) -> dict[str, str]:
    """Say what a queue holds, by the names of QueueStatus, and what was counted since since_ms."""
    (status,) = queues.statuses(qm, [queue], now_ms)
    since = qm.tally.round.since
    figures: dict[str, object] = {
        "since_ms": since.time_ms if since else 0,
        "current_depth": status.current_depth,
        "oldest_message_age_s": status.oldest_message_age_s,
        "puts": status.put_total - before.put,
        "gets": status.got_total - before.got,
        "returned": status.returned_total - before.returned,
        "discarded": status.discarded_total - before.discarded,
        "uncommitted_puts": status.uncommitted_puts,
        "uncommitted_gets": status.uncommitted_gets,
        "claimed": status.claimed,
        "delayed": status.delayed,
    }
    return {name: str(figure) for name, figure in figures.items()}
