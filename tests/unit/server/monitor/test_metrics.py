"""Metrics: every figure that the parts tell, described, as Prometheus reads them."""

import asyncio
import re
from pathlib import Path

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from adapter import testing
from adapter.core.contract.results import QueueStatus
from adapter.runtime.exports.port import ExportFigures
from adapter.runtime.feeds.port import FeedFigures
from adapter.runtime.network.figures import NetworkFigures, ReceiverFigures, SenderFigures
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.server.monitor import metrics
from adapter.server.monitor.metrics import (
    EXPORTS,
    FEEDS,
    FIGURES,
    FOLLOWER,
    MOVERS,
    QUEUES,
    RECEIVER,
    SENDERS,
    STANDBYS,
    MetricsSnapshot,
)
from adapter.server.process.figures import (
    FollowerFigures,
    RoleFigures,
    StandbyFigures,
    TopicFigures,
)
from adapter.storage.ledger.port import LedgerReader
from adapter.storage.movers.mover import Mover
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.thread import MoverThread
from adapter.storage.topics.specs import TopicSettings
from tests.support.server_figures import server_figures

PAGE = Path(__file__).parents[4] / "docs" / "operations" / "monitoring.md"
NOT_NUMBERS = {
    *("queue_manager", "state", "movers", "movers_hold", "movers_parked", "exports", "feeds"),
    *("version", "address", "kafka", "process", "undone", "role", "standbys", "kafka_cluster"),
}
STATUS = QueueStatus("Q", 5, 1, 2, 4, 3, 1, 6, 2.5, [0] * 10, 11, 12, 13, 14, 15)


def samples(snapshot: MetricsSnapshot) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What a Prometheus would store."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(metrics.text(snapshot).decode())
        for sample in family.samples
    }


def test_figures_are_told_as_prometheus_reads_them() -> None:
    told = samples(MetricsSnapshot(server_figures(), [STATUS], "1.2.3"))
    assert told["mqk_info", (("queue_manager", "QM1"), ("version", "1.2.3"))] == 1
    assert told["mqk_connections", ()] == 2
    assert told["mqk_commits_total", ()] == 7
    assert told["mqk_replay_seconds", ()] == 0.25
    assert told["mqk_mover_lag_records", (("mover", "stream"),)] == 3
    assert told["mqk_mover_lag_records", (("mover", "events"),)] == 0
    assert told["mqk_mover_copied_total", (("mover", "stream"),)] == 9
    of_queue = {name: value for (name, labels), value in told.items() if ("queue", "Q") in labels}
    assert of_queue == {
        "mqk_queue_depth": 5,
        "mqk_queue_open_input_handles": 1,
        "mqk_queue_open_output_handles": 2,
        "mqk_queue_uncommitted_puts": 3,
        "mqk_queue_claimed": 15,
        "mqk_queue_delayed": 0,
        "mqk_queue_in_flight": 1,
        "mqk_queue_waiting_gets": 6,
        "mqk_queue_oldest_message_age_seconds": 2.5,
        "mqk_queue_puts_total": 11,
        "mqk_queue_gets_total": 12,
        "mqk_queue_backouts_total": 13,
        "mqk_queue_discarded_total": 14,
    }
    states = {
        labels[0][1]: value for (name, labels), value in told.items() if name == "mqk_owner_state"
    }
    assert states == {state.value: float(state is OwnerState.RUNNING) for state in OwnerState}
    assert told["process_resident_memory_bytes", ()] > 0


def test_the_role_and_the_lag_of_standbys_are_told() -> None:
    lag = StandbyFigures(
        name="b:1", address="b:1", tls_address="", priority=3, lag_records=7, lag_s=0.5
    )
    roles = RoleFigures(role="owner", standbys={"b:1": lag})
    told = samples(MetricsSnapshot(server_figures(roles=roles), [], ""))
    assert told["mqk_role", (("mqk_role", "owner"),)] == 1
    assert told["mqk_role", (("mqk_role", "standby"),)] == 0
    assert told["mqk_standbys", ()] == 1
    assert told["mqk_standby_priority", (("standby", "b:1"),)] == 3
    assert told["mqk_standby_lag_records", (("standby", "b:1"),)] == 7
    assert told["mqk_standby_lag_seconds", (("standby", "b:1"),)] == 0.5
    follower = FollowerFigures(owner="QM1", linked=True, lag_records=2, lag_s=0.25)
    roles = RoleFigures(role="standby", follower=follower)
    told = samples(MetricsSnapshot(server_figures(roles=roles), [], ""))
    assert told["mqk_role", (("mqk_role", "standby"),)] == 1
    assert told["mqk_follower_lag_records", ()] == 2
    assert told["mqk_follower_lag_seconds", ()] == 0.25
    assert ("mqk_standbys", ()) not in told


def test_every_metric_is_documented() -> None:
    page = PAGE.read_text()
    rows = [
        row
        for table in (
            *(FIGURES, MOVERS, SENDERS, RECEIVER, FEEDS, EXPORTS, QUEUES, STANDBYS, FOLLOWER),
        )
        for row in table.values()
    ]
    for one in rows:
        assert f"`{one.name}" in page, f"{PAGE.name} lacks {one.name}"
    known = {one.name for one in rows}
    known |= {"mqk_owner_state", "mqk_info", "mqk_queue_managers_known", "mqk_role", "mqk_standbys"}
    assert set(re.findall(r"mqk_\w+", page)) <= known, "and nothing that is not told"


def test_names_that_need_escaping_are_escaped() -> None:
    status = QueueStatus('A"\\\n', 1, 0, 0, 0, 0, 0, 0, 0.0, [])
    told = samples(MetricsSnapshot(server_figures(), [status], ""))
    assert told["mqk_queue_depth", (("queue", 'A"\\\n'),)] == 1


def test_a_figure_that_is_in_no_table_is_told_all_the_same() -> None:
    newer = server_figures(commands={"new_thing": 4}, movers={"stream": {"newer": 5}})
    told = samples(MetricsSnapshot(newer, [], ""))
    assert told["mqk_new_thing", ()] == 4
    assert told["mqk_mover_newer", (("mover", "stream"),)] == 5


def test_every_figure_of_a_server_is_described() -> None:
    with testing.queue_manager() as manager, manager.connect() as qm:
        told = qm.figures()
    assert set(told) - NOT_NUMBERS <= set(FIGURES)
    assert set(FIGURES) <= set(told), "described, and told by nobody"


def test_every_figure_of_a_mover_is_described() -> None:
    settings = MoverSettings(
        queue_manager="QM1",
        source=KafkaCluster("127.0.0.1:1"),
        destination=KafkaCluster("127.0.0.1:1"),
        topics=TopicSettings(replication=1, min_insync_replicas=1),
    )
    assert MoverThread(settings).statistics() == {}
    told = Mover(settings, _Projection(), _no_reader).statistics()  # type: ignore[arg-type]
    assert set(told) == set(MOVERS)


class _Projection:
    name = "stream"
    parkable = None
    patience_s = 0.0


def _no_reader(_position: object) -> LedgerReader:
    raise AssertionError("statistics() reads nothing")


def test_every_figure_of_a_queue_is_there() -> None:
    left = {"name", "uncommitted", "depth_by_priority"}  # the sum of two, and too many to be one
    left |= {
        "high_depth",
        "put_since_reset",
        "got_since_reset",
        "reset_s_ago",
    }  # anybody resets them
    left |= {"last_put_ms", "last_got_ms"}  # the totals show when they rise
    assert set(QUEUES) == set(QueueStatus.__struct_fields__) - left


def test_names_follow_the_rules_of_prometheus() -> None:
    described = [
        row for table in (FIGURES, MOVERS, SENDERS, RECEIVER, QUEUES) for row in table.values()
    ]
    assert len({one.name for one in described}) == len(described)
    for one in described:
        assert one.name.startswith("mqk_")
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert one.meaning.endswith(".")


def test_many_queues_are_told_in_a_moment() -> None:
    """A scrape runs beside the commits: 2,000 queues take far less than one's timeout."""
    names = (f"Q{number}" for number in range(2000))
    queues = [QueueStatus(name, 1, 0, 0, 0, 0, 0, 0, 0.0, []) for name in names]

    async def within() -> bytes:
        async with asyncio.timeout(5):
            return await asyncio.to_thread(
                metrics.text, MetricsSnapshot(server_figures(), queues, "")
            )

    assert asyncio.run(within()).count(b"mqk_queue_depth{") == 2000


def test_what_is_sent_and_received_is_told() -> None:
    sender = SenderFigures(
        state="retrying",
        for_s=1.0,
        error="away",
        destination="QM2",
        messages=5,
        units=2,
        bytes=9,
        failures=1,
        dead_letters=0,
        running_s=1.0,
    )
    receiver = ReceiverFigures(
        topics=2,
        paused=0,
        held_bytes=7,
        unreadable=1,
        failures=0,
        trouble="",
        left_out=6,
        units=3,
        messages=4,
        blocked={"mq.QM1.in": "Q"},
        later={"t": "why"},
    )
    network = NetworkFigures(
        senders={"QMB": sender, "QMC": replace(sender, error="")},
        receiver=receiver,
        queue_managers=3,
    )
    told = samples(MetricsSnapshot(server_figures(network=network), [], "1.2.3"))
    assert told["mqk_queue_managers_known", ()] == 3
    assert told["mqk_sender_messages_total", (("transmission_queue", "QMB"),)] == 5
    assert told["mqk_sender_holding", (("transmission_queue", "QMB"),)] == 1
    assert told["mqk_sender_holding", (("transmission_queue", "QMC"),)] == 0
    assert told["mqk_receiver_messages_total", ()] == 4
    assert told["mqk_receiver_blocked_topics", ()] == 1
    assert told["mqk_receiver_unreadable_total", ()] == 1
    assert told["mqk_receiver_left_out_total", ()] == 6
    assert told["mqk_receiver_later_topics", ()] == 1
    assert samples(MetricsSnapshot(server_figures(), [], "1.2.3"))


def test_feeds_are_told() -> None:
    feed = FeedFigures(
        state="running",
        why="",
        topic="t",
        queue="Q",
        positions={0: 1},
        ends={},
        lag=5,
        records=12,
        held_bytes=7,
        failures=1,
    )
    topics = TopicFigures(feeds={"F": feed, "G": replace(feed, state="stopped")})
    told = samples(MetricsSnapshot(server_figures(topics=topics), [], "1.2.3"))
    assert told["mqk_feed_lag_records", (("feed", "F"),)] == 5
    assert told["mqk_feed_records_total", (("feed", "F"),)] == 12
    assert told["mqk_feed_holding", (("feed", "F"),)] == 0
    assert told["mqk_feed_holding", (("feed", "G"),)] == 1


def test_exports_are_told() -> None:
    export = ExportFigures(
        state="running", waiting=5, records=12, bytes=99, dead_letters=2, failures=1
    )
    topics = TopicFigures(exports={"E": export, "F": replace(export, state="retrying")})
    told = samples(MetricsSnapshot(server_figures(topics=topics), [], "1.2.3"))
    assert told["mqk_export_lag_messages", (("export", "E"),)] == 5
    assert told["mqk_export_records_total", (("export", "E"),)] == 12
    assert told["mqk_export_dead_letters_total", (("export", "E"),)] == 2
    assert told["mqk_export_holding", (("export", "E"),)] == 0
    assert told["mqk_export_holding", (("export", "F"),)] == 1
