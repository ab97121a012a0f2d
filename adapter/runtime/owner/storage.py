"""What an owner keeps elsewhere so that its memory stays flat: ports, and what comes through them.

Messages come back from their topics as pages; snapshots stand for the ledger's older entries; the
movers say how much of the ledger they have copied. This module knows no Kafka.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from adapter.storage.ledger.port import Known
from adapter.storage.ledger.snapshots import SnapshotLog
from adapter.storage.topics.port import PageReader, Trimmer

NOTHING = -1
FOREVER = -1
SNAPSHOT_ENTRIES = 10_000
SNAPSHOT_BYTES = 16 * 1024 * 1024
"""About a second of replay with small messages."""


class CopyStatus(Struct):
    """How far the ledger has been copied, in its offsets; NOTHING if that is not known.

    position: the entries up to it have their copies on the topics for good. kept: records from
    this one on will be read again by some mover. parked: queues that are left out of position.
    """

    position: int = NOTHING
    kept: int = NOTHING
    parked: frozenset[str] = frozenset()


class HousekeepingBounds(Struct, kw_only=True):
    """How long housekeeping waits for what, and how much a snapshot may hold."""

    audit_sweeps: int = 150
    """So many sweeps (30 s) lie between two looks at the topics that everything rests on."""
    patience: int = 25
    """So many times (5 s) it looks whether all that a snapshot holds has been copied; then the
    messages that have not are written with it."""
    carried_bytes: int = 256 * 1024 * 1024
    """Of such messages, in one snapshot; while more wait, none is taken. A topic may have as
    many."""
    behind_bytes: int = 1024 * 1024 * 1024
    """Of the ledger behind the newest snapshot, if none can be written: what a start has to read
    and apply is some minutes then, in which nothing is served, and it is said to be trouble."""
    last_copies_s: float = 1.0
    """How long at the end the movers are waited for; a moment is enough, if nothing is amiss."""
    last_carried_bytes: int = 4 * 1024 * 1024
    """Of such messages, in a snapshot that is written at the end: there is no time for more."""


class Storage(Struct, kw_only=True):
    """snapshot_entries: how many entries of the ledger, or bytes of them, make a new snapshot due.

    A restart reads at most about so many, and what came while the movers were behind.
    retention_ms: how long consumed messages stay on their topics at least; see owner.retention.
    Without a trimmer they stay for ever. known: entries that the ledger must have, because others
    have read them; blocking, raises LedgerError. prepare: makes known faster once, for a standby;
    likewise. topic_problems: what is wrong with the topics' settings now, a sentence each; without
    it they are not checked; likewise. cluster_id: of the Kafka that all this is on.
    """

    snapshots: SnapshotLog
    topic_problems: Callable[[], list[str]] | None = None
    known: Callable[[], list[Known]] = list
    prepare: Callable[[], object] = lambda: None
    pages: PageReader
    copied: Callable[[], CopyStatus]
    trimmer: Trimmer | None = None
    retention_ms: int = FOREVER
    snapshot_entries: int = SNAPSHOT_ENTRIES
    snapshot_bytes: int = SNAPSHOT_BYTES
    bounds: HousekeepingBounds = msgspec.field(default_factory=HousekeepingBounds)
    cluster_id: str = ""
