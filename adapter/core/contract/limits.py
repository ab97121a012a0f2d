"""The bounds that a queue manager keeps to. They are settings; the server may set others."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """The bounds of a queue manager, each with its reason."""

    unit_messages: int = 10_000
    """max_uncommitted_messages: a unit is one entry of the ledger and one of its replays."""
    unit_bytes: int = 101 * 1024 * 1024
    """What one unit puts: the longest message that there is, with its properties. A unit is one
    entry of the ledger, and what comes behind it waits until it is written."""
    held_bytes: int = 512 * 1024 * 1024
    """Bodies in memory that all units together may hold, put and got."""
    handles_per_connection: int = 256
    """MQ's default MAXHANDS."""
    units_per_connection: int = 10_000
    """One for each task of a busy program; an empty one is a few hundred bytes."""
    waiters_per_queue: int = 10_000
    """A put looks at each waiter that it may serve."""
    waiters_per_connection: int = 10_000
    """One for each task of a busy program."""
    window_messages: int = 1_000
    """Of each lane, in memory; fewer if there are many queues. The rest is read when it is due."""
    window_bytes: int = 8 * 1024 * 1024
    """Of each lane's bodies."""
    window_total: int = 200_000
    """All lanes of all queues share so many messages: about 300 MB of small ones."""
    queues: int = 10_000
    """Each has a topic of its own: bounds partitions on Kafka."""
    objects: int = 10_000
    """Other than local queues: a few hundred bytes each, and a record in every snapshot."""
    feeds: int = 100
    """Each has a consumer and threads of its own."""
    exports: int = 1_000
    """Each has two producers and a topic of its own while it has messages."""
    authority_records: int = 100_000
    """Some hundred bytes each, and a record in every snapshot; beside those of new objects."""
    retained_bytes: int = 64 * 1024 * 1024
    """Bodies of retained publications: they stay in memory, and a subscription may ask for all."""
    sessions: int = 100_000
    """About 1 KB each; the longest detached is forgotten first."""
    parked_bytes: int = 256 * 1024 * 1024
    """What may wait for a topic that cannot be written: the ledger keeps it meanwhile."""
    uncopied_bytes: int = 256 * 1024 * 1024
    """What may wait for movers that lag or hold: it stays in memory. Eight times what waited under
    the most load that was measured; as much as for one parked topic."""
    kept_bytes: int = 64 * 1024 * 1024
    """Messages got outside units, of each session, whose arrival its client has not told: as much
    as 16 threads with messages of 4 MiB. One more may be given below this, the next one waits."""
    session_expiry_ms: int = 3_600_000
    """How long a disconnected client can resume its session."""
    units_shown: int = 10_000
    """In one answer, about 1 MB; an operator wants to see the oldest."""
    handles_shown: int = 10_000
    """As much, for the same reason."""
    statistics_per_tick: int = 1_000
    """Queues: at most 400 KB of an entry, and one tick stays short; the rest is due next."""
    released_per_step: int = 1_000
    """Delayed messages, so that a step stays short; the rest is due at once."""
    statistics_interval_s: int = 0
    """STATINT, where it was not altered. Off, but for queue managers that are processes: a
    test that moves the clock sees nothing but what it asked for."""
