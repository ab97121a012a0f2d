"""Jobs as processes, which start a Java of their own: by `mqk spark`, and by spark-submit with the
connectors and without."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapter import testing
from adapter.storage.format.names import queue_topic
from spark_jobs import session
from tests.support.shared_kafka import AnyKafka
from tests.support.spark_site import wait_copied

TOP = Path(__file__).parents[2]
DONE_S = 200


@pytest.mark.timeout(600)
def test_a_job_runs_as_a_process(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """Its report is the last line of standard output; without connectors it says what to add."""
    name, servers = unique_name(), kafka.bootstrap_servers
    with testing.queue_manager(name, bootstrap_servers=servers) as manager, manager.connect() as qm:
        qm.define_queue("SUBMITTED")
        for body in ("a", "b", "c"):
            qm.put("SUBMITTED", body)
        wait_copied(servers, queue_topic(name, "SUBMITTED"), 3)
        told = ["--bootstrap-server", servers, "--queue-manager", name, "--json"]
        status, said, complaints = run(
            *(sys.executable, "-m", "adapter.cli", "spark", "archive", "SUBMITTED"),
            *(str(tmp_path), "--available-now", *told),
        )
        assert status == 0, complaints
        assert json.loads(said)["messages"] == 3, "nothing but the report is on standard output"
        job = [str(TOP / "spark_jobs" / "audit.py"), "SUBMITTED", *told]
        status, said, _ = submitted(*job)
        assert status == 1
        assert 'spark-submit --jars "$(mqk spark jars)"' in said  # both outputs are one there
        status, said, complaints = submitted("--jars", ",".join(session.jar_paths()), *job)
        assert status == 0, complaints
        assert json.loads(said.splitlines()[-1])["violations"] == 0


def submitted(*arguments: str) -> tuple[int, str, str]:
    """Run spark-submit; returns what run() does."""
    submit = str(Path(sys.executable).with_name("spark-submit"))
    return run(submit, "--master", "local[2]", *arguments)


def run(*command: str) -> tuple[int, str, str]:
    """Run a command; returns its status, what it said, what it complained of."""
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True, text=True, timeout=DONE_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr
