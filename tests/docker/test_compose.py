"""docker/compose.yaml: a queue manager, reached from outside, and what is beside it."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from adapter.errors import NotAuthorized
from tests.docker.compose import Project
from tests.docker.conftest import body

LISTS = "until mqk registry list; do sleep 0.3; done"


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    with Project() as one:
        yield one


def test_a_program_of_this_machine_puts_and_gets(project: Project) -> None:
    with project.connect() as qm:
        qm.define_queue("ORDERS")
        qm.put("ORDERS", b"42 widgets")
        assert body(qm, "ORDERS") == b"42 widgets"
    with pytest.raises(NotAuthorized):
        project.connect("")


def test_it_is_monitored_from_this_machine(project: Project) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{project.http_port}/ready") as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{project.http_port}/registry/subjects")


def test_the_queue_manager_is_started_anew_and_the_pod_stays(project: Project) -> None:
    with project.connect() as qm:
        qm.define_queue("KEPT")
        qm.put("KEPT", b"body")
    project.do("restart", "queue-manager")
    project.await_serving()
    with project.connect() as qm:
        assert body(qm, "KEPT") == b"body"


def test_the_registry_is_reached_within_the_pod(project: Project) -> None:
    assert "subject" in project.within_the_pod(LISTS)
