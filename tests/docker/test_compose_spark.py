"""The service spark of docker/compose.yaml: jobs on a queue that was put to through compose."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docker.compose import Project
from tests.docker.conftest import await_that

BODIES = [b"%d widgets" % number for number in range(4)]
FOLDER = "/data/ORDERS"
STARTED_S = 110.0
"""Two starts of Spark, and what Docker waits between them."""
STORED = """
import sys
import pyarrow.dataset as d
rows = d.dataset(sys.argv[1]).to_table().to_pylist()
print(*(row["body"].decode() for row in sorted(rows, key=lambda row: row["seq"])), sep="\\n")
"""

pytestmark = pytest.mark.timeout(300)  # Spark is started for each job


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """With the service, whose queue is not defined yet."""
    with Project("spark") as one:
        yield one


def run(project: Project, *job: str) -> dict[str, Any]:
    """Run a job to its end; its report."""
    report: dict[str, Any] = json.loads(project.do("run", "--rm", "-T", "spark", *job, "--json"))
    return report


def stored(project: Project, folder: str) -> list[bytes]:
    """The bodies in the files of a job, in order."""
    python = ("run", "--rm", "-T", "--entrypoint", "python3", "spark", "-c")
    printed = project.do(*python, STORED, folder)
    return printed.encode().splitlines()


def test_the_service_archives_what_is_put_once_there_is_a_queue(project: Project) -> None:
    def said() -> str:
        return project.do("logs", "--no-color", "spark")

    await_that(lambda: "has no topic" in said(), said, STARTED_S)
    with project.connect() as qm:
        qm.define_queue("ORDERS")
        with qm.unit() as unit:
            for one in BODIES:
                qm.put("ORDERS", one, unit=unit)
    await_that(lambda: "4 messages" in said(), said, STARTED_S)
    assert project.do("exec", "-T", "spark", "id", "-u").strip() == "1414"
    project.do("stop", "spark")
    assert "stopping" in said()
    assert re.search(r"messages +4\b", said()), "its report"
    assert stored(project, FOLDER) == BODIES


def test_a_queue_is_audited(project: Project) -> None:
    report = run(project, "audit", "ORDERS")
    assert (report["messages"], report["units"], report["violations"]) == (4, 1, 0)


def test_messages_are_consumed_through_the_queue_manager_in_the_pod(project: Project) -> None:
    folder = "/data/got"
    report = run(project, "archive", "ORDERS", folder, "--available-now", "--consume", "archive")
    assert report["messages"] == 4
    assert stored(project, folder) == BODIES
    with project.connect() as qm:
        assert qm.queue("ORDERS").depth() == 0
