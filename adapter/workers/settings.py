"""What a worker is asked to be. This module does not know how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from msgspec import Struct

from adapter.client.options import check_connecting
from adapter.client.retry import Retry, as_retry
from adapter.client.work import PREFETCH_MAX
from adapter.connection.channel import arguments as a

PROCESSES_MAX = 1000
THREADS_MAX = 250
"""Of a process; as many tasks, for a coroutine function."""
PORT_MAX = 65535
NO_POLICY_PAUSE_S = 1.0
"""Before the next message, if one failed that comes again at once."""


class LoopOptions(TypedDict):
    """Arguments of units()."""

    prefetch: int
    retry: Retry | None
    retry_delay_s: float


class WorkerSettings(Struct, frozen=True, kw_only=True):
    """See adapter.run_worker(). connecting: the arguments of adapter.connect()."""

    queue: str
    connecting: Mapping[str, Any]
    processes: int = 1
    threads: int = 1
    prefetch: int = 0
    retry: Retry | None = Retry()
    stop_timeout_s: float = 30.0
    reload: bool = False
    health_file: Path | None = None
    health_port: int | None = None
    health_host: str = "127.0.0.1"

    def __post_init__(self) -> None:
        """Refuse what cannot be: each process would find it out, and be started again for ever."""
        check_connecting(self.connecting)
        a.as_name(self.queue)
        a.as_whole("processes", self.processes, 1, PROCESSES_MAX)
        a.as_whole("threads", self.threads, 1, THREADS_MAX)
        a.as_whole("prefetch", self.prefetch, 0, PREFETCH_MAX)
        as_retry(self.retry)
        a.as_delay_s("stop_timeout", self.stop_timeout_s)
        if self.health_port is not None:
            a.as_whole("health_port", self.health_port, 0, PORT_MAX)

    @property
    def loop(self) -> LoopOptions:
        """What the loop of each thread or task is asked for."""
        return {
            "prefetch": self.prefetch,
            "retry": self.retry,
            "retry_delay_s": NO_POLICY_PAUSE_S if self.retry is None else 0,
        }
