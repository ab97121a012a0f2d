"""Releases of Spark 4 beside the one that is installed: each does what it must with queues.

They are installed from the package
registry, without their dependencies, which are the same, into the cache that also has Kafka's jars.
Not every Maven repository has each release's connectors: what needs none is tested with all.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from adapter import testing
from adapter.core.contract.results import Batches
from adapter.localkafka.jars import cache_folder, cache_lock
from tests.support.backlog import until
from tests.support.shared_kafka import AnyKafka

TOP = Path(__file__).parents[2]
DONE_S = 280
RELEASES = ("4.1.1", "4.2.1", "4.3.0")
WITH_CONNECTORS = ("4.1.1",)
UNIT = ["", "a", "b"]
"""Bodies of a unit: an empty one comes first."""
UNITS = 3
WHOLE = UNIT * UNITS


def installed(version: str) -> Path:
    """A folder with that release of pyspark."""
    folder = cache_folder() / f"pyspark-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with cache_lock(folder.parent):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix="resolving-") as work:
                install(version, Path(work) / "site")
                shutil.move(Path(work) / "site", folder)
    return folder


def install(version: str, folder: Path) -> None:
    """Unpack the source distribution as its setup.py would: pip makes a wheel of it for minutes."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
    work = folder.parent / "download"
    done = subprocess.run(
        [*pip, "--no-binary", "pyspark", "--dest", str(work), f"pyspark=={version}"],
        capture_output=True, text=True, timeout=DONE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (archive,) = work.iterdir()
    with tarfile.open(archive) as opened:
        opened.extractall(work, filter="data")
    source = work / f"pyspark-{version}"
    folder.mkdir()
    for name in ("pyspark", "pyspark.egg-info"):
        (source / name).rename(folder / name)
    for name in ("jars", "bin", "sbin", "data"):
        (source / "deps" / name).rename(folder / "pyspark" / name)
    (source / "lib").rename(folder / "pyspark" / "python" / "lib")


@pytest.mark.timeout(2 * DONE_S)
@pytest.mark.parametrize("version", RELEASES)
def test_another_spark_reads_queues(
    version: str,
    kafka: AnyKafka,
    unique_name: Callable[..., str],
    tmp_path: Path,
) -> None:
    site = installed(version)
    with testing.queue_manager(unique_name(), bootstrap_servers=kafka.bootstrap_servers) as manager:
        with manager.connect() as qm:
            for queue in ("SEEN", "TAKEN", "EMPTY"):
                qm.define_queue(queue)
            for queue in ("SEEN", "TAKEN"):
                for _ in range(UNITS):
                    with qm.unit():
                        for body in UNIT:
                            qm.put(queue, body)
                with qm.consumer(queue, "WAITER") as waiter:
                    until(lambda: sizes(waiter.read(0, waiter.claim_batch())) == len(WHOLE))
                qm.delete_consumer(queue, "WAITER")
        place = [manager.name, manager.address, str(tmp_path)]
        place += [kafka.bootstrap_servers] if version in WITH_CONNECTORS else []
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.other_spark", *place], cwd=TOP, timeout=DONE_S,
            capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(TOP)])},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    check(version, json.loads(done.stdout))


def sizes(found: Batches) -> int:
    spans = [part for batch in found.batches for part in batch.spans]
    return sum(spans[2::3]) - sum(spans[1::3]) + len(spans) // 3


def joined(batches: list[list[str]]) -> list[str]:
    return list(chain.from_iterable(batches))


def check(version: str, found: dict[str, Any]) -> None:
    assert found["version"] == version
    assert joined(found["browse"]) == WHOLE
    assert found.get("batch", WHOLE) == WHOLE
    for way in ("units", "stream"):
        batches = found.get(way, [WHOLE])
        assert joined(batches) == WHOLE
        assert all(len(batch) % len(UNIT) == 0 for batch in batches), "units are whole"
    assert found["nothing"] == 0
    assert "sinks.to_queue" in found["write"]
    if version >= "4.2":  # a source is told where a batch begins, and that a query ends
        assert [len(batch) for batch in found["get"][0]] == [4, 4, 1]
        assert max(map(len, found["browse"])) <= 4
        assert sum(found["lag"]["lanes"].values()) >= len(WHOLE)
        assert found["held"] == [0, 0]
    else:
        assert [len(batch) for batch in found["get"][0]] == [4]
        assert found["held"] == [4, 4]
    got = joined([batch for run in found["get"] for batch in run])
    assert got == WHOLE[: len(got)], "in order, and each once"
