"""Running a worker from a program: adapter.run_worker()."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from adapter.client.retry import Retry
from adapter.connection.channel import arguments as a
from adapter.workers.settings import WorkerSettings
from adapter.workers.supervisor import WorkerSupervisor

POLICY = Retry()
"""What becomes of messages that fail, unless a program says otherwise."""


def run_worker(
    function: Callable[..., Any] | str,
    queue: str,
    *,
    address: str = "127.0.0.1:1414",
    processes: int = 1,
    threads: int = 1,
    prefetch: int = 0,
    retry: Retry | None = POLICY,
    stop_timeout: float | timedelta = 30.0,
    reload: bool = False,
    health_file: str | Path | None = None,
    health_port: int | None = None,
    health_host: str = "127.0.0.1",
    **connecting: Any,
) -> None:
    """Call a function with each message of a queue, in processes and threads, until SIGTERM.

    function: takes the message, or the message and its unit. "MODULE:FUNCTION" is imported by each
    process. Its unit is committed when it returns, and the message is retried as retry says when it
    raises; None: it comes again at once, until the queue's backout_threshold is reached.
    worker_connection() is the connection. A coroutine function is awaited by tasks, as many as
    threads says, on one event loop of the process; its connection is one of adapter.aio.
    The processes are forked before anything connects, and replaced when they die, with longer and
    longer pauses if that is at once. SIGTERM and SIGINT let each finish the message in hand, for
    stop_timeout seconds; then, or by a second signal, it is given back.
    prefetch: as of units(). reload: the processes are replaced when a file of the program changes.
    health_file: written every two seconds while all processes are connected, removed at the end.
    health_port: answers /live, /ready and /metrics on health_host. connecting: see connect().
    To be called in the main thread, before the program has threads or connections. Returns after
    SIGTERM; raises KeyboardInterrupt after SIGINT, InvalidOption if there is no such function.
    """
    settings = WorkerSettings(
        queue=queue,
        connecting={"address": address, **connecting},
        processes=processes,
        threads=threads,
        prefetch=prefetch,
        retry=retry,
        stop_timeout_s=a.as_delay_s("stop_timeout", stop_timeout),
        reload=a.as_flag("reload", reload),
        health_file=None if health_file is None else Path(health_file),
        health_port=health_port,
        health_host=health_host,
    )
    WorkerSupervisor(settings, function).run()
