"""The figures of an owner and of its term, by the names that operators see."""

from __future__ import annotations

from msgspec import Struct


class TermFigures(Struct, kw_only=True):
    """Figures of one term: its loop, ledger, core and housekeeping. Sums begin with the term.

    undone: what housekeeping does not get done for now, and why.
    """

    requests: int
    replies_pending: int
    uncopied_bytes: int
    entries: int
    entries_in_flight: int
    ledger_takeovers: int
    ledger_replayed: int
    ledger_appends: int
    ledger_durable: int
    ledger_doubts: int
    ledger_forged: int
    ledger_waits_s: float
    sessions: int
    queues: int
    messages_in_memory: int
    pages_read: int
    page_failures: int
    snapshots: int
    snapshot_failures: int
    topic_problems: int
    trimmed_offsets: int
    deleted_topics: int
    trim_failures: int
    trims_waiting: int
    units: int
    commits: int
    backouts: int
    undone: dict[str, str]


class OwnerFigures(Struct):
    """Figures of one owner. failed_steps: by which a term ended. term: of its current term, while
    requests are served. kafka_cluster: the id of the Kafka that all is on; "" in memory.
    """

    state: str
    terms: int
    replay_s: float
    failed_steps: int = 0
    term: TermFigures | None = None
    kafka_cluster: str = ""
