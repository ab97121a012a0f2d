"""mqk kafka start, stop and status: a local Kafka that goes on running."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from adapter.cli import failures, options, output
from adapter.localkafka import detached
from adapter.localkafka.detached import Status

PORT = click.IntRange(1024, options.PORT_MAX - 100)


def data_dir(command: options.Command) -> options.Command:
    """--data-dir: one local Kafka for each folder."""
    return click.option(
        "--data-dir", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
        help="Where its data lies.  [default: mqk/kafka in XDG_DATA_HOME or ~/.local/share]",
    )(command)  # fmt: skip


@click.group()
def kafka() -> None:
    """A local Kafka from Maven jars, for trying things out and for single machines."""


@kafka.command()
@click.option("--brokers", type=click.Choice(["1", "3"]), default="1", show_default=True)
@click.option(
    "--port",
    type=PORT,
    default=detached.DEFAULT_PORT,
    show_default=True,
    help="Of the first broker; the others listen on the next ones.",
)
@data_dir
@options.json_output
def start(brokers: str, port: int, data_dir: Path | None, as_json: bool) -> None:
    """Start it; returns when it answers."""
    status = detached.start_detached(
        int(brokers), data_dir, port=port, say=lambda text: click.echo(text, err=True)
    )
    show(status, as_json)


@kafka.command()
@data_dir
@options.json_output
def stop(data_dir: Path | None, as_json: bool) -> None:
    """Stop it cleanly. It is no failure if it does not run."""
    show(detached.stop_detached(data_dir), as_json)


@kafka.command()
@data_dir
@options.json_output
def status(data_dir: Path | None, as_json: bool) -> None:
    """Say whether it runs, and where; exit status 1 if it does not."""
    found = detached.status(data_dir)
    show(found, as_json)
    if not found.running:
        click.get_current_context().exit(failures.FAILED)


def show(status: Status, as_json: bool) -> None:
    """Print what is known of it."""
    if as_json:
        output.emit(msgspec.to_builtins(status, str_keys=True))
    elif status.running:
        click.echo(f"Kafka {status.kafka_version} runs at {status.bootstrap_servers}")
        click.echo(f"data: {status.data_dir}")
    else:
        click.echo(f"no Kafka runs on {status.data_dir}")
