"""`mqk spark jars`: the files of Spark's connectors, for spark-submit."""

from __future__ import annotations

import click

from spark_jobs import running, session


@click.command()
def jars() -> None:
    """Print the files of Spark's connectors for Kafka and Avro, as spark-submit --jars takes them.

    They are fetched with Maven the first time.
    """
    session.check_version()
    click.echo(",".join(session.jar_paths(running.tell)))
