"""mqk worker: call a function with each message of a queue.

What it does is adapter.workers'; here is how it is called and how it ends.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

import adapter
from adapter.client.work import PREFETCH_MAX
from adapter.command import options
from adapter.command.grouped import GroupedCommand
from adapter.workers.running import POLICY, run_worker
from adapter.workers.settings import PORT_MAX, PROCESSES_MAX, THREADS_MAX

GROUPS = {
    "The work": ("queue", "log_level"),
    "Processes": ("processes", "threads", "prefetch", "stop_timeout", "reload"),
    "Retries": ("retry_times", "retry_backoff", "retry_backoff_max", "retry_jitter", "retry_then"),
    "Health": ("health_file", "health_port", "health_host"),
}
LEVELS = ("debug", "info", "warning", "error")
LOG_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"


@click.command("worker", cls=GroupedCommand, groups=GROUPS)
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("-q", "--queue", required=True, metavar="Q", help="The queue to get from.")
@click.option(
    "--processes", type=click.IntRange(1, PROCESSES_MAX), default=1, show_default=True,
    metavar="N", help="Processes, each with a connection; one that dies is replaced.",
)  # fmt: skip
@click.option(
    "--threads", type=click.IntRange(1, THREADS_MAX), default=1, show_default=True,
    metavar="N", help="Threads of each process; tasks, if the function is a coroutine function.",
)  # fmt: skip
@click.option(
    "--prefetch", type=click.IntRange(0, PREFETCH_MAX), default=0, show_default=True,
    metavar="N", help="Messages that each thread or task gets ahead of the one in hand.",
)  # fmt: skip
@click.option(
    "--stop-timeout", type=options.RealRange(min=0), default=30.0, show_default=True, metavar="S",
    help="How long a message in hand may take when the worker is stopped.",
)  # fmt: skip
@click.option("--reload", is_flag=True, help="Replace the processes when a file changes.")
@click.option(
    "--retry-times", type=click.IntRange(min=0), default=POLICY.times, show_default=True,
    metavar="N", help="How often a message that failed is tried again.",
)  # fmt: skip
@click.option(
    "--retry-backoff", type=options.RealRange(min=0), default=POLICY.backoff, show_default=True,
    metavar="S", help="Seconds before the first retry; twice as long before each further one.",
)  # fmt: skip
@click.option(
    "--retry-backoff-max", type=options.RealRange(min=0), default=POLICY.backoff_max,
    show_default=True, metavar="S", help="The longest time before a retry.",
)  # fmt: skip
@click.option(
    "--retry-jitter", type=options.RealRange(0, 1), default=POLICY.jitter, show_default=True,
    metavar="SHARE", help="Up to this share longer, at random.",
)  # fmt: skip
@click.option(
    "--retry-then", default="", metavar="QUEUE",
    help="Where it goes at last; else to the queue's backout_requeue_queue or to the dead letters.",
)  # fmt: skip
@click.option(
    "--health-file", type=click.Path(path_type=Path, dir_okay=False), metavar="PATH",
    help="Write this file every two seconds while all processes are connected.",
)  # fmt: skip
@click.option(
    "--health-port", type=click.IntRange(1, PORT_MAX), metavar="N",
    help="Answer /live, /ready and /metrics (Prometheus) on this port.",
)  # fmt: skip
@click.option(
    "--health-host", default="127.0.0.1", show_default=True, metavar="HOST",
    help="The address to listen on; 0.0.0.0 is for probes from outside.",
)  # fmt: skip
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="info", show_default=True,
    help="The least that is logged, on standard error.",
)  # fmt: skip
@options.queue_manager
def worker(
    function: str,
    queue: str,
    processes: int,
    threads: int,
    prefetch: int,
    stop_timeout: float,
    reload: bool,
    retry_times: int,
    retry_backoff: float,
    retry_backoff_max: float,
    retry_jitter: float,
    retry_then: str,
    health_file: Path | None,
    health_port: int | None,
    health_host: str,
    log_level: str,
    qmgr: str,
) -> None:
    """Call a function with each message of a queue, until SIGTERM or Ctrl-C.

    MODULE is imported by each process; modules of the current folder come first. The function takes
    the message, or the message and its unit. Its unit is committed when it returns. When it raises,
    that is logged and the message is tried again later. A coroutine function is awaited, by tasks
    of one event loop in each process, and its worker_connection() is one of adapter.aio.

    A signal lets each process finish the messages in hand within the stop timeout; then, or by a
    second signal, they are given back. A queue manager that restarts is waited for.

    Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if the module cannot be imported or has no
    such function.
    """
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT, stream=sys.stderr)
    run_worker(
        function,
        queue,
        address=qmgr,
        processes=processes,
        threads=threads,
        prefetch=prefetch,
        retry=adapter.Retry(
            retry_times, retry_backoff, retry_jitter, retry_then, retry_backoff_max
        ),
        stop_timeout=stop_timeout,
        reload=reload,
        health_file=health_file,
        health_port=health_port,
        health_host=health_host,
        application=f"mqk worker {function}"[:28],
    )
