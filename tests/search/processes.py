"""The processes of a search: production objects that are copied before they act.

A process is a standby that follows, one that takes over, or an owner. What it does is done by
LedgerFollower, by adapter.runtime.owner.replay.take_over and by MemoryLedger with Term, Scan and
Validity; only the core is a stand-in, which knows the entries that it was given and nothing of
queues.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar
from unittest import mock

from adapter.core.contract.records import EventRaised, Record
from adapter.core.rules.primitives.lifetime import FOR_GOOD, STOPPED
from adapter.runtime.owner import following, liveness, replay
from adapter.runtime.owner.announcement import OwnerPlace
from adapter.runtime.owner.following import FollowBounds, LedgerFollower, Vacancy
from adapter.runtime.owner.owner_signs import PING_S, PINGS_MISSED, LinkEvidence, OwnerSigns
from adapter.runtime.owner.replay import Replay
from adapter.storage.format import descriptor, entries
from adapter.storage.ledger import signs
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader
from adapter.storage.ledger.port import Entry, Position
from adapter.storage.ledger.snapshots import Snapshot
from tests.search.topic import SearchedTopic, View
from tests.support.at_once import in_one_thread

NAME = "QM1"
HEARTBEAT_S = 1.0
SILENCE_S = liveness.SILENCES * HEARTBEAT_S
PINGS_S = PINGS_MISSED * PING_S
"""So long an owner has written nothing that is replaced for the pings that it has not answered."""
WINDOWS = (7, 12, 1_000)
LATE_ENTRIES_MAX = 4
"""Of the last records so few are looked at that they may begin behind the last announcement."""
RENEW_ENTRIES = 2
"""A follower looks for a newer snapshot after so many entries."""

FOLLOWS, VACANT, READ, OWNS, DOUBTS, READ_AGAIN, ENDED, STOPPED_FOR_GOOD = (
    "follows",
    "found vacant",
    "has read",
    "owns",
    "is in doubt",
    "has read again",
    "has ended",
    "was stopped for good",
)

TOPIC = SearchedTopic()
DEAD: set[bytes] = set()
"""Owners whose process has ended, if the process that acts is told."""
MUTE: set[bytes] = set()
"""Owners that have left pings unanswered of the process that acts."""


@cache
def payload_of(label: int) -> bytes:
    """Make an entry; 0 and -1 are the last ones of an owner that hands over, and for good."""
    if label <= 0:
        details = {FOR_GOOD: "yes"} if label else {}
        return entries.encode([EventRaised(STOPPED, NAME, 0, details)])
    return entries.encode([EventRaised("appended", NAME, label, {})])


class AppliedCore:
    """Stands for a core: knows the entries that were applied, in order."""

    def __init__(self, name: str, _owner: bytes = b"", *_: object, **__: object) -> None:
        self.name = name
        self.applied: tuple[bytes, ...] = ()
        self.began: tuple[bytes, int] | None = None
        self.absent: dict[object, object] = {}
        self.sessions: dict[object, object] = {}


class CoreDispatch:
    """Stands for adapter.core.dispatch."""

    @staticmethod
    def replay(core: AppliedCore, record: Record) -> None:
        """Apply one record: each entry has one."""
        assert core.began is None, "an entry is applied to a core whose term has begun"
        assert isinstance(record, EventRaised), record
        label = -(FOR_GOOD in record.details) if record.kind == STOPPED else record.time_ms
        core.applied = (*core.applied, payload_of(label))

    @staticmethod
    def begin_term(core: AppliedCore, owner: bytes, offset: int) -> None:
        """Begin a term."""
        core.began = owner, offset


def restore(core: AppliedCore, snapshot: Snapshot, _reader: object) -> None:
    """Stand for adapter.runtime.owner.replay.restore: the parts of a snapshot are entries."""
    core.applied = tuple(snapshot.parts)


class OwnerProcess:
    """Stands for liveness.OwnerProcess: has an owner's process ended, as far as is told?"""

    def __init__(self, owner: bytes) -> None:
        self._owner = owner

    def has_ended(self) -> bool:
        """See liveness.OwnerProcess."""
        return self._owner in DEAD


class SearchedSigns(OwnerSigns):
    """Stands for a link: what does it say of the owner that is watched?"""

    def __init__(self) -> None:
        self.watched = b""

    @property
    def evidence(self) -> LinkEvidence:
        """See OwnerSigns."""
        if self.watched in DEAD:
            return LinkEvidence.ENDED
        return LinkEvidence.SILENT if self.watched in MUTE else LinkEvidence.NOTHING

    def watch(self, owner: bytes, place: OwnerPlace) -> None:
        """See OwnerSigns."""
        self.watched = owner


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Let the production code use the stand-ins."""
    quiet = mock.Mock()
    decode = cache(entries.decode)
    with contextlib.ExitStack() as stack:
        for module, name, value in (
            (replay, "QueueManager", AppliedCore),
            (replay, "dispatch", CoreDispatch),
            (replay, "restore", restore),
            (replay, "XmlBodies", lambda: None),
            (descriptor, "DescriptorReader", lambda: None),
            (liveness, "OwnerProcess", OwnerProcess),
            (following, "log", quiet),
            (following, "repetitions", quiet),
            (signs, "WINDOWS", WINDOWS),
            (signs, "LATE_ENTRIES_MAX", LATE_ENTRIES_MAX),
            (entries, "decode", lambda payload, _reader=None: decode(payload)),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        stack.enter_context(in_one_thread())
        yield


class SearchedLedger(MemoryLedger):
    """A MemoryLedger whose appends stay in flight until the search lets them land."""

    def __init__(self) -> None:
        super().__init__(TOPIC, pumped=True)
        self.sent: list[bytes] = []

    def written(self, value: bytes) -> None:
        """See MemoryLedger: it is in flight."""
        self.sent.append(value)


class SearchedReader(MemoryLedgerReader):
    """What a follower reads by."""

    def read(self, timeout_s: float) -> list[Entry]:
        """See LedgerReader; notes how far that came."""
        found = super().read(timeout_s)
        TOPIC.read_to = self.offset_and_end()[0]
        return found


def make_reader(position: Position | None) -> SearchedReader:
    """Make what a follower reads by."""
    return SearchedReader(TOPIC, position)


def nothing() -> None:
    """Stand for what follows on a follower's first look."""


class SearchedProcess:
    """One process. own: what it has appended in its term. promised: entries it has answered for."""

    def __init__(self) -> None:
        self.known_key: tuple[tuple[bytes, ...], int] | None = None
        self.mode = FOLLOWS
        self.ledger = SearchedLedger()
        self.follower = LedgerFollower(
            NAME,
            self.ledger,
            make_reader,
            TOPIC,  # type: ignore[arg-type]
            None,
            HEARTBEAT_S,
            nothing,
            FollowBounds(entries=RENEW_ENTRIES),
            TOPIC.clock_s,
            signs=SearchedSigns(),
        )
        self.now_s = 0.0
        self.quiet = -1
        """The offset of the owner's last sign when a silence had passed since that was known."""
        self.calm = -1
        """The same, when a shorter time had passed: so that unanswered pings count."""
        self.read_to = 0
        """Up to which offset it has ever read."""
        self.vacancy: Vacancy | None = None
        self.followed: Replay | None = None
        self.view: View | None = None
        self.has_followed = False
        self.drawn: tuple[bytes, ...] = ()
        """Its owner ids."""
        self.owner = b""
        self.core: AppliedCore | None = None
        self.own: tuple[bytes, ...] = ()
        self.promised = 0
        self.stops = False
        self.cut: Snapshot | None = None
        self.trims = -1

    def fork(self) -> SearchedProcess:
        """Return a process that goes its own way from here."""
        process = forked(self)
        process.known_key = None
        process.ledger = ledger = forked(self.ledger)
        ledger._term = forked(ledger._term)
        ledger._attempted = ledger._attempted.copy()
        ledger._reports = ledger._reports.copy()
        ledger.sent = []
        process.follower = follower = forked(self.follower)
        follower._signs = forked(follower._signs)
        follower._ledger = ledger
        follower._watch = forked(follower._watch)
        follower._watch._ledger, follower._watch._signs = ledger, follower._signs
        follower._owner = forked(follower._owner)
        follower._replay = forked_replay(follower._replay)
        process.followed = forked_replay(self.followed)
        reader: Any = follower._reader
        if reader is not None:
            follower._reader = reader = forked(reader)
            reader._scan = scan = forked(reader._scan)
            scan.validity = forked(scan.validity)
            scan._last_n = dict(scan._last_n)
        return process

    def key(self) -> tuple[tuple[bytes, ...], int]:
        """Return all on which it depends what this process does next: owner ids, and a hash."""
        if self.known_key is None:
            self.known_key = self._key()
        return self.known_key

    def _key(self) -> tuple[tuple[bytes, ...], int]:
        ledger, follower = self.ledger, self.follower
        term = ledger._term
        reader: Any = follower._reader
        scan = reader._scan if reader is not None else None
        signs: Any = follower._signs
        silent_s = self.now_s - follower._owner.heard_s
        owners = (
            term.owner if term else b"none",
            follower._owner.ident,
            signs.watched,
            self.vacancy.owner if self.vacancy else b"none",
            scan.validity.owner if scan is not None else b"none",
            *ledger._attempted,
            *self.drawn,
        )
        rest = (
            self.mode,
            (term.next_n, term.durable_n, term.next_offset) if term else (),
            tuple((one.step.n, one.offset, bool(one.failure)) for one in ledger._reports),
            ledger._confirmed.offset if ledger._confirmed else -1,
            follower._owner.has_stopped,
            follower._has_looked,
            follower._has_followed,
            (silent_s >= SILENCE_S, silent_s >= PINGS_S),
            follower._owner.heard_ms,
            follower._renewed_at[0],
            key_of(follower._replay),
            key_of(self.followed),
            (scan.next_offset, scan.validity.next_n, scan.validity.voided) if scan else (),
            self.view[:2] if self.view else (),
            len(self.view.snapshots) if self.view else 0,
            self.stops,
            self.has_followed,
            self.quiet,
            self.calm,
            self.read_to,
            self.promised,
            (self.cut.after.offset, self.cut.cut_n) if self.cut else (),
            self.trims,
        )
        return owners, hash(rest)


T = TypeVar("T")
COMPILED = "__mypyc_attrs__"
"""The names of the attributes of a compiled class."""


def forked(one: T) -> T:
    """Return a copy that shares what is in it."""
    kind: Any = type(one)
    copied: T
    if hasattr(kind, COMPILED):
        copied = kind.__new__(kind)
        for name in getattr(kind, COMPILED):
            setattr(copied, name, getattr(one, name))
    elif hasattr(one, "__dict__"):
        copied = object.__new__(kind)
        copied.__dict__.update(one.__dict__)
    else:
        copied = copy.copy(one)
    return copied


def forked_replay(one: Replay | None) -> Replay | None:
    """Return a replay that goes its own way from here."""
    if one is None:
        return None
    replayed = forked(one)
    replayed.qm = forked(one.qm)
    replayed.last_n_of = dict(one.last_n_of)
    return replayed


def key_of(one: Replay | None) -> tuple[object, ...]:
    """Return what a replay goes on from; what it has applied follows from that, or is a bug."""
    if one is None:
        return ()
    position = one.position
    snapshot = one.snapshot
    return (
        position.offset if position else -1,
        one.entries,
        (snapshot.after.offset, snapshot.cut_n) if snapshot else (),
        len(one.qm.applied),  # type: ignore[attr-defined]
    )
