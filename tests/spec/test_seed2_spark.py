"""Seed 2 again, as a Spark reader sees it: S2.13, S2.15."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from spark_jobs import transforms
from tests.support.spark_site import Site, collecting, drain, queues


def put_interleaved(site: Site, queue: str) -> None:
    """Put two units of mixed priorities, so that their messages interleave on the queue."""
    with queues(site, queue) as qm:
        for name in ("A", "B"):
            with qm.unit():
                qm.put(queue, f"{name}1", priority=5)
                qm.put(queue, f"{name}2", priority=2)
    site.wait_copied(queue, 4)


def test_s2_13_a_spark_reader_regroups_interleaved_units(site: Site, tmp_path: Path) -> None:
    """S2.13: one possible interleaving is A1, B1, A2, B2: a Spark job regroups by unit id, also
    when every micro-batch has only a part of each."""
    put_interleaved(site, "S13")
    rows: list[Any] = []
    drain(site.stream("S13", max_messages_per_batch=1), collecting(rows), tmp_path / "rows")
    units: dict[bytes, list[Any]] = defaultdict(list)
    for _, row in rows:
        units[bytes(row["unit_id"])].append(row)
    texts = [
        [bytes(row["body"]) for row in sorted(unit, key=lambda row: row["unit_index"])]
        for unit in units.values()
    ]
    assert sorted(texts) == [[b"A1", b"A2"], [b"B1", b"B2"]]
    whole: list[Any] = []
    stream = transforms.complete_units(site.stream("S13", max_messages_per_batch=1))
    drain(stream, collecting(whole), tmp_path / "whole")
    by_batch = defaultdict(list)
    for batch, row in whole:
        by_batch[batch].append(bytes(row["body"]))
    found = [body for bodies in by_batch.values() for body in bodies]
    assert sorted([found[:2], found[2:]]) == [[b"A1", b"A2"], [b"B1", b"B2"]]


def test_s2_15_a_spark_reader_detects_a_missing_head_or_tail(site: Site) -> None:
    """S2.15: unit id, index and size of each row let a Spark job find a head, a middle or a tail
    that is missing."""
    put_interleaved(site, "S15")
    messages = site.batch("S15")
    assert transforms.complete_units(messages).count() == 4
    for missing in ("A1", "A2", "B2"):
        left = messages.where(messages.body != missing.encode())
        found = transforms.complete_units(left).collect()
        assert {bytes(row["body"])[:1] for row in found} == {b"A", b"B"} - {missing[:1].encode()}
