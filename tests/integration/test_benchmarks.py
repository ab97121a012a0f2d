"""Benchmarks of MSMQ in short: that they run, and what must hold whatever the machine."""

from adapter.localkafka import LocalKafka
from benchmarks import cursors
from benchmarks.results import is_met


def test_a_walk_over_a_long_queue_takes_no_more_memory(kafka: LocalKafka) -> None:
    rows = cursors.measure(kafka.bootstrap_servers, depths=(4_000, 16_000))
    peak = rows["peak-16000"]
    assert peak.against == "peak-4000"
    assert is_met(rows, peak), [row.runs for row in rows.values()]
