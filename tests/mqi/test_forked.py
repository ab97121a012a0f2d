"""Programs that fork, and connect in the child: what another thread was at does not concern it."""

import json
import subprocess
import sys

import adapter.testing

END_S = 60.0


def test_a_thread_of_a_child_ends_what_it_has_begun() -> None:
    """Its identity may be that of a thread of the parent's, which was in the midst of a verb."""
    with adapter.testing.queue_manager("QM1") as manager:
        with manager.connect() as qm:
            qm.define_queue("Q")
        command = [sys.executable, "-m", "tests.support.forked", "inside", manager.address, "1"]
        ended = subprocess.run(command, capture_output=True, timeout=END_S, check=False)
        assert ended.returncode == 0, ended.stderr.decode()
        said = [json.loads(line) for line in ended.stdout.splitlines()]
        assert said == [["got", "child"], ["ended", "True"]], "what it committed by MQDISC is there"
