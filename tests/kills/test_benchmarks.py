"""Benchmarks in short: what must hold anywhere."""

from collections.abc import Iterator
from contextlib import nullcontext

import msgspec
import pytest

from adapter.localkafka import LocalKafka
from benchmarks import (
    activations,
    crowd,
    cursors,
    cut_off,
    dialogs,
    failover,
    failover_brokers,
    latency,
    objects,
    peers,
    secured,
    topics,
    web,
)
from benchmarks.numbered import Judgement
from benchmarks.peers import servers
from benchmarks.peers.variants import Amount
from benchmarks.results import is_met
from tests.support.shared_kafka import AnyKafka

CROWD, WORKING = 500, 50
"""Clients, and how many of them put messages meanwhile."""


@pytest.fixture(scope="module")
def artemis() -> Iterator[servers.Peer]:
    """One Artemis for all tests: it takes seconds to start."""
    (peer,) = (one for one in servers.PEERS if one.name == "Artemis")
    with peer.running(fsync=False) as port:
        yield msgspec.structs.replace(peer, running=lambda **_options: nullcontext(port))


def test_a_walk_over_a_long_queue_takes_no_more_memory(kafka: AnyKafka) -> None:
    rows = cursors.measure(kafka.bootstrap_servers, depths=(4_000, 16_000))
    peak = rows["peak-16000"]
    assert peak.against == "peak-4000"
    assert is_met(rows, peak), [row.runs for row in rows.values()]


def test_every_message_activates_a_trigger_once(kafka: AnyKafka) -> None:
    messages = {"function": 20, "program": 5}
    rows = activations.measure(kafka.bootstrap_servers, runs=1, messages=messages)
    assert len(rows) == 12


def test_cursors_and_waiting_receives_leave_nothing_behind(kafka: AnyKafka) -> None:
    rows = objects.measure(kafka.bootstrap_servers, queues=100, on_kafka=(1, 2))
    assert is_met(rows, rows["growth"]), rows["growth"].runs


def test_dialogs_leave_nothing_behind(kafka: AnyKafka) -> None:
    rows = dialogs.measure(
        kafka.bootstrap_servers, 1, dialogs=5, waiting=(10, 100), receives=5, in_group=50
    )
    assert all(row.runs for row in rows.values())


def test_a_fail_over_is_measured_and_nothing_is_wrong(kafka: AnyKafka) -> None:
    rows = failover.measure(kafka.bootstrap_servers, 1, faults=["kill", "switch"])
    for key in ("kill", "switch"):
        parts = [f"{key}-{one}" for one in ("notice", "take_over", "back")]
        assert {key, *parts, f"{key}-wrong", f"{key}-failed"} <= set(rows)
        assert rows[f"{key}-wrong"].runs == [0]
        assert all(rows[one].runs[0] > 0 for one in parts)
    assert rows["switch-failed"].runs == [0]


def test_a_machine_is_cut_off_and_nothing_is_wrong(capfd: pytest.CaptureFixture[str]) -> None:
    """Where machines can be made, which needs root and the means of Linux for that."""
    rows = cut_off.measure(1)
    if not rows:
        assert cut_off.NOT_MEASURED in capfd.readouterr().err
        return
    assert rows["cut-off-wrong"].runs == [0]
    assert all(rows[f"cut-off-{one}"].runs[0] > 0 for one in ("notice", "take_over", "back"))


def test_a_broker_that_is_killed_is_measured_beside_a_plain_producer() -> None:
    with LocalKafka(3) as three:
        rows = failover_brokers.measure(three, 1, faults=["leader-kill"])
    assert rows["leader-kill-wrong"].runs == rows["leader-kill-failed"].runs == [0]
    assert all(rows[key].runs[0] > 0 for key in ("leader-kill", "leader-kill-plain"))


def test_every_client_of_a_crowd_is_back_after_a_switch(kafka: AnyKafka) -> None:
    found = crowd.measure(kafka.bootstrap_servers, CROWD, WORKING, 0.0, "switch")
    assert len(found.away_s) == CROWD
    assert found.put >= WORKING
    assert (found.failed, found.judgement) == (0, Judgement())


def test_other_queue_managers_are_measured_beside_ours(
    kafka: AnyKafka, artemis: servers.Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [one for one in servers.PEERS if one.name != artemis.name]
    monkeypatch.setattr(servers, "PEERS", [artemis, *others])
    amount = Amount(clients=(1,), seconds=0.1, messages=100, warm_up_s=0)
    rows = peers.measure(kafka.bootstrap_servers, fsync=False, runs=1, amount=amount)
    installed = [
        name for name, version in peers.versions().items() if "apt-get install" not in version
    ]
    assert len(installed) >= 2
    assert all(row.runs for row in rows.values())


def test_latencies_at_a_fixed_rate_are_measured_beside_another(
    kafka: AnyKafka, artemis: servers.Peer
) -> None:
    amount = latency.Amount(
        runs=1,
        modes=("ahead",),
        putters=2,
        shares=(50,),
        seconds=0.5,
        before_s=0,
        most_s=0.3,
        warm_up_s=0,
    )
    rows = latency.measure(kafka.bootstrap_servers, amount, [artemis])
    assert all(row.runs for row in rows.values())
    for system in ("mqk", "Artemis"):
        p50, p99, most = (rows[f"{system.lower()}-ahead-50-{of}"] for of in ("p50", "p99", "max"))
        assert 0 < p50.median <= p99.median <= most.median, system


def test_what_security_costs_is_measured(kafka: AnyKafka) -> None:
    amount = secured.Amount(runs=1, seconds=0.1, clients=(1,), is_counted=False)
    rows = secured.measure(kafka.bootstrap_servers, amount)
    assert set(rows) == {"clear-1", "tls-1", "off-1", "on-1"}


def test_a_web_service_is_measured(kafka: AnyKafka) -> None:
    rows = web.measure(kafka.bootstrap_servers, runs=1, seconds=0.5)
    assert all(row.runs for row in rows.values())


def test_a_worker_between_topics_is_measured_beside_kafka(kafka: AnyKafka) -> None:
    rows = topics.measure(kafka.bootstrap_servers, 1, single=5, messages={1: 50, 100: 300})
    assert all(row.runs for row in rows.values())
