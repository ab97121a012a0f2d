"""From the ledger to a core: replay, and what is carried over from a core that lived on.

It runs off the owner's thread: nothing else touches the core that is being built.
"""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import structlog
from msgspec import Struct

from adapter.core import dispatch
from adapter.core.contract.limits import Limits
from adapter.core.contract.pages import Paged
from adapter.core.contract.records import Record
from adapter.core.contract.results import Messages, Refused, Result
from adapter.core.contract.stored import Stored
from adapter.core.contract.unit_records import Taken, UnitCommitted
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import Absent, QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.session import Session
from adapter.core.model.tally import Tally
from adapter.core.rules.messages.unit import unit_number
from adapter.runtime.owner.paging import PAGE_TIMINGS
from adapter.runtime.owner.promises import Collected
from adapter.runtime.owner.storage import Storage
from adapter.runtime.owner.xml_bodies import XmlBodies
from adapter.storage.format import descriptor, entries
from adapter.storage.format.schemas import VERSION, VERSIONS_END, UnreadableError
from adapter.storage.ledger import port
from adapter.storage.ledger.snapshots import Snapshot, covers
from adapter.storage.topics.port import MessageMissingError, PageReader, PagesUnavailableError

NOBODY = bytes(16)
"""The owner of a core with which no term has begun."""
UNFIT = (UnreadableError, LookupError, ValueError, TypeError, AttributeError, AssertionError)
"""What reading or applying an entry raises that was written by another release, or by a bug."""


UNFIT_MAX = 100
"""Records that do not fit, of which the log says so: a fault makes one, or very many."""

ROUNDS_MAX = 5
"""Of one take-over, each from a newer snapshot: an owner that is alive writes one in minutes, and a
round takes seconds."""

RANDOM_BYTES = 8
"""Of an owner id: they are random; the others name the machine and the process."""

LOOK_AGAIN_S = 0.2
"""Between two looks for a message that a kept outcome needs and that is not on its topic."""

log = structlog.get_logger("mqk.owner")


class LedgerUnreadableError(Exception):
    """An entry of the ledger cannot be read or applied; nothing was changed on Kafka."""


class Replayed(Struct):
    """The core that the ledger describes, how it was won, and each owner's last valid n.

    snapshot: where the one is that it began with, in the ledger. entries, bytes: read behind it.
    owner: who owns it now. replaced: whom it has replaced, at first if it took over in rounds.
    """

    qm: QueueManager
    taken: port.TakenOver
    last_n_of: dict[bytes, int]
    snapshot: port.Position | None = None
    entries: int = 0
    bytes: int = 0
    owner: builtins.bytes = NOBODY
    replaced: builtins.bytes = NOBODY


class Replay:
    """A core that is built from a snapshot, or from nothing, and from the entries behind it."""

    def __init__(
        self,
        name: str,
        limits: Limits | None,
        snapshot: Snapshot | None,
        tally: Tally | None = None,
    ) -> None:
        """Restore the snapshot. Raises LedgerUnreadableError."""
        self.qm = QueueManager(name, NOBODY, limits, xml=XmlBodies(), tally=tally)
        self.snapshot = snapshot
        self.last_n_of: dict[bytes, int] = {}
        self.last: port.Entry | None = None
        """The entry that was applied last; None if there was none behind the snapshot."""
        self.entries = 0
        self.bytes = 0
        self.unfit = 0
        """How many records did not fit the state, wholly or in part."""
        self._reader = descriptor.DescriptorReader()
        if snapshot is not None:
            self.last_n_of[snapshot.after.owner] = snapshot.cut_n
            restore(self.qm, snapshot, self._reader)

    @property
    def position(self) -> port.Position | None:
        """The last entry that this core knows; None: it knows nothing."""
        if self.last is not None:
            return port.Position(self.last.offset, self.last.owner, self.last.n)
        return self.snapshot.after if self.snapshot is not None else None

    def has_passed(self, position: port.Position) -> bool:
        """Whether this core knows the entry at a position, or a later one."""
        at = self.position
        return at is not None and position.offset <= at.offset

    def apply(self, entry: port.Entry) -> None:
        """Apply the next entry. Raises LedgerUnreadableError."""
        self.last = entry
        if self.snapshot is not None and covers(self.snapshot, entry.owner, entry.n):
            return
        self.last_n_of[entry.owner] = entry.n
        self.entries += 1
        self.bytes += len(entry.payload)
        try:
            for record in entries.decode(entry.payload, self._reader):
                unfit = dispatch.replay(self.qm, record)
                if unfit:
                    self._note(entry, record, unfit)
        except UNFIT as error:
            check_readable(self.qm.name, entry.payload, f" from offset {entry.offset} on")
            raise LedgerUnreadableError(
                f"the ledger of {self.qm.name} cannot be replayed: offset {entry.offset}, owner "
                f"{entry.owner.hex()}, n {entry.n}: {error!r}. Run `mqk ledger show --from "
                f"{entry.offset}` with the release that wrote it, start that release, or restore a "
                "backup (mqk ledger restore)."
            ) from error

    def _note(self, entry: port.Entry, record: Record, why: str) -> None:
        """Say that what an entry says has no effect."""
        self.unfit += 1
        if self.unfit <= UNFIT_MAX:
            log.warning(
                "a record of the ledger does not fit what is before it, and is left out as far",
                queue_manager=self.qm.name, offset=entry.offset, record=type(record).__name__,
                reason=why,
            )  # fmt: skip

    def begin_term(self, owner: bytes, taken: port.TakenOver) -> Replayed:
        """End: the ledger has been taken over, behind the last entry."""
        dispatch.begin_term(self.qm, owner, taken.offset)
        after = self.snapshot.after if self.snapshot is not None else None
        return Replayed(
            self.qm, taken, self.last_n_of, after, self.entries, self.bytes, owner, taken.last_owner
        )


def take_over(
    name: str,
    owner: bytes,
    who: str,
    ledger: port.Ledger,
    limits: Limits | None,
    storage: Storage | None = None,
    *,
    check: bool = False,
    again: bool = False,
    instead_of: bytes | None = None,
    followed: Replay | None = None,
    tally: Tally | None = None,
) -> Replayed:
    """Become the owner, and replay what the newest snapshot and the ledger hold.

    check: refuse a ledger that others know to have lost entries, before anything is written. again,
    instead_of: whom alone to replace, see the ledger's port. followed: what has been replayed
    already; if the ledger has been trimmed past it, it is of no use. It was read from the ledger,
    which is read on where that ended: so only what others know to lie behind is looked for, and no
    newer snapshot. tally: of this process's term before, whose counts go on.
    """
    replaced: bytes | None = None
    for rounds in count(1):
        snapshot, known = _ask(ledger, storage, followed, check=check)
        try:
            ledger.check(known)
            replay = followed or Replay(name, limits, snapshot, tally)
            taken = ledger.take_over(
                owner, who, replay.apply, replay.position, again=again, instead_of=instead_of
            )
            replaced = taken.last_owner if replaced is None else replaced
            replayed = replay.begin_term(owner, taken)
            replayed.replaced = replaced
            if storage is not None:
                _complete(replayed.qm, storage, snapshot)
        except (port.LedgerMismatch, port.LedgerUnavailable):
            if storage is None or rounds >= ROUNDS_MAX:
                raise
            if followed is None and not _is_outdated(ledger, storage, snapshot, known):
                raise
            followed = None
            if replaced is not None:  # this id is in the ledger: no two changes have the same one
                owner = os.urandom(RANDOM_BYTES) + owner[RANDOM_BYTES:]
            continue
        return replayed
    raise AssertionError("the last round returns or raises")


def _is_outdated(
    ledger: port.Ledger, storage: Storage, snapshot: Snapshot | None, known: list[port.Known]
) -> bool:
    """Whether an owner that is alive has changed what a take-over began with: it wrote a newer
    snapshot, and trimmed the ledger or topics. That others have copied more is no reason to try
    again: what failed before fails again.
    """
    if storage.snapshots.newest() != snapshot:
        return True
    return bool(known) and min(one.position.offset for one in known) < ledger.bounds()[0]


def check_readable(name: str, payload: bytes, where: str = "") -> None:
    """Refuse what a later release wrote: an entry, or a part of a snapshot, which is one too.

    where: it is. Without that nothing has been written by this process.
    """
    version = payload[0] if payload else VERSION
    if version in range(VERSION + 1, VERSIONS_END):
        remedy = "start that release, or a later one"
        raise LedgerUnreadableError(
            f"the ledger of {name} was written by a later release{where}: its entries have schema "
            f"version {version}, and this release reads version {VERSION}"
            f"{'; ' if where else '. Nothing was written; '}{remedy}"
        )


def _ask(
    ledger: port.Ledger, storage: Storage | None, followed: Replay | None, *, check: bool
) -> tuple[Snapshot | None, list[port.Known]]:
    """Return the snapshot to begin with, and the entries that the ledger must have.

    All is asked at once, and what the take-over needs is got ready: each waits for Kafka's first
    answer. followed: has its snapshot, and knows all up to its position.
    """
    snapshot = followed.snapshot if followed is not None else None
    if storage is None:
        return snapshot, []
    with ThreadPoolExecutor(3, "take-over") as threads:
        newest = threads.submit(storage.snapshots.newest) if followed is None else None
        copied = threads.submit(storage.known) if check else None
        ready = threads.submit(ledger.prepare)
    ready.result()
    if newest is not None:
        snapshot = newest.result()
    known = known_entries(copied.result(), snapshot) if copied is not None else []
    if followed is not None:
        known = [one for one in known if not followed.has_passed(one.position)]
    return snapshot, known


def known_entries(copied: list[port.Known], snapshot: Snapshot | None) -> list[port.Known]:
    """Say which entries a ledger must have: those that movers copied, and its newest snapshot's."""
    if snapshot is None:
        return copied
    how = f"its newest snapshot is as of offset {snapshot.after.offset}"
    return [*copied, port.Known(snapshot.after, how)]


def _complete(qm: QueueManager, storage: Storage, snapshot: Snapshot | None) -> None:
    """Read the messages that kept outcomes speak of.

    One that stays missing is gone: it was got, and only its client may ask for it again. So that
    outcome is refused, and nothing else is. Raises LedgerUnavailable if topics cannot be read, or
    if they have been trimmed behind a newer snapshot, which is to be begun with.
    """
    looks = iter(range(round(PAGE_TIMINGS.missing_s / LOOK_AGAIN_S)))
    for (session, number), absent in list(qm.absent.items()):
        kept = qm.sessions.get(session)
        if kept is None or number not in kept.outcomes:
            del qm.absent[session, number]  # its client has seen it since
            continue
        text = "an outcome that a client may ask for cannot be completed"
        read: list[Paged] | None = None
        try:
            read = _read_absent(storage.pages, absent, looks)
        except MessageMissingError as error:
            if storage.snapshots.newest() != snapshot:
                raise port.LedgerUnavailable(f"{text}: {error}") from error
            log.error(f"{text}: its message is gone", queue_manager=qm.name, reason=str(error))
        except PagesUnavailableError as error:
            raise port.LedgerUnavailable(f"{text}: {error}") from error
        dispatch.load_outcome(qm, session, number, read)


def _read_absent(pages: PageReader, absent: Absent, looks: Iterator[int]) -> list[Paged]:
    """Read the messages of one outcome. What is missing is looked for again while looks has some
    left: a new leader may not know it yet. Raises PagesUnavailableError.
    """
    while True:
        try:
            return [_read_kept(pages, absent, taken) for taken in absent.missing()]
        except MessageMissingError:
            if next(looks, None) is None:
                raise
            threading.Event().wait(LOOK_AGAIN_S)


def _read_kept(pages: PageReader, absent: Absent, taken: Taken) -> Paged:
    """Read one message from its topic. Raises PagesUnavailableError."""
    found = pages.read(taken.queue, absent.incarnation, taken.lane, taken.seq, 1).messages
    if not found or found[0].seq != taken.seq:
        raise MessageMissingError(
            f"message {taken.seq} of lane {taken.lane} of {taken.queue} is not on its topic"
        )
    return found[0]


def restore(qm: QueueManager, snapshot: Snapshot, reader: descriptor.DescriptorReader) -> None:
    """Bring an empty core to the state of a snapshot."""
    part = b""
    try:
        for part in snapshot.parts:
            for record in entries.decode(part, reader):
                dispatch.replay(qm, record)
    except UNFIT as error:
        check_readable(qm.name, part, " and has a snapshot of it")
        raise LedgerUnreadableError(
            f"the newest snapshot of {qm.name} (as of n {snapshot.cut_n}) cannot be read: "
            f"{error!r}. Start the release that wrote it, or a newer one."
        ) from error


def carry_over(old: QueueManager, new: QueueManager, void: Collected) -> int:
    """Bring the non-persistent messages of a core that lived on into the one from the ledger.

    void: what the old core did that did not happen; its effects on them are undone first. Units
    that held them are gone, so their backout counts rise, unless no program was shown what a unit
    held; nor do those of what a browse had locked.
    Returns how many messages were brought.
    """
    _give_up_unseen(old)
    never_put = {  # non-persistent messages
        (put.queue, -put.lane, put.seq, put.n)
        for record in void.records
        if isinstance(record, UnitCommitted) and not record.logged
        for put in record.puts
    }
    got_back: dict[str, list[Stored]] = {}
    for name, stored in void.removed:
        got_back.setdefault(name, []).append(stored)
    brought = 0
    for target in new.queues.values():
        soft = got_back.get(target.name, [])
        queue = old.queues.get(target.name)
        if queue is not None and queue.incarnation == target.incarnation:
            soft += [stored for stored in queue.stored.values() if stored.place[2]]
        for stored in sorted(soft, key=lambda stored: stored.place):
            destination = stored.message.destination
            is_lost = bool(destination) and destination not in new.queues
            if (target.name, *stored.place) not in never_put and not is_lost:
                _bring(new, target, stored)
                brought += 1
    _bring_outcomes(old, new, void.records)
    return brought


def _give_up_unseen(old: QueueManager) -> None:
    """Unlock what browses and units ahead had locked: no program was shown it to process it."""
    for connection in old.connections.values():
        for unit in connection.units.values():
            for _, stored in unit.gets if unit.ahead else ():
                stored.locked = False
        for handle in connection.handles.values():
            if isinstance(handle, QueueHandle) and handle.locked is not None:
                handle.locked.locked = False


def _bring(new: QueueManager, queue: LocalQueue, stored: Stored) -> None:
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
    new.add_expiry(queue, stored)
    new.add_delay(stored)


def _bring_outcomes(old: QueueManager, new: QueueManager, void: list[Record]) -> None:
    """Keep the outcomes of commands that moved messages and that the ledger need not know.

    Other outcomes may rest on what did not happen, and nothing is lost by deciding them again.
    """
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
        _bring_units(session, kept, void)
        for number, result in session.outcomes.items():
            if number not in kept.outcomes and (ident, number) not in never and _moved(result):
                kept.keep(number, result)


def _bring_units(old: Session, new: Session, void: list[Record]) -> None:
    """Keep which units were committed that the ledger need not know: nothing of them persists."""
    for record in void:
        if isinstance(record, UnitCommitted) and record.verb == "commit":
            number = unit_number(record.unit)
            if record.unit.startswith(new.ident) and number not in new.committed:
                old.committed.discard(number)
    new.committed, new.forgotten = old.committed, max(old.forgotten, new.forgotten)


def _moved(result: Result) -> bool:
    return bool(result.messages) if isinstance(result, Messages) else type(result) is not Refused
