"""mqk spark: jobs on queues, and what spark-submit needs to run them.

A job's module is imported when the job is run: Spark is not everywhere where mqk is. This module
must not know what the jobs do.
"""

from __future__ import annotations

import click

from adapter.cli.lazy import LazyCommand, LazyGroup
from adapter.command.failures import Failed

JOBS = {
    "archive": LazyCommand(
        "spark_jobs.archive:archive", "Write a queue's messages to Parquet files."
    ),
    "audit": LazyCommand(
        "spark_jobs.audit:audit", "Check that the messages of queues are complete and in order."
    ),
    "flights": LazyCommand(
        "spark_jobs.flights:flights", "Draw the demo's delays by hour, airport and carrier."
    ),
    "lag": LazyCommand("spark_jobs.lag:lag", "Report depth, age and backouts of queues over time."),
    "jars": LazyCommand(
        "spark_jobs.jars:jars", "Print the files of Spark's connectors for spark-submit."
    ),
}
INSTALL = "install mqk with the extra `spark`, as in `pip install '.[spark]'` in its sources"
PARTS = frozenset({"pyspark", "py4j", "pandas", "pyarrow", "matplotlib", "numpy"})


class Jobs(LazyGroup):
    """The jobs; where Spark is not installed each is listed, and says so when it is called."""

    def get_command(self, _context: click.Context, cmd_name: str) -> click.Command | None:
        try:
            return super().get_command(_context, cmd_name)
        except ModuleNotFoundError as problem:
            missing = (problem.name or "").partition(".")[0]
            if missing not in PARTS:
                raise
            return unavailable(cmd_name, missing)


def unavailable(name: str, missing: str) -> click.Command:
    """Stand for a job that cannot be imported: whatever its arguments, it says what to install."""

    def fail(**_arguments: object) -> None:
        raise Failed(f"{missing} is not installed, and Spark's jobs need it: {INSTALL}")

    return click.Command(
        name,
        callback=fail,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
        short_help=f"Needs {missing}, which is not installed.",
    )


@click.group(cls=Jobs, table=JOBS)
def spark() -> None:
    """Jobs on queues with Apache Spark: archive, audit, flights, lag.

    Each is also a script for spark-submit: `spark-submit --jars "$(mqk spark jars)"
    spark_jobs/archive.py ORDERS /data/orders ...`.
    """
