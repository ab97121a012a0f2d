"""Jobs by spark-submit, which starts a Java of its own: with the connectors, and without."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapter import testing
from adapter.format.names import queue_topic
from spark_jobs import session
from tests.support.shared_kafka import AnyKafka
from tests.support.spark_site import wait_copied

TOP = Path(__file__).parents[2]
DONE_S = 200


@pytest.mark.timeout(600)
def test_a_job_runs_with_spark_submit(kafka: AnyKafka, unique_name: Callable[..., str]) -> None:
    """Its report is the last line of standard output; without connectors it says what to add."""
    name, servers = unique_name(), kafka.bootstrap_servers
    with testing.queue_manager(name, bootstrap_servers=servers) as manager, manager.connect() as qm:
        qm.define_queue("SUBMITTED")
        for body in ("a", "b", "c"):
            qm.put("SUBMITTED", body)
        wait_copied(servers, queue_topic(name, "SUBMITTED"), 3)
        job = [str(TOP / "spark_jobs" / "audit.py"), "SUBMITTED", "--json"]
        job += ["--bootstrap-server", servers, "--queue-manager", name]
        status, said, _ = submitted(*job)
        assert status == 1
        assert 'spark-submit --jars "$(mqk spark jars)"' in said  # both outputs are one there
        status, said, complaints = submitted("--jars", ",".join(session.jar_paths()), *job)
        assert status == 0, complaints
        assert json.loads(said.splitlines()[-1])["violations"] == 0


def submitted(*arguments: str) -> tuple[int, str, str]:
    """Run spark-submit; returns its status, what it said, what it complained of."""
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    done = subprocess.run(
        [*submit, *arguments], env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True, text=True, timeout=DONE_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr
