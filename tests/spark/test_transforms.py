"""Whole units, also where batches cut them."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs import transforms
from tests.support.spark_site import Site, drain, queues

UNITS = 12


@pytest.fixture(scope="module")
def units(site: Site) -> Site:
    """A queue with units of three over all lanes."""
    with queues(site, "UNITS"):
        site.put_units("UNITS", UNITS)
    site.wait_copied("UNITS", 3 * UNITS)
    return site


def test_a_stream_holds_units_back_until_they_are_whole(units: Site, tmp_path: Path) -> None:
    batches: dict[int, list[Any]] = {}

    def write(batch: Any, batch_id: int) -> None:
        batches[batch_id] = batch.collect()

    whole = transforms.complete_units(units.stream("UNITS", max_messages_per_batch=7))
    drain(whole, write, tmp_path)
    assert len(batches) > 3
    assert sum(map(len, batches.values())) == 3 * UNITS
    for rows in batches.values():
        for unit in {bytes(row["unit_id"]) for row in rows}:
            of = [row["queue_unit_index"] for row in rows if bytes(row["unit_id"]) == unit]
            assert of == [0, 1, 2]


def test_a_batch_leaves_out_units_that_are_not_whole(units: Site) -> None:
    messages = units.batch("UNITS")
    last = messages.orderBy("put_time", "queue_unit_index").limit(1).collect()[0]
    cut = messages.where(~((messages.seq == last["seq"]) & (messages.partition == last.partition)))
    assert transforms.complete_units(messages).count() == 3 * UNITS
    assert transforms.complete_units(cut).count() == 3 * UNITS - 3
