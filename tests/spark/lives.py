"""The lives of one driver (driver.py): it is started and killed with all that it has started, and
at the end every message is looked for in what it has left, without Spark.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset
from msgspec import Struct

import adapter
from adapter.storage.format import names
from tests.support.spark_site import order_problems, put_units, wait_copied

TOP = Path(__file__).parents[2]
ENDED_S = 250
LANES = 4
"""A task is started for each, and each of them is a file."""
UNIT = 3


class Scene(Struct, frozen=True):
    """A queue manager, its Kafka, and a folder for what the driver writes."""

    servers: str
    queue_manager: str
    address: str
    folder: Path


class Filled(Struct, frozen=True):
    """The ids of the messages that were put: for the archive, and to be taken."""

    archived: list[bytes]
    taken: list[bytes]


def fill(scene: Scene, archived_units: int, taken_units: int) -> Filled:
    """Define the queues, put units of three, and wait until they are on the topics."""
    with adapter.connect(scene.address) as qm:
        for queue in ("IN", "BACK", "TAKEN"):
            qm.define_queue(queue)
        filled = Filled(
            put_units(qm, "IN", archived_units, UNIT, LANES),
            put_units(qm, "TAKEN", taken_units, UNIT, LANES),
        )
    for queue, ids in (("IN", filled.archived), ("TAKEN", filled.taken)):
        wait_copied(scene.servers, names.queue_topic(scene.queue_manager, queue), len(ids))
    return filled


@contextmanager
def driver(scene: Scene, *stops: str) -> Iterator[subprocess.Popen[str]]:
    """A driver, and the JVM and Python processes that are its own: all are killed at the end."""
    told = [scene.servers, scene.queue_manager, scene.address, str(scene.folder), ",".join(stops)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.driver", *told], cwd=TOP, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def kill_at(scene: Scene, *stops: str, later_s: float = 0.0) -> None:
    """Run a driver until it is at all of some places, and kill it there, or a moment behind."""
    with driver(scene, *stops) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ahead = set(stops)
        while ahead and (line := process.stdout.readline()):
            ahead.discard(line.strip())
        if ahead:
            _, problem = process.communicate(timeout=ENDED_S)
            raise AssertionError(f"the driver did not come to {ahead}: {problem[-2000:]}")
        if later_s:
            process.stdin.write("go on\n")
            process.stdin.flush()
            time.sleep(later_s)


def finish(scene: Scene, *stops: str) -> tuple[str, str]:
    """Run a driver to its end; what it said, and what it complained about."""
    with driver(scene, *stops) as process:
        return process.communicate(timeout=ENDED_S)


def check(scene: Scene, filled: Filled) -> dict[str, int]:
    """Look for every message, once, where it must be, and in order; the batches of each query."""
    archived, taken = (rows(scene.folder / name / "files") for name in ("archive", "get"))
    assert once_each(archived, filled.archived) == []
    assert once_each(taken, filled.taken) == []
    priorities = {row["message_id"]: row["priority"] for row in archived}
    with adapter.connect(scene.address) as qm:
        back = [(one.message_id, one.priority) for one in qm.queue("BACK").browse()]
        assert qm.queue("IN").depth() == len(filled.archived)  # reading consumes nothing
        assert qm.queue("TAKEN").status().current_depth == 0
        assert [one.messages for one in qm.consumers("TAKEN")] == [0]
    assert sorted(back) == sorted(priorities.items())
    for name in ("archive", "get"):
        assert in_order(scene.folder / name / "journal") == [], name
    return {
        name: len({row["batch_id"] for row in of})
        for name, of in (("archive", archived), ("get", taken))
    }


def rows(folder: Path) -> list[dict[str, Any]]:
    """What is in the Parquet files of a folder."""
    files = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive")
    found: list[dict[str, Any]] = files.to_table(["message_id", "priority", "batch_id"]).to_pylist()
    return found


def once_each(found: list[dict[str, Any]], wanted: list[bytes]) -> list[str]:
    """Say which messages are not there, or more than once, or were never put."""
    counts = Counter(row["message_id"] for row in found)
    counts.subtract(wanted)
    return [f"{one.hex()}: {count:+d}" for one, count in counts.items() if count]


def in_order(journal: Path) -> list[str]:
    """Check the rows as they reached the sinks, of each batch the last time it was done."""
    last: dict[int, list[dict[str, Any]]] = {}
    former = None
    for line in journal.read_text().splitlines():
        batch_id, lane, seq = json.loads(line)
        if batch_id != former:
            last[batch_id] = []
        former = batch_id
        last[batch_id].append({"partition": lane, "seq": seq})
    # A batch that was read twice in a row is in the journal twice: the second half counts.
    found: list[dict[str, Any]] = []
    for batch in last.values():
        seen = {(row["partition"], row["seq"]) for row in batch}
        found += batch[-len(seen) :]
    return order_problems(found)
