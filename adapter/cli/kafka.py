"""mqk kafka start, stop and status: a local Kafka that goes on running."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from adapter.cli import output
from adapter.command import failures, options
from adapter.host.settings.setting_rows import PORT_MAX
from adapter.localkafka import detached
from adapter.localkafka.broker import HEAP_MB
from adapter.localkafka.detached import Status

PORT = click.IntRange(1024, PORT_MAX - 100)


def data_dir(command: options.Command) -> options.Command:
    """--data-dir: one local Kafka for each folder."""
    return click.option(
        "--data-dir", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
        help="The data folder.  [default: mqk/kafka in XDG_DATA_HOME or ~/.local/share]",
    )(command)  # fmt: skip


@click.group()
def kafka() -> None:
    """A local Kafka, for development and for single machines."""


@kafka.command()
@click.option(
    "--brokers",
    type=click.Choice(["1", "3"]),
    default="1",
    show_default=True,
    help="Three keep three copies of everything, of which two acknowledge each write, and survive "
    f"the loss of one. Each takes a heap of {HEAP_MB} MB at most.",
)
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
    """Start Kafka; returns when it answers. Succeeds if Kafka is already running."""
    status = detached.start_detached(
        int(brokers),
        data_dir,
        port=port,
        say=_say,
        may_run=True,
    )
    show(status, as_json, "")


@kafka.command()
@data_dir
@options.json_output
def stop(data_dir: Path | None, as_json: bool) -> None:
    """Stop Kafka cleanly; its data is kept. Succeeds if Kafka is not running."""
    was_running, stopped = detached.find_and_stop(data_dir, _say)
    what = "Kafka stopped" if was_running else "Kafka was not running"
    show(stopped, as_json, f"{what}; its data is in {stopped.data_dir}")


@kafka.command()
@data_dir
@options.json_output
def status(data_dir: Path | None, as_json: bool) -> None:
    """Show whether Kafka runs, and where.

    Exit status 1 if it is not running.
    """
    found = detached.status(data_dir)
    show(found, as_json, f"Kafka is not running; its data folder is {found.data_dir}")
    if not found.running:
        click.get_current_context().exit(failures.FAILED)


def _say(text: str) -> None:
    click.echo(text, err=True)


def show(status: Status, as_json: bool, not_running: str) -> None:
    """Print where Kafka runs; not_running: what to print where it does not."""
    if as_json:
        output.emit(msgspec.to_builtins(status, str_keys=True))
    elif status.running:
        click.echo(f"Kafka {status.kafka_version} runs at {status.bootstrap_servers}")
        click.echo(f"data: {status.data_dir}")
    else:
        click.echo(not_running)
