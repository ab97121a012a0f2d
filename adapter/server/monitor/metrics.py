"""A queue manager's figures as Prometheus metrics: which there are, what they mean, their text.

FIGURES, MOVERS and QUEUES are tables from the names that statistics() of the parts use; a figure
that is in no table is exported all the same, without a description. Everything here is pure but for
the figures of the process itself, and may run in any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    StateSetMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from adapter.core.contract.results import QueueStatus
from adapter.runtime.network.figures import NetworkFigures
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.server.process.figures import RoleFigures, ServerFigures
from adapter.server.standby.roles import OWNER, STANDBY

ROLES = (OWNER, STANDBY)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricRow(Struct, frozen=True):
    """A metric: a counter's name ends with _total, as Prometheus has it."""

    name: str
    kind: Literal["counter", "gauge"]
    meaning: str


def _counter(name: str, meaning: str) -> MetricRow:
    return MetricRow(name, "counter", meaning)


def _gauge(name: str, meaning: str) -> MetricRow:
    return MetricRow(name, "gauge", meaning)


FIGURES: Mapping[str, MetricRow] = {
    "connections": _gauge("mqk_connections", "Client connections."),
    "sessions": _gauge("mqk_sessions", "Client sessions whose outcomes are kept."),
    "queues": _gauge("mqk_queues", "Queues."),
    "units": _gauge("mqk_units_in_flight", "Units of work that are open."),
    "commits": _counter("mqk_commits_total", "Units committed by programs."),
    "backouts": _counter(
        "mqk_backouts_total", "Units backed out, by programs or because a connection ended."
    ),
    "requests": _counter("mqk_requests_total", "Requests of clients, in this term."),
    "entries": _counter("mqk_entries_total", "Entries appended to the ledger, in this term."),
    "entries_in_flight": _gauge(
        "mqk_ledger_entries_in_flight", "Entries appended and not yet durable."
    ),
    "ledger_waits_s": _gauge(
        "mqk_ledger_waits_seconds",
        "How long Kafka has acknowledged no append while some are in flight.",
    ),
    "replies_pending": _gauge(
        "mqk_replies_pending", "Replies that wait for an entry to be durable."
    ),
    "uncopied_bytes": _gauge(
        "mqk_uncopied_bytes", "Persistent messages in memory that wait for their copies."
    ),
    "terms": _counter("mqk_owner_terms_total", "How often this process took the ledger over."),
    "replay_s": _gauge("mqk_replay_seconds", "How long the last take-over took, replay included."),
    "failed_steps": _counter(
        "mqk_failed_steps_total", "Times that a step failed, and the ledger was taken over again."
    ),
    "messages_in_memory": _gauge("mqk_messages_in_memory", "Messages whose content is in memory."),
    "pages_read": _counter("mqk_pages_read_total", "Pages of messages read back from topics."),
    "page_failures": _counter("mqk_page_failures_total", "Pages that were not there yet."),
    "snapshots": _counter("mqk_snapshots_total", "Snapshots written in this term."),
    "snapshot_failures": _counter("mqk_snapshot_failures_total", "Snapshots not finished."),
    "topic_problems": _gauge(
        "mqk_topic_problems", "What is wrong with the topics of ledger and snapshots."
    ),
    "trimmed_offsets": _counter(
        "mqk_trimmed_offsets_total", "Offsets of consumed messages deleted from queues' topics."
    ),
    "deleted_topics": _counter(
        "mqk_deleted_topics_total", "Topics of deleted queues that were deleted."
    ),
    "trim_failures": _counter(
        "mqk_trim_failures_total", "Times that consumed messages could not be deleted."
    ),
    "trims_waiting": _gauge(
        "mqk_trims_waiting", "Lanes whose consumed messages are due to be deleted."
    ),
    "ledger_takeovers": _counter("mqk_ledger_takeovers_total", "Take-overs that succeeded."),
    "ledger_replayed": _counter("mqk_ledger_replayed_entries_total", "Entries read at take-overs."),
    "ledger_appends": _counter("mqk_ledger_appends_total", "Entries handed to Kafka."),
    "ledger_durable": _counter("mqk_ledger_durable_entries_total", "Entries Kafka acknowledged."),
    "ledger_doubts": _counter(
        "mqk_ledger_doubts_total", "Appends whose outcome was in doubt: each one is a take-over."
    ),
    "ledger_forged": _counter(
        "mqk_ledger_forged_records_total",
        "Records of a sealed ledger that are void because another program wrote them.",
    ),
    "uptime_s": _gauge("mqk_uptime_seconds", "Since the queue manager started."),
    "log_lines_dropped": _counter(
        "mqk_log_lines_dropped_total", "Lines of the log that could not be written."
    ),
    "compiled_modules": _gauge(
        "mqk_compiled_modules", "Modules that run as machine code; 0 in pure Python."
    ),
    "authorities_checked": _gauge(
        "mqk_authorities_checked", "1: clients may do only what is granted; 0: everything."
    ),
    "mover_restarts": _counter(
        "mqk_mover_restarts_total", "How often the movers were started again."
    ),
}

MOVERS: Mapping[str, MetricRow] = {
    "position": _gauge("mqk_mover_position", "Ledger offset up to which all is copied."),
    "written": _gauge("mqk_mover_recorded_position", "Ledger offset from which it would restart."),
    "lag_records": _gauge("mqk_mover_lag_records", "Ledger records that are not copied yet."),
    "lag_bytes": _gauge("mqk_mover_lag_bytes", "About how many bytes of ledger that is."),
    "holding": _gauge("mqk_mover_holding", "1 while a fault keeps it from copying."),
    "parked": _gauge(
        "mqk_mover_parked_topics", "Topics that cannot be written; copying to others continues."
    ),
    "parked_messages": _gauge("mqk_mover_parked_messages", "Copies that wait for parked topics."),
    "parked_bytes": _gauge("mqk_mover_parked_bytes", "About how many bytes of copies that is."),
    "pinned_records": _gauge(
        "mqk_mover_pinned_records", "Ledger records kept for what is not copied yet."
    ),
    "pinned_bytes": _gauge("mqk_mover_pinned_bytes", "About how many bytes of ledger that is."),
    "copied": _counter("mqk_mover_copied_total", "Copies since the queue manager exists."),
    "terms": _counter("mqk_mover_terms_total", "How often it restarted from its progress."),
    "transactions": _counter("mqk_mover_transactions_total", "Kafka transactions committed."),
    "doubtful_commits": _counter(
        "mqk_mover_doubtful_commits_total", "Transactions whose commit was in doubt."
    ),
    "failures": _counter("mqk_mover_failures_total", "Failures after which it restarted."),
}

SENDERS: Mapping[str, MetricRow] = {
    "messages": _counter("mqk_sender_messages_total", "Messages sent to other queue managers."),
    "units": _counter("mqk_sender_units_total", "Units sent to other queue managers."),
    "bytes": _counter("mqk_sender_bytes_total", "Bytes of bodies sent to other queue managers."),
    "failures": _counter("mqk_sender_failures_total", "Attempts to send that failed."),
    "dead_letters": _counter(
        "mqk_sender_dead_letters_total", "Messages without a destination, for dead letters."
    ),
    "not_received": _gauge(
        "mqk_sender_not_received_records", "Records that the destination has not received."
    ),
    "holding": _gauge("mqk_sender_holding", "1 while a fault keeps it from sending."),
}
"""By transmission queue."""

RECEIVER: Mapping[str, MetricRow] = {
    "topics": _gauge("mqk_receiver_topics", "Inbound topics that are read."),
    "paused": _gauge("mqk_receiver_paused_topics", "Inbound topics of which too much waits."),
    "held_bytes": _gauge("mqk_receiver_held_bytes", "Bytes of records that were read and wait."),
    "unreadable": _counter("mqk_receiver_unreadable_total", "Records that were no messages."),
    "failures": _counter("mqk_receiver_failures_total", "Attempts to read that failed."),
    "units": _counter("mqk_receiver_units_total", "Units received from other queue managers."),
    "messages": _counter("mqk_receiver_messages_total", "Messages in those units."),
    "blocked": _gauge(
        "mqk_receiver_blocked_topics", "Inbound topics whose next unit no queue has room for."
    ),
    "left_out": _counter(
        "mqk_receiver_left_out_total", "Records of no whole unit, which is sent again or had come."
    ),
    "later": _gauge(
        "mqk_receiver_later_topics", "Inbound topics that wait, as a later release has sent there."
    ),
}

FEEDS: Mapping[str, MetricRow] = {
    "lag": _gauge("mqk_feed_lag_records", "Offsets of its topic that a feed has not put yet."),
    "records": _counter("mqk_feed_records_total", "Records read, since the reading began."),
    "held_bytes": _gauge("mqk_feed_held_bytes", "Bytes of records that were read and wait."),
    "failures": _counter("mqk_feed_failures_total", "Attempts to read that failed."),
    "holding": _gauge(
        "mqk_feed_holding", "1 while it waits for its queue or for Kafka, or has stopped."
    ),
}
"""By feed."""
RETRYING = "retrying"
HOLDS = frozenset({"waiting", RETRYING, "stopped"})
HOLDING = "holding"
"""In a table: whether something does not go on, which its state or its error says."""

EXPORTS: Mapping[str, MetricRow] = {
    "waiting": _gauge("mqk_export_lag_messages", "Messages of an export that are not written yet."),
    "records": _counter("mqk_export_records_total", "Records written, since it was started."),
    "bytes": _counter("mqk_export_bytes_total", "Bytes of the values of these records."),
    "dead_letters": _counter(
        "mqk_export_dead_letters_total", "Messages that its topic does not take as they are."
    ),
    "failures": _counter("mqk_export_failures_total", "Attempts to write that failed."),
    "holding": _gauge("mqk_export_holding", "1 while it cannot write its topic."),
}
"""By export."""

STANDBYS: Mapping[str, MetricRow] = {
    "priority": _gauge("mqk_standby_priority", "The standby with the highest goes first."),
    "lag_records": _gauge(
        "mqk_standby_lag_records", "Ledger records that a standby has not applied."
    ),
    "lag_s": _gauge(
        "mqk_standby_lag_seconds", "For how long a standby has not applied what was durable then."
    ),
}
"""By standby, as its owner knows it."""

FOLLOWER: Mapping[str, MetricRow] = {
    "lag_records": _gauge(
        "mqk_follower_lag_records", "Ledger records that this standby has not applied."
    ),
    "lag_s": _gauge(
        "mqk_follower_lag_seconds", "For how long this standby has not been at the ledger's end."
    ),
}
"""Of a standby, as it knows itself."""

QUEUES: Mapping[str, MetricRow] = {
    "current_depth": _gauge(
        "mqk_queue_depth", "Messages on the queue: available ones and uncommitted puts."
    ),
    "uncommitted_gets": _gauge(
        "mqk_queue_in_flight", "Messages that open units have got and not yet committed."
    ),
    "claimed": _gauge(
        "mqk_queue_claimed", "Messages assigned to durable consumers and not yet consumed."
    ),
    "delayed": _gauge("mqk_queue_delayed", "Messages that wait until they are due."),
    "uncommitted_puts": _gauge(
        "mqk_queue_uncommitted_puts", "Messages that open units have put and not yet committed."
    ),
    "oldest_message_age_s": _gauge(
        "mqk_queue_oldest_message_age_seconds", "Age of the oldest message at a lane's head."
    ),
    "waiting_gets": _gauge("mqk_queue_waiting_gets", "Gets that wait for a message."),
    "open_input_count": _gauge("mqk_queue_open_input_handles", "Handles open for input."),
    "open_output_count": _gauge("mqk_queue_open_output_handles", "Handles open for output."),
    "put_total": _counter("mqk_queue_puts_total", "Messages put, once committed."),
    "got_total": _counter("mqk_queue_gets_total", "Messages got, once committed."),
    "returned_total": _counter("mqk_queue_backouts_total", "Messages returned by backouts."),
    "discarded_total": _counter(
        "mqk_queue_discarded_total", "Messages that expired or were purged."
    ),
}


class MetricsSnapshot(Struct):
    """What is told at one moment. figures: of `mqk qmgr status`."""

    figures: ServerFigures
    queues: list[QueueStatus]
    release: str


class Once(Collector):
    """Gives a snapshot's metrics."""

    def __init__(self, snapshot: MetricsSnapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        """Give every metric."""
        return families(self._snapshot)


def text(snapshot: MetricsSnapshot) -> bytes:
    """Write a snapshot, and what the system says of this process, as Prometheus reads it."""
    registry = CollectorRegistry()
    registry.register(Once(snapshot))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def families(snapshot: MetricsSnapshot) -> Iterator[Metric]:
    """Give every metric of a snapshot."""
    figures = snapshot.figures
    about = {"queue_manager": figures.queue_manager, "version": snapshot.release}
    yield InfoMetricFamily("mqk", "Which queue manager this is.", about)
    states = {state.value: figures.owner.state == state.value for state in OwnerState}
    yield StateSetMetricFamily("mqk_owner_state", "State of the owner.", states)
    roles = {role: figures.roles.role == role for role in ROLES}
    yield StateSetMetricFamily("mqk_role", "What this process is to its queue manager.", roles)
    yield from _standbys(figures.roles)
    for key, value in figures.by_name().items():
        if isinstance(value, int | float):
            yield _family(FIGURES.get(key) or _unknown("mqk", key), [], [([], value)])
    yield from _by_label("mover", figures.movers, MOVERS, "mqk_mover")
    if figures.network is not None:
        yield from _network(figures.network)
    feeds = figures.topics.feeds.items()
    lags = {name: _numbers(one, FEEDS, holding=one.state in HOLDS) for name, one in feeds}
    yield from _by_label("feed", lags, FEEDS, "mqk_feed")
    exports = figures.topics.exports.items()
    lags = {name: _numbers(one, EXPORTS, holding=one.state == RETRYING) for name, one in exports}
    yield from _by_label("export", lags, EXPORTS, "mqk_export")
    queues = {one.name: _numbers(one, QUEUES) for one in snapshot.queues}
    yield from _by_label("queue", queues, QUEUES, "mqk_queue")


def _numbers(
    figures: Struct, table: Mapping[str, MetricRow], *, holding: bool | None = None
) -> dict[str, float]:
    """Return the figures that a table names. holding: one that is told beside; None: none is."""
    found = {key: float(getattr(figures, key)) for key in table if key != HOLDING}
    return found if holding is None else found | {HOLDING: float(holding)}


def _standbys(figures: RoleFigures) -> Iterator[Metric]:
    """Give how far the standbys of an owner are, or how far this one is."""
    if figures.standbys is not None:
        linked = MetricRow("mqk_standbys", "gauge", "Standbys that are linked to the owner.")
        yield _family(linked, [], [([], len(figures.standbys))])
        lags = {name: _numbers(one, STANDBYS) for name, one in figures.standbys.items()}
        yield from _by_label("standby", lags, STANDBYS, "mqk_standby")
    if figures.follower is not None:
        for key, value in _numbers(figures.follower, FOLLOWER).items():
            yield _family(FOLLOWER[key], [], [([], value)])


def _network(figures: NetworkFigures) -> Iterator[Metric]:
    """Give what is known of other queue managers, and what is sent and received."""
    known = MetricRow("mqk_queue_managers_known", "gauge", "Queue managers in the directory.")
    yield _family(known, [], [([], figures.queue_managers)])
    senders = {
        name: _numbers(one, SENDERS, holding=bool(one.error))
        for name, one in figures.senders.items()
    }
    yield from _by_label("transmission_queue", senders, SENDERS, "mqk_sender")
    for key, row in RECEIVER.items():
        value = getattr(figures.receiver, key)
        yield _family(row, [], [([], len(value) if isinstance(value, dict) else value)])


def _by_label(
    label: str,
    rows: Mapping[str, Mapping[str, float]],
    table: Mapping[str, MetricRow],
    prefix: str,
) -> Iterator[Metric]:
    """One metric for each figure, with a sample for each row."""
    keys = dict.fromkeys(key for row in rows.values() for key in row)
    for key in keys:
        samples = [([name], float(row[key])) for name, row in rows.items() if key in row]
        yield _family(table.get(key) or _unknown(prefix, key), [label], samples)


def _unknown(prefix: str, key: str) -> MetricRow:
    return _gauge(f"{prefix}_{key}", "Not described.")


def _family(row: MetricRow, labels: list[str], samples: list[tuple[list[str], float]]) -> Metric:
    kind = CounterMetricFamily if row.kind == "counter" else GaugeMetricFamily
    family = kind(row.name.removesuffix("_total"), row.meaning, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family
