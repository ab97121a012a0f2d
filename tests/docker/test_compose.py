"""docker/compose.yaml as a user starts it; MQK_COMPOSE is the command to do so."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import adapter
from adapter.errors import NotAuthorized
from adapter.localkafka import free_port
from tests.docker.conftest import body

COMPOSE = os.environ.get("MQK_COMPOSE", "docker compose").split()
FILE = Path(__file__).parents[2] / "docker" / "compose.yaml"
UP_TIMEOUT_S = 110
SERVES = "until mqk qmgr status; do sleep 0.3; done"
LISTS = "until mqk registry list; do sleep 0.3; done"


class Project:
    """One start of the file, under a name of its own and on free ports."""

    def __init__(self) -> None:
        self.port = free_port()
        self._environment = os.environ | {
            "MQK_PORT": str(self.port), "KAFKA_PORT": str(free_port()), "MQK_PASSWORD": "secret",
        }  # fmt: skip
        self._command = [*COMPOSE, "--file", str(FILE), "--project-name", f"mqktest{os.getpid()}"]

    def do(self, *arguments: str) -> str:
        """Run compose; its output."""
        done = subprocess.run(
            [*self._command, *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=UP_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def within_the_pod(self, command: str) -> str:
        """Run a command of the shell where everything is on loopback; its output."""
        return self.do("exec", "-T", "pod", "timeout", "60", "sh", "-c", command)


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    one = Project()
    try:
        one.do("up", "--detach")
        one.within_the_pod(SERVES)
        yield one
    finally:
        one.do("down", "--volumes", "--timeout", "15")


def connect(project: Project, password: str = "secret") -> adapter.Connection:
    address = f"127.0.0.1:{project.port}"
    return adapter.connect(address, user="app", password=password)


def test_a_program_of_this_machine_puts_and_gets(project: Project) -> None:
    with connect(project) as qm:
        qm.define_queue("ORDERS")
        qm.put("ORDERS", b"42 widgets")
        assert body(qm, "ORDERS") == b"42 widgets"
    with pytest.raises(NotAuthorized):
        connect(project, "")


def test_the_queue_manager_is_started_anew_and_the_pod_stays(project: Project) -> None:
    with connect(project) as qm:
        qm.define_queue("KEPT")
        qm.put("KEPT", b"body")
    project.do("restart", "queue-manager")
    project.within_the_pod(SERVES)
    with connect(project) as qm:
        assert body(qm, "KEPT") == b"body"


def test_the_registry_is_reached_within_the_pod(project: Project) -> None:
    assert "subject" in project.within_the_pod(LISTS)
