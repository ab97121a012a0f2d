"""Running a job: the options that all have, progress while it runs, a report when it ends.

A job starts its queries and says what came of them; it neither waits nor prints. Whatever goes
wrong ends as one sentence. This module must not know what a job does.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn, TypeVar

import click
from msgspec import Struct
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from adapter.command import failures, options, signals
from adapter.command.grouped import Groups
from spark_jobs import session
from spark_jobs.errors import SparkJobError, explain
from spark_jobs.sinks import Sink
from spark_jobs.topics import check_topic, topic_of

Command = TypeVar("Command", bound=Callable[..., Any])
FAILURES = (PySparkException, Py4JError)
LOOK_S = 0.5
CHECK_S = 5.0
"""Between two checks whether the queue still has the topic that is read."""
SAFE_PATH = "PYTHONSAFEPATH"
MESSAGES_A_BATCH = 10_000


class Job(Struct, kw_only=True):
    """What every job is told.

    available_now: end when everything is done that is there. messages_a_batch: 0 for no limit.
    """

    queue_manager: str
    bootstrap_servers: str
    kafka_options: dict[str, str]
    master: str | None
    checkpoint: str
    available_now: bool
    messages_a_batch: int
    as_json: bool

    def start(self, messages: DataFrame, sink: Sink, mode: str = "append") -> StreamingQuery:
        """Start a query of this job."""
        writer = self._writer(messages, sink, mode)
        return (writer.trigger(availableNow=True) if self.available_now else writer).start()

    def start_endless(self, messages: DataFrame, sink: Sink) -> StreamingQuery:
        """Start a query that goes on until it is ended: see end_when_idle."""
        return self._writer(messages, sink, "append").start()

    def topic_check(self, spark: SparkSession, queue: str) -> Callable[[], None]:
        """Return a check that the queue still has the topic that it has now: see check_topic."""
        kafka = self.bootstrap_servers, self.queue_manager, self.kafka_options
        return partial(check_topic, spark, queue, topic_of(spark, queue, *kafka), *kafka)

    def _writer(self, messages: DataFrame, sink: Sink, mode: str) -> DataStreamWriter:
        writer = messages.writeStream.outputMode(mode).foreachBatch(sink)
        return writer.option("checkpointLocation", self.checkpoint)


def end_when_idle(query: StreamingQuery) -> None:
    """End a query when everything is done that is there: what availableNow is for, for sources that
    it gives one batch only.
    """

    def wait() -> None:
        with contextlib.suppress(*FAILURES):  # whoever follows the query hears of them
            query.processAllAvailable()
            query.stop()

    threading.Thread(target=wait, name="end when idle", daemon=True).start()


GROUPS: Groups = {
    "Kafka": ("bootstrap_servers", "command_config", "settings"),
    "Queues": ("queue", "queue_manager", "qmgr", "large_messages", "consumer", "summary_queue"),
    "The stream": ("checkpoint", "available_now", "messages_a_batch", "master"),
    "Output": ("chart", "as_json"),
}
"""Options of the jobs, by subject."""


def job_options(command: Command) -> Command:
    """The options of every job that is a stream."""
    stream = (
        click.option(
            "--checkpoint", metavar="FOLDER",
            help="Where Spark notes how far it is. [default: _checkpoint in PATH]",
        ),
        click.option(
            "--available-now", is_flag=True,
            help="End when everything is done that is there; otherwise at Ctrl-C.",
        ),
        click.option(
            "--max-messages-per-batch", "--messages-a-batch", "messages_a_batch",
            type=click.IntRange(min=0), default=MESSAGES_A_BATCH, show_default=True,
            metavar="NUMBER", help="Messages of a batch at most; 0 for no limit.",
        ),
    )  # fmt: skip
    for option in reversed(stream):
        command = option(command)
    return source_options(command)


def source_options(command: Command) -> Command:
    """The options of every job."""
    command = options.json_output(command)
    command = click.option(
        "--master", metavar="URL", help="Where Spark runs. [default: two threads of this process]"
    )(command)
    command = click.option(
        "--queue-manager", default="QM1", show_default=True, envvar="MQK_QUEUE_MANAGER",
        show_envvar=True, metavar="NAME", help="Whose queue it is.",
    )(command)  # fmt: skip
    return options.kafka_client(command)


def job_of(path: str, given: Mapping[str, Any]) -> Job:
    """Read the options of a job; path: where its checkpoint is unless another place is named."""
    kafka: options.KafkaClient = given["kafka"]
    return Job(
        queue_manager=given["queue_manager"],
        bootstrap_servers=kafka.servers,
        kafka_options=options.any_kafka_options(kafka.command_config, kafka.settings),
        master=given["master"],
        checkpoint=given.get("checkpoint") or f"{path}/_checkpoint",
        available_now=given.get("available_now", True),
        messages_a_batch=given.get("messages_a_batch", 0),
        as_json=given["as_json"],
    )


def perform(name: str, job: Job, work: Callable[[SparkSession], dict[str, Any]]) -> dict[str, Any]:
    """Have a session, do the work, print its report; failures are SparkJobError."""
    try:
        with _safe_path():
            spark = session.spark_session(f"mqk {name}", master=job.master, say=tell)
        report = work(spark)
    except FAILURES as problem:
        _give_up(problem)
    print(json.dumps(report) if job.as_json else as_lines(report), flush=True)
    return report


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Keep a JVM that is started here from starting Python with the working directory on its path.

    Modules that lie there would be imported in place of ours. The JVM keeps the environment of its
    start, so that this process need not keep the variable.
    """
    if SAFE_PATH in os.environ:
        yield
        return
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[SAFE_PATH]


def follow(query: StreamingQuery, check: Callable[[], None] | None = None) -> dict[str, Any]:
    """Wait for a query, and tell of each batch; the figures of all of them.

    Ctrl-C and SIGTERM end it; a batch that was not finished is done again at the next start.
    check: called every few seconds; the query ends with what it raises.
    """
    totals = {"batches": 0, "messages": 0}
    seen = -1
    due_s = time.monotonic() + CHECK_S
    try:
        # Spark's own handler would call the JVM in the midst of another call, which breaks both.
        with contextlib.suppress(KeyboardInterrupt), signals.ending(partial(_stop, query)):
            while not query.awaitTermination(LOOK_S):  # type: ignore[arg-type]  # and a part
                seen = _tell(query, seen, totals)
                if check is not None and time.monotonic() > due_s:
                    check()
                    due_s = time.monotonic() + CHECK_S
    except SparkJobError:
        query.stop()
        raise
    except FAILURES as problem:
        _tell(query, seen, totals)
        _give_up(problem)
    _tell(query, seen, totals)
    return totals


def _stop(query: StreamingQuery) -> None:
    tell("stopping")
    with contextlib.suppress(*FAILURES):  # whoever follows the query hears of them
        query.stop()


def _give_up(problem: Exception) -> NoReturn:
    """Raise the sentence that is in what Spark raised."""
    raise SparkJobError(explain(problem)) from problem


def _tell(query: StreamingQuery, seen: int, totals: dict[str, int]) -> int:
    """Tell of the batches since the last one; the number of the last."""
    for one in query.recentProgress:
        number, rows = int(one["batchId"]), int(one["numInputRows"])
        if number <= seen or not rows:
            continue
        seen = number
        totals["batches"] += 1
        totals["messages"] += rows
        tell(f"batch {number}: {rows:,} messages, {float(one['processedRowsPerSecond']):,.0f}/s")
    return seen


def tell(text: str) -> None:
    """Say how it goes, where it does not mix with the report."""
    print(text, file=sys.stderr, flush=True)


def as_lines(report: Mapping[str, Any]) -> str:
    """A report for people."""
    lines = []
    for name, value in report.items():
        if isinstance(value, list):
            lines += _columns(value)
            continue
        lines.append(f"{name.replace('_', ' '):24} {_shown(value)}")
    return "\n".join(lines)


def _columns(rows: list[Mapping[str, Any]]) -> list[str]:
    """Rows beneath each other, with the names of what they have on top."""
    cells = [[name.replace("_", " ") for name in row] for row in rows[:1]]
    cells += [[_shown(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)


def script(name: str) -> NoReturn:
    """Run a job that was given to spark-submit: the same as `mqk spark NAME`.

    The module is imported by its name: as `__main__`, Spark's Python processes could not import it.
    """
    job = getattr(importlib.import_module(f"spark_jobs.{name}"), name)
    sys.exit(failures.run(job, f"mqk spark {name}", sys.argv[1:]))


def folder(path: str) -> str:
    """A path without the slash at its end; what Spark takes: a folder, or a URL of one."""
    return path.rstrip("/") or "/"
