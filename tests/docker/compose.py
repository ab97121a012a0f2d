"""docker/compose.yaml as a user starts it; MQK_COMPOSE is the command to do so."""

import os
import subprocess
from pathlib import Path
from typing import Self

import adapter
from adapter.localkafka import free_port

COMPOSE = os.environ.get("MQK_COMPOSE", "docker compose").split()
FILE = Path(__file__).parents[2] / "docker" / "compose.yaml"
USER, PASSWORD = "app", "secret"
TIMEOUT_S = 110
SERVES = "until mqk qmgr status; do sleep 0.3; done"


class Project:
    """One start of the file, under a name of its own and on free ports; a context manager.

    profiles: of the file's. files: this one, and what is added to it.
    """

    def __init__(self, *profiles: str, files: tuple[Path, ...] = (FILE,)) -> None:
        self.port, self.http_port = free_port(), free_port()
        self._environment = os.environ | {
            "MQK_PORT": str(self.port), "KAFKA_PORT": str(free_port()), "MQK_PASSWORD": PASSWORD,
            "MQK_METRICS_PORT": str(self.http_port),
            "COMPOSE_PROFILES": ",".join(profiles), "MQK_QUEUE_MANAGER": "QM7",
        }  # fmt: skip
        named = [part for file in files for part in ("--file", str(file))]
        self._command = [*COMPOSE, *named, "--project-name", f"mqktest{os.getpid()}"]

    def do(self, *arguments: str) -> str:
        """Run compose; its output."""
        done = subprocess.run(
            [*self._command, *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def within_the_pod(self, command: str) -> str:
        """Run a command of the shell where everything is on loopback; its output."""
        return self.do("exec", "-T", "pod", "timeout", "60", "sh", "-c", command)

    def __enter__(self) -> Self:
        """Start everything, and wait until the queue manager serves."""
        try:
            self.do("up", "--detach")
            self.await_serving()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def await_serving(self) -> None:
        """Wait until the queue manager serves."""
        self.within_the_pod(SERVES)

    def connect(self, password: str = PASSWORD) -> adapter.Connection:
        """Come in as a program of this machine does."""
        return adapter.connect(f"127.0.0.1:{self.port}", user=USER, password=password)

    def down(self) -> None:
        """End everything, and remove it."""
        self.do("down", "--volumes", "--timeout", "15")
