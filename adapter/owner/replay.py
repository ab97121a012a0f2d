"""From the ledger to a core: replay, and what is carried over from a core that lived on.

It runs off the owner's thread: nothing else touches the core that is being built.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core import dispatch
from adapter.core.model.manager import Limits, QueueManager
from adapter.core.model.message import Stored
from adapter.core.model.queue import Queue
from adapter.core.records import Record, UnitCommitted
from adapter.format import descriptor, entries
from adapter.format.schemas import UnreadableError
from adapter.ledger.port import Entry, Ledger, Taken


class LedgerUnreadableError(Exception):
    """An entry of the ledger cannot be read or applied; nothing was changed on Kafka."""


class Replayed(Struct):
    """The core that the ledger describes, how it was won, and each owner's last valid n."""

    qm: QueueManager
    taken: Taken
    last_n_of: dict[bytes, int]


def take_over(name: str, owner: bytes, who: str, ledger: Ledger, limits: Limits | None) -> Replayed:
    """Become the owner, and replay what the ledger holds."""
    qm = QueueManager(name, owner, limits)
    last_n_of: dict[bytes, int] = {}
    reader = descriptor.Reader()

    def replay(entry: Entry) -> None:
        last_n_of[entry.owner] = entry.n
        try:
            for record in entries.decode(entry.payload, reader):
                dispatch.replay(qm, record)
        except (UnreadableError, KeyError, ValueError, AssertionError) as error:
            raise LedgerUnreadableError(
                f"the ledger of {name} cannot be replayed: offset {entry.offset}, owner "
                f"{entry.owner.hex()}, n {entry.n}: {error!r}. Run `mqk ledger show --from "
                f"{entry.offset}` with the release that wrote it."
            ) from error

    taken = ledger.take_over(owner, who, replay)
    return Replayed(qm, taken, last_n_of)


def carry_over(old: QueueManager, new: QueueManager, void: list[Record]) -> int:
    """Bring the non-persistent messages of a core that lived on into the one from the ledger.

    void: what the old core did that did not happen; its effects on them are undone first. Units
    that held them are gone, so their backout counts rise. Returns how many messages were brought.
    """
    undone = [record for record in void if isinstance(record, UnitCommitted) and not record.logged]
    never_put = {(p.queue, -p.lane, p.seq, p.n) for record in undone for p in record.puts}
    got_back: dict[str, list[Stored]] = {}
    for record in undone:
        for taken, stored in zip(record.gets, record.taken, strict=True):
            got_back.setdefault(taken.queue, []).append(stored)
    brought = 0
    for queue in old.queues.values():
        target = new.queues.get(queue.name)
        if target is None or target.incarnation != queue.incarnation:
            continue
        soft = [stored for stored in queue.stored.values() if stored.place[2]]
        soft += got_back.get(queue.name, [])
        for stored in sorted(soft, key=lambda stored: stored.place):
            if (queue.name, *stored.place) not in never_put:
                _bring(new, target, stored)
                brought += 1
    _bring_outcomes(old, new, void)
    return brought


def _bring(new: QueueManager, queue: Queue, stored: Stored) -> None:
    """Put a message to its place, or behind the last one that the ledger knows of."""
    lane_number, seq, n = stored.place
    lane = queue.lanes[-lane_number]
    if seq >= lane.next_seq:
        seq, n = lane.next_seq - 1, lane.next_n
    while (lane_number, seq, n) in queue.stored:
        n += 1
    if stored.locked:
        stored.backout_count += 1
    stored.locked = False
    stored.place = (lane_number, seq, n)
    stored.entry_n = -1
    queue.add(stored)
    if stored.message.expires_at_ms:
        new.add_expiry(stored.message.expires_at_ms, queue, stored.place)


def _bring_outcomes(old: QueueManager, new: QueueManager, void: list[Record]) -> None:
    """Keep the recorded outcomes of commands that the ledger need not know."""
    never = {
        (outcome.session, outcome.number)
        for record in void
        if (outcome := getattr(record, "outcome", None)) is not None
    }
    for ident, session in old.sessions.items():
        kept = new.sessions.get(ident)
        if kept is None:
            continue
        kept.issued = max(kept.issued, session.issued)
        for number, result in session.outcomes.items():
            if number not in kept.outcomes and (ident, number) not in never:
                kept.outcomes[number] = result
