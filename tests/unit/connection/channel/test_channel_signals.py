"""Verbs and closes in signal handlers of the thread that waits: served or refused, never a hang."""

import json
import subprocess
import sys

ROUNDS = 100


def test_finding_users_2_a_signal_handler_at_any_moment_hangs_nothing() -> None:
    command = [sys.executable, "-m", "tests.support.signalled", str(ROUNDS), "1"]
    ended = subprocess.run(command, capture_output=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    done = json.loads(ended.stdout)
    assert sum(done.values()) == ROUNDS
    assert done["close the queue"] >= 10
    assert done["close the connection"] >= 10
    assert done["cancel"] >= 10
    assert done.get("put", 0) + done["put refused"] >= 10
