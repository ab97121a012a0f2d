"""The demo's stage: Kafka, a queue manager, a producer, a trigger monitor that starts two workers.

Everything runs in processes of its own, as it would in earnest. The queue manager is started by the
command that users type, and killed without warning; workers are started by the trigger monitor, and
reach the queue manager through a proxy. Whatever happens, nothing is left running.
"""

from __future__ import annotations

import os
import shlex
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from msgspec import Struct

import adapter
from adapter.host import launch
from adapter.localkafka import LocalKafka, free_port
from mqk_demo import queues
from mqk_demo.commits import CommitWatch
from mqk_demo.copies import count_copies
from mqk_demo.errors import DemoError
from mqk_demo.processes import Process
from mqk_demo.proxy import HOST, Proxy

WORKERS = 2
START_TIMEOUT_S = 120.0
"""For the queue manager to serve: it reads its whole ledger, on a loaded machine."""
HELD_TIMEOUT_S = 10.0
"""For each worker to ask for a commit, which they do many times a second."""


WORKERS_TIMEOUT_S = 60.0
"""From the first flight to workers at work, on a loaded machine."""
STOP_GRACE_S = 30.0
"""Longer than the trigger monitor gives the workers."""
LOOK_S = 0.01
RECONNECT_TIMEOUT_S = 20.0
"""The demo itself only asks while the queue manager is meant to serve."""


class Restart(Struct):
    """How the queue manager was killed and came back. seconds: from the kill to the first answer.

    commits_held: commits that were durable, and whose answer no worker had got.
    """

    commits_held: int
    seconds: float


class Depths(Struct):
    """What is on the queues now. open: whether a unit holds anything."""

    waiting: int
    done: int
    backed_out: int
    open: bool

    @property
    def handled(self) -> int:
        return self.done + self.backed_out


class Stage:
    """A context manager: leaving ends every process that it started.

    standby: another process is to take over when the queue manager is killed.
    """

    def __init__(self, kafka: LocalKafka, folder: Path, *, standby: bool = False) -> None:
        self._servers = kafka.bootstrap_servers
        self._folder = folder
        self._ends = ExitStack()
        self._port = free_port()
        self._standby_port = free_port() if standby else 0
        self._monitored_at = ""
        self._manager: Process | None = None
        self._standby: Process | None = None
        self._watch = CommitWatch()
        self._proxy = self._ends.enter_context(Proxy(HOST, self._port, tap=self._watch))
        self._cast: list[Process] = []
        self._producer: Process | None = None
        self._monitor: Process | None = None
        self._qm: adapter.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        with self._ends:
            for process in [*self._cast, self._standby, self._manager]:
                if process is not None:
                    process.kill()

    @property
    def address(self) -> str:
        """Where the queue manager listens."""
        return f"{HOST}:{self._port}"

    @property
    def addresses(self) -> str:
        """Where programs connect that do not go through the proxy."""
        return self._with_standby(self.address)

    def _with_standby(self, address: str) -> str:
        return f"{address},{HOST}:{self._standby_port}" if self._standby_port else address

    @property
    def qm(self) -> adapter.Connection:
        """The demo's own connection, which does not go through the proxy."""
        assert self._qm is not None, "the queue manager was not started"
        return self._qm

    def open(self) -> None:
        """Start the queue manager and define the queues."""
        self._start_manager()
        if self._standby_port:
            self._standby = self._start_server("standby", self._standby_port, "--standby")
            self._standby.await_line(START_TIMEOUT_S)
        self._qm = adapter.connect(
            self.addresses, application="demo", reconnect_timeout_s=RECONNECT_TIMEOUT_S
        )
        self._ends.callback(self._qm.close)
        for name in (queues.DONE, queues.BACKOUT):
            self._qm.define_queue(name)
        self._qm.define_process(
            queues.PROCESS,
            appl_id=shlex.join(launch.python("-m", "mqk_demo.crew")),
            user_data=str(WORKERS),
        )
        self._qm.define_queue(
            queues.IN,
            backout_threshold=queues.BACKOUT_THRESHOLD,
            backout_requeue_queue=queues.BACKOUT,
            trigger_control=True,
            trigger_type="FIRST",
            initiation_queue=queues.INITIATION,
            process=queues.PROCESS,
        )

    def begin(self, archive: Path, flights: int) -> None:
        """Start the producer and a trigger monitor; return when that has started the workers."""
        put = ["--address", self.addresses, "--archive", str(archive), "--flights", str(flights)]
        self._producer = self._run("producer", "mqk_demo.producer", put)
        grace_s = 2 * queues.WORKER_GRACE_S  # the crew gives its workers half of it
        address = self._with_standby(self._proxy.address)
        monitor = ["trigger-monitor", "--qmgr", address, "--grace", str(grace_s)]
        self._monitor = self._run("trigger monitor", "adapter.cli", monitor)
        self._await_workers()

    def _await_workers(self) -> None:
        deadline_s = time.monotonic() + WORKERS_TIMEOUT_S
        while self.qm.queue(queues.IN).status().open_input_count < WORKERS:
            for process in self._cast:
                process.check()
            if time.monotonic() > deadline_s:
                raise DemoError(
                    f"no workers were started within {WORKERS_TIMEOUT_S:.0f} s. The trigger "
                    f"monitor said:\n{self.said()}"
                )
            time.sleep(LOOK_S)

    def said(self) -> str:
        """What the trigger monitor and the workers said last."""
        return self._monitor.said() if self._monitor is not None else "(nothing)"

    def depths(self) -> Depths:
        """Check the queues, and that all processes still run."""
        for process in self._cast:
            process.check()
        try:
            status = {one.name: one for one in self.qm.queue_status("FLIGHTS.*")}
        except adapter.ConnectionBroken:
            assert self._manager is not None, "the queue manager was not started"
            self._manager.check()  # if it has ended, its own words say why
            raise
        return Depths(
            waiting=status[queues.IN].current_depth,
            done=status[queues.DONE].current_depth,
            backed_out=status[queues.BACKOUT].current_depth,
            open=any(one.uncommitted for one in status.values()),
        )

    def copies(self) -> int:
        """How many messages the queue manager has copied to the queues' topics."""
        return count_copies(self._monitored_at)

    @property
    def is_all_put(self) -> bool:
        """Whether the producer has done its work."""
        return self._producer is not None and not self._producer.is_running

    def hold_half_way(self, flights: int) -> None:
        """Hold the answers to commits before more than half of the flights are handled.

        The proxy does it: workers may be done before the demo looks at the queues again.
        """
        units = flights // 2 // queues.UNIT_SIZE
        self._watch.hold_commits(self._proxy.hold_replies_of, after=units)

    @property
    def is_holding(self) -> bool:
        """Whether a commit is done whose worker does not get the answer."""
        return self._watch.await_held(1, 0.0) > 0

    def kill_and_restart(self) -> Restart:
        """Hold the answers to the workers' commits, SIGKILL the queue manager, start it again.

        If there is a standby, that takes over instead. The commits that were answered into the
        proxy are durable, and their workers do not know.
        """
        assert self._manager is not None, "the queue manager was not started"
        self._hold_commits()
        held = self._watch.await_held(WORKERS, HELD_TIMEOUT_S)
        self._manager.kill()
        killed_s = time.monotonic()
        self._proxy.cut()
        self._proxy.release()
        self._watch.deliver()
        if self._standby is None:
            self._start_manager()
        else:
            self.qm.queue_status(queues.IN)  # answered by the standby, when it serves
            self._manager, self._standby = self._standby, None
            self._monitored_at = self._manager.await_line(START_TIMEOUT_S)["http"]
        return Restart(held, time.monotonic() - killed_s)

    def _hold_commits(self) -> None:
        """From now on no worker that asks for a commit gets its answer."""
        self._watch.hold_commits(self._proxy.hold_replies_of)

    def end(self) -> dict[str, int | float]:
        """Stop the workers when all is done; the figures of workers and producer, added up."""
        totals: dict[str, int | float] = {"lost": 0, "failed": 0, "seconds": 0.0}
        for process in self._cast:
            status = process.stop(STOP_GRACE_S)
            told = process.all_figures()
            if status != 0 or len(told) < (WORKERS if process is self._monitor else 1):
                raise DemoError(
                    f"the {process.name} ended with status {status}. It said:\n{process.said()}"
                )
            for name in totals:
                totals[name] += sum(figures.get(name, 0) for figures in told)
        self._cast = []
        return totals

    def close_manager(self) -> None:
        """Stop the queue manager as an operator does."""
        assert self._manager is not None, "the queue manager was not started"
        status = self._manager.stop()
        if status != 0:
            raise DemoError(
                f"the queue manager ended with status {status}. It said:\n{self._manager.said()}"
            )
        self._manager = None

    def _run(self, name: str, module: str, arguments: list[str]) -> Process:
        process = Process(name, ["-m", module, *arguments], self._folder)
        self._cast.append(process)
        return process

    def _start_manager(self) -> None:
        """Start the server process, and wait until it answers."""
        self._manager = self._start_server("queue manager", self._port)
        self._monitored_at = self._manager.await_line(START_TIMEOUT_S)["http"]

    def _start_server(self, name: str, port: int, *options: str) -> Process:
        command = [
            "-m", "adapter.cli", "qmgr", "start", queues.QUEUE_MANAGER, *options,
            "--bootstrap-server", self._servers, "--listen", f"{HOST}:{port}", "--json",
            # Nothing of the user's own settings, and no line of JSON but the one that it serves.
            "--config", os.devnull, "--http-port", str(free_port()), "--log-format", "text",
        ]  # fmt: skip
        return Process(name, command, self._folder)
