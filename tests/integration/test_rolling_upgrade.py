"""A queue manager changes to a later release without an end: by a standby of that release.

The later release is this one with entries of another schema version, which it writes, and reads
beside the present one. It is made where the process starts (sitecustomize), so that the movers of
that process are of the later release too.
"""

import os
from collections.abc import Callable
from pathlib import Path

import adapter
from benchmarks.numbered import Judgement
from tests.integration.test_standby import begun
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

Named = Callable[..., str]

LATER = """
from adapter.storage.format import entries
from adapter.runtime.owner import replay

entries._VERSION = entries._codec._prefix = bytes((2,))
entries._codec._version = replay.VERSION = 2
entries._codec._older = {1: entries._codec._schema}
"""


def later_release(folder: Path) -> dict[str, str]:
    """The environment that makes a process one of the later release."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(LATER)
    here = str(Path(adapter.__file__).parents[1])
    return {"PYTHONPATH": os.pathsep.join([str(folder), here, os.environ.get("PYTHONPATH", "")])}


def test_a_later_release_takes_over_under_load_and_is_not_followed_by_this_one(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    later = later_release(tmp_path / "later")
    present = ServerProcess(name, servers, tmp_path)
    upgraded = ServerProcess(name, servers, tmp_path, standby=True, environment=later)
    with present, upgraded:
        present.start()
        upgraded.start()
        program = begun(f"{present.address},{upgraded.address}")
        with adapter.connect(present.address) as qm:
            qm.stop_queue_manager(hand_over=True)
        assert present.await_end() == 0
        upgraded.await_said("ledger taken over")
        program.await_more()
        for stands_by in (False, True):
            if stands_by:
                present.stand_by()
            present.launch()
            assert present.await_end() == 1
            sentence = present.sentence()
            assert f"the ledger of {name} was written by a later release" in sentence
            assert "have schema version 2, and this release reads version 1" in sentence
            assert "start that release, or a later one" in sentence
        program.await_more()
        assert program.failed == 0
        assert program.end() == Judgement()
