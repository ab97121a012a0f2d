"""What tests of Celery, kombu and dramatiq share."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import adapter

TOP = Path(__file__).parents[2]
END_S = 30.0


def delete_queues(qm: adapter.Connection) -> None:
    """Delete all local queues, subscriptions and exchanges that a test has left."""
    qm.clear_retained("kombu/#")
    for subscription in qm.objects("subscription"):
        qm.delete_object("subscription", subscription.name)
    for queue in qm.queues():
        qm.delete_queue(queue.name, purge=True)


class TaskWorker:
    """A worker of Celery or dramatiq as a process with children; killed behind the with statement.

    command: arguments of python.
    """

    def __init__(self, address: str, log: Path, *command: str) -> None:
        environment = os.environ | {"MQK_QMGR": address, "PYTHONPATH": _path()}
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-P", *command],
                cwd=TOP,
                env=environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill it and its children, as the kernel does when there is no memory left."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(END_S)

    def stop(self) -> int:
        """Stop it as operators do; return its exit status."""
        self._process.terminate()
        return self._process.wait(END_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()


def celery_worker(address: str, log: Path, *options: str) -> TaskWorker:
    """Start a worker of the Celery application in tests/support/task_apps.py."""
    return TaskWorker(
        address, log, "-m", "celery", "-A", "tests.support.task_apps", "worker", "-l", "INFO",
        *options,
    )  # fmt: skip


def dramatiq_worker(address: str, log: Path, *options: str) -> TaskWorker:
    """Start a worker of the broker in tests/support/task_apps.py."""
    return TaskWorker(address, log, "-m", "dramatiq", "tests.support.task_apps:broker", *options)


def _path() -> str:
    return os.pathsep.join([str(TOP), *filter(None, [os.environ.get("PYTHONPATH")])])
