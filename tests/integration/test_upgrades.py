"""What each published release has written is gone on with by this one, and its programs too.

The releases are the wheels of tests/golden/releases. They run on the packages that this one has.
"""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import adapter
from adapter.host import launch
from adapter.localkafka import free_port
from benchmarks.numbered import Judgement
from tests.integration.test_standby import begun
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

RELEASES = sorted((Path(__file__).parents[1] / "golden" / "releases").glob("mqk-*.whl"))
WAIT_S = 60.0
MQK = "from adapter.cli.main import main; main()"
PROGRAM = """
import sys
import adapter

assert adapter.__file__.startswith(sys.argv[2]), adapter.__file__
with adapter.connect(sys.argv[1]) as qm:
    with qm.unit():
        qm.put("OLD", "of a program of that release", properties={"n": 1})
    with qm.unit():
        message = qm.get("OLD", timeout=10)
    print(message.body.decode(), message.properties, qm.queue("NEW").get().body.decode())
"""


@pytest.fixture(params=RELEASES, ids=lambda wheel: wheel.stem.split("-")[1])
def release(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment in which Python has that release."""
    folder = tmp_path / "release"
    zipfile.ZipFile(request.param).extractall(folder)
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_there_are_releases() -> None:
    assert RELEASES


def test_this_release_takes_over_under_load(
    release: dict[str, str], kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    address = f"127.0.0.1:{free_port()}"
    start = ("qmgr", "start", name, "--bootstrap-server", servers, "--listen", address)
    command = launch.python("-c", MQK, *start, "--http-port", "0")
    published = launch.start(command, output=tmp_path / "published.log", environment=release)
    present = ServerProcess(name, servers, tmp_path, standby=True)
    try:
        with adapter.connect(address, wait_s=WAIT_S) as qm, present:
            qm.define_queue("OLD")
            qm.define_queue("NEW")
            program = begun(f"{address},{present.address}")
            present.start()
            qm.stop_queue_manager(hand_over=True)
            assert published.wait(WAIT_S) == 0, (tmp_path / "published.log").read_text()
            present.await_said("ledger taken over")
            program.await_more()
            assert program.failed == 0
            assert program.end() == Judgement()
            with adapter.connect(present.address) as other:
                other.put("NEW", "of this release")
            told = subprocess.run(
                launch.python("-c", PROGRAM, present.address, release["PYTHONPATH"]),
                env=release,
                capture_output=True,
                text=True,
                timeout=WAIT_S,
                check=False,
            )
            said = "of a program of that release {'n': 1} of this release\n"
            assert (told.stdout, told.stderr) == (said, "")
    finally:
        published.stop(WAIT_S)
