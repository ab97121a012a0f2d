"""A standby follows the ledger of a live owner, so that taking it over takes a moment.

A follower applies what the owner writes to a core of its own. It begins again with a newer
snapshot of the owner when it has read about as many entries as a restart would read: so its memory
stays that of a restart, and it never needs what the owner has trimmed.

It also decides when the owner is to be replaced, which concerns liveness and never safety: the
ledger itself sees to it that one owner counts. The owner is replaced when it has written nothing
for some heartbeats, when it was a process of this machine that has ended, when the link to it says
so, or when its process was stopped while the queue manager goes on. Time spent without an answer
from Kafka is no silence: the ledger is asked before the owner is replaced, and only the owner that
was silent is.

Of several standbys the one goes first to which the owner handed over, or else the one of the
highest priority; the others wait a little, and ask again.

This module serves nothing and writes nothing. follow() runs in a thread of its own, and is made of
step()s: each reads what has come, and decides by the ledger and the clock that it was made with.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from msgspec import Struct
from msgspec.structs import replace

from adapter.core.contract.limits import Limits
from adapter.host import logs
from adapter.runtime.owner import clock, liveness
from adapter.runtime.owner.announcement import Announcement
from adapter.runtime.owner.owner_signs import (
    PING_S,
    PINGS_MISSED,
    FollowProgress,
    LinkEvidence,
    OwnerSigns,
)
from adapter.runtime.owner.owner_watch import OwnerWatch
from adapter.runtime.owner.replay import Replay
from adapter.runtime.owner.storage import SNAPSHOT_BYTES, SNAPSHOT_ENTRIES
from adapter.storage.ledger.port import (
    Entry,
    LastRecord,
    Ledger,
    LedgerMismatch,
    LedgerReader,
    LedgerUnavailable,
    Position,
)
from adapter.storage.ledger.snapshots import Snapshot, SnapshotLog

READ_S = 0.05
"""How long it waits for the next entry before it looks whether the owner's process has ended."""
RETRY_S = 0.2
"""Before Kafka is asked again that did not answer."""
GIVE_WAY_S = 0.3
"""How long a standby waits for each that goes before it: about as long as a take-over."""
GIVE_WAY_MAX_S = 1.5
HANDED_OVER_S = 3.0
"""How long the others wait for the standby to which the owner handed over."""

log = structlog.get_logger("mqk.owner")
repetitions = logs.Repetitions()


class Vacancy(Struct, frozen=True):
    """An owner that is to be replaced. owner: its id, b"" if there was none. why: a clause."""

    owner: bytes
    why: str


class HandedOver(Struct, frozen=True):
    """The owner has handed over. to: the name of a standby. until_s: how long it is waited for."""

    to: str
    until_s: float


class FollowedOwner(Struct):
    """The owner that is followed, and what was heard of it. ident: b"" for none.

    heard_s, heard_ms: when it wrote last, as far as is known, by this process's clock and by that
    of Kafka. has_stopped: its last entry that was read says so. handed_over: to another standby,
    which is waited for.
    """

    ident: bytes
    announced: Announcement
    process: liveness.OwnerProcess
    heard_s: float = 0.0
    heard_ms: int = -1
    has_stopped: bool = False
    handed_over: HandedOver | None = None


class FollowBounds(Struct, frozen=True, kw_only=True):
    """When a follower begins again with a newer snapshot: after so many entries, or bytes.

    silence_s: an owner that writes nothing for so long is replaced, whatever else is known.
    """

    entries: int = 2 * SNAPSHOT_ENTRIES
    bytes: int = 2 * SNAPSHOT_BYTES
    silence_s: float = 0.0


class StoppedForGood(Exception):  # noqa: N818 -- it says what has happened
    """An operator has stopped the queue manager: a standby ends too."""


class LedgerFollower:
    """Follows the ledger of one queue manager; follow() runs in one thread."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        make_reader: Callable[[Position | None], LedgerReader],
        snapshots: SnapshotLog,
        limits: Limits | None,
        heartbeat_s: float,
        on_following: Callable[[], object],
        bounds: FollowBounds | None = None,
        now_s: Callable[[], float] = clock.now_s,
        *,
        standby: str = "",
        signs: OwnerSigns | None = None,
    ) -> None:
        """ledger: is asked, and not written. heartbeat_s: how often the owner writes at least.
        on_following: is called in the thread of follow(), whenever it begins to follow an owner.
        standby: the name of this one. signs: what is heard of the owner besides.
        """
        self._standby = standby
        self._signs = signs or OwnerSigns()
        self.progress = FollowProgress()
        """How far it is; for any thread."""
        self._on_following = on_following
        self._now_s = now_s
        self._watch = OwnerWatch(ledger, self._signs, now_s)
        self._name = name
        self._ledger = ledger
        self._make_reader = make_reader
        self._snapshots = snapshots
        self._limits = limits
        silence_s = liveness.SILENCES * heartbeat_s
        self._bounds = replace(bounds or FollowBounds(), silence_s=silence_s)
        self._given_up = threading.Event()
        self._reader: LedgerReader | None = None
        self._replay: Replay | None = None
        self._renewed_at = (0, 0)
        """Entries and bytes when a newer snapshot was looked for last."""
        self._owner = FollowedOwner(b"", Announcement(), liveness.OwnerProcess(b""))
        self._has_looked = False
        """Whether it is known that the ledger has an owner which is to be followed."""
        self._has_followed = False
        self._is_answered = True
        """Whether Kafka answered in the last step."""

    @property
    def owner_text(self) -> str:
        """Say for people who owns the queue manager."""
        owner = self._owner
        return owner.announced.text or f"owner {owner.ident.hex()}" if owner.ident else "its ledger"

    def give_up(self) -> None:
        """Let follow() return None soon. From any thread."""
        self._given_up.set()

    def take(self) -> Replay | None:
        """Hand over what has been replayed, once."""
        replay, self._replay = self._replay, None
        self._renewed_at = (0, 0)
        return replay

    def follow(self) -> Vacancy | None:
        """Follow until the owner is to be replaced, or until it is given up (None). Blocking.

        Raises what step raises.
        """
        vacancy = None
        try:
            while vacancy is None and not self._given_up.is_set():
                vacancy = self.step()
                if not self._is_answered:
                    self._given_up.wait(RETRY_S)
        finally:
            self.rest()
        return vacancy

    def rest(self) -> None:
        """Follow no more for now: the next step looks again who owns the ledger."""
        self._close_reader()
        self._has_looked = False

    def step(self) -> Vacancy | None:
        """Read what has come, and say whether the owner is to be replaced. Blocking.

        Raises StoppedForGood, LedgerUnavailable that no retry helps, and LedgerMismatch or
        LedgerUnreadableError for a ledger that cannot be followed.
        """
        self._is_answered = True
        try:
            return self._step() if self._has_looked else self._look_first()
        except LedgerUnavailable as error:
            self._note_unanswered(error)
            return None

    def _look_first(self) -> Vacancy | None:
        """Say whether the ledger has no owner that could be followed."""
        self._owner.heard_s = self._now_s()
        sign = self._ledger.last_record()
        if sign is None:
            return Vacancy(b"", "its ledger has no owner")
        self._notice(sign.owner)
        self._owner.heard_ms = sign.time_ms
        if liveness.has_stopped(sign.payload) and not self._waits_for_successor(sign.payload):
            if self._has_followed:  # else this is a start, which brings a stopped one back
                self._refuse_for_good(sign)
            return Vacancy(sign.owner, "its last owner was stopped")
        self._has_looked = self._has_followed = True
        self._on_following()
        return None

    def _step(self) -> Vacancy | None:
        try:
            replay, reader = self._begin()
            entries = reader.read(READ_S)
        except LedgerMismatch:
            if not self._begin_again():
                raise
            return None
        for entry in entries:
            replay.apply(entry)
        self._note_progress(*reader.offset_and_end())
        self._owner.announced = self._watch.look() or self._owner.announced
        if entries:
            self._hear(entries[-1])
            if not self._owner.has_stopped:
                return None
        return self._look()

    def _note_progress(self, offset: int, end: int) -> None:
        end = max(end, self._signs.end_offset)
        now_s = self._now_s()
        there_s = now_s if offset >= end else self.progress.there_s or now_s
        self.progress = FollowProgress(offset, end, there_s, now_s - there_s)

    def _hear(self, last: Entry) -> None:
        """The owner has written."""
        self._notice(last.owner)
        owner = self._owner
        owner.heard_s, owner.heard_ms = self._now_s(), last.time_ms
        owner.has_stopped = liveness.has_stopped(last.payload)
        if owner.has_stopped:
            self._waits_for_successor(last.payload)
        self._signs.forgive()
        self._renew()

    def _look(self) -> Vacancy | None:
        """Say whether the owner, which has stopped or writes nothing, is to be replaced."""
        owner = self._owner
        silent_s = self._now_s() - owner.heard_s
        evidence, other = self._signs.evidence, owner.handed_over
        if other is not None:
            if self._now_s() < other.until_s:
                return None
            return self._confirm(f"{other.to}, to which it was handed over, did not come")
        if owner.has_stopped:
            return self._confirm("it was stopped")
        if owner.process.has_ended():
            return self._confirm("its process has ended")
        if evidence is LinkEvidence.ENDED:
            return self._confirm("the link to it broke, and its port is closed")
        if evidence is LinkEvidence.SILENT and silent_s >= PINGS_MISSED * PING_S:
            why = f"it has answered no ping and written nothing for {silent_s:.1f} s"
            return self._confirm(why, silent_for_s=PINGS_MISSED * PING_S)
        if silent_s >= self._bounds.silence_s:
            why = f"it has written nothing for {silent_s:.1f} s"
            return self._confirm(why, silent_for_s=self._bounds.silence_s)
        return None

    def _confirm(self, why: str, *, silent_for_s: float = 0.0) -> Vacancy | None:
        """Ask the ledger itself whether this owner is still in force, and what it wrote last.

        silent_for_s: its silence is what there is against it, so what it wrote last must not be
        news, and so old.
        """
        sign = self._ledger.last_record()
        if sign is None:
            return None
        is_news = sign.owner != self._owner.ident or (
            silent_for_s and sign.time_ms != self._owner.heard_ms
        )
        self._notice(sign.owner)
        self._owner.heard_ms = sign.time_ms
        if is_news:
            self._owner.heard_s = self._now_s()
            self._signs.forgive()
            return None
        if self._owner.handed_over is None and self._waits_for_successor(sign.payload):
            return None
        return self._give_way(Vacancy(sign.owner, why), sign)

    def _waits_for_successor(self, payload: bytes) -> bool:
        """Whether the last entry of an owner hands over to another standby, which has time now."""
        successor = liveness.successor_in(payload)
        if successor in ("", self._standby):
            return False
        self._owner.handed_over = HandedOver(successor, self._now_s() + HANDED_OVER_S)
        return True

    def _give_way(self, vacancy: Vacancy, sign: LastRecord) -> Vacancy | None:
        """Let other standbys go first that the owner told of; None if one has taken over.

        sign: the owner's last entry. Raises StoppedForGood if an operator stopped it.
        """
        self._refuse_for_good(sign)
        ahead = self._signs.ahead
        if not ahead or liveness.successor_in(sign.payload):
            return vacancy
        if self._given_up.wait(min(ahead * GIVE_WAY_S, GIVE_WAY_MAX_S)):
            return None
        now = self._ledger.last_record()
        if now is None or now.owner == vacancy.owner:
            return vacancy if now is not None else None
        self._notice(now.owner)
        return None

    def _refuse_for_good(self, sign: LastRecord) -> None:
        if liveness.is_stopped_for_good(sign.payload):
            raise StoppedForGood(f"queue manager {self._name} was stopped, and its standby with it")

    def _notice(self, owner: bytes) -> None:
        if owner != self._owner.ident:
            announced = self._watch.begin(owner)
            process = liveness.OwnerProcess(owner)
            self._owner = FollowedOwner(owner, announced, process, self._now_s())

    def _note_unanswered(self, error: LedgerUnavailable) -> None:
        """Kafka does not answer: the owner's silence says nothing."""
        if not error.retriable:
            raise error
        repetitions.warn(log, "ledger not followed", queue_manager=self._name, reason=str(error))
        self._close_reader()
        self._is_answered = False
        self._owner.heard_s = self._now_s()

    # What is followed.

    def _begin(self) -> tuple[Replay, LedgerReader]:
        if self._replay is None:
            self._replay = Replay(self._name, self._limits, self._snapshots.newest())
        if self._reader is None:
            self._reader = self._make_reader(self._replay.position)
        return self._replay, self._reader

    def _renew(self) -> None:
        """Begin again with a newer snapshot, if it is time."""
        replay, bounds = self._replay, self._bounds
        assert replay is not None, "entries were applied to it"
        entries, size = self._renewed_at
        if replay.entries - entries < bounds.entries and replay.bytes - size < bounds.bytes:
            return
        self._renewed_at = replay.entries, replay.bytes  # without one: as much later again
        try:
            self._begin_again()
        except LedgerMismatch as error:  # what is followed is not touched by that
            repetitions.warn(log, "no newer snapshot", queue_manager=self._name, reason=str(error))

    def _begin_again(self) -> bool:
        """Begin again with a newer snapshot than what has been read; else False."""
        newest = self._snapshots.newest()
        replay = self._replay
        if newest is None or (replay is not None and not _is_newer(newest, replay.snapshot)):
            return False
        self._close_reader()
        self._replay = Replay(self._name, self._limits, newest)
        self._renewed_at = (0, 0)
        return True

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _is_newer(one: Snapshot, other: Snapshot | None) -> bool:
    return other is None or (one.after.offset, one.cut_n) > (other.after.offset, other.cut_n)
