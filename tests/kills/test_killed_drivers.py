"""Archive, write-back and get, by drivers that are killed and whose batches fail: what has been put
is there once, and the rows of each lane reached the sink in order."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapter import testing
from tests.spark import lives
from tests.support.shared_kafka import AnyKafka

ARCHIVED_UNITS, TAKEN_UNITS = 20, 30
KILLED_AT = ("archive.2.queue", "get.2.files")
"""Everything is there, and neither Spark nor the queue manager knows."""
FAILURES = ("archive.4.files!", "archive.6.queue!", "get.4.read!")
"""The files are there, the queue has nothing; everything is there; nothing is there."""


@pytest.mark.timeout(600)
def test_killed_and_failing_drivers_do_everything_once(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name(), bootstrap_servers=servers) as manager:
        scene = lives.Scene(servers, manager.name, manager.address, tmp_path)
        filled = lives.fill(scene, ARCHIVED_UNITS, TAKEN_UNITS)
        lives.kill_at(scene, *KILLED_AT)
        said, complaints = lives.finish(scene, *FAILURES)
        assert sorted(said.splitlines()) == [f"failed at {place[:-1]}" for place in FAILURES]
        assert complaints == ""
        assert lives.check(scene, filled)["archive"] >= 7
