"""mqk spark: jobs on queues, and what spark-submit needs to run them.

A job's module is imported when the job is run: Spark is not everywhere where mqk is. This module
must not know what the jobs do.
"""

from __future__ import annotations

import importlib

import click

from adapter.cli.failures import Failed

JOBS = {
    "archive": "spark_jobs.archive:archive",
    "audit": "spark_jobs.audit:audit",
    "flights": "spark_jobs.flights:flights",
    "lag": "spark_jobs.lag:lag",
    "jars": "spark_jobs.jars:jars",
}
PARTS = frozenset({"pyspark", "py4j", "pandas", "pyarrow", "matplotlib", "numpy"})


class Jobs(click.Group):
    """The jobs, in the order of the table."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(JOBS)

    def get_command(self, _context: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in JOBS:
            return None
        module, name = JOBS[cmd_name].split(":")
        try:
            command = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as problem:
            missing = (problem.name or "").partition(".")[0]
            if missing not in PARTS:
                raise
            raise Failed(
                f"{missing} is not installed, and Spark's jobs need it: type "
                "`pip install 'mqk[spark]'`"
            ) from problem
        assert isinstance(command, click.Command), "the table names commands"
        return command


@click.group(cls=Jobs)
def spark() -> None:
    """Jobs on queues with Apache Spark: archive, audit, flights, lag.

    Each is also a script for spark-submit: `spark-submit --jars "$(mqk spark jars)"
    spark_jobs/archive.py ORDERS /data/orders ...`.
    """
