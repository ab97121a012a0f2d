"""Archive, write-back and get, by drivers that are killed and whose batches fail: what has been put
is there once, and the rows of each lane reached the sink in order."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapter import testing
from adapter.localkafka import LocalKafka
from tests.spark import lives

ARCHIVED_UNITS, TAKEN_UNITS = 30, 40
KILLS = (
    # The files are there, the queue has nothing; of what is taken nothing is written.
    ("archive.2.files", "get.1.read"),
    # Everything is there, and neither Spark nor the queue manager knows.
    ("archive.5.queue", "get.3.files"),
)
FAILURES = ("archive.7.files!", "archive.9.queue!", "get.4.read!")


@pytest.mark.timeout(600)
def test_killed_and_failing_drivers_do_everything_once(
    kafka: LocalKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name(), bootstrap_servers=servers) as manager:
        scene = lives.Scene(servers, manager.name, manager.address, tmp_path)
        filled = lives.fill(scene, ARCHIVED_UNITS, TAKEN_UNITS)
        for stops in KILLS:
            lives.kill_at(scene, *stops)
        said, complaints = lives.finish(scene, *FAILURES)
        assert sorted(said.splitlines()) == [f"failed at {place[:-1]}" for place in FAILURES]
        assert complaints == ""
        assert lives.check(scene, filled)["archive"] >= 11
