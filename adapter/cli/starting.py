"""mqk qmgr start: the process of a queue manager.

In the foreground the server runs in this process; with --background in one of its own, which this
one waits for until it serves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from adapter.cli import background, settings
from adapter.cli.background import ReadyLine
from adapter.command import default_kafka, failures, options
from adapter.command.grouped import GroupedCommand
from adapter.host import logs
from adapter.host.settings.config import ConfigError, missing
from adapter.server import main as server
from adapter.server.listen.listener import NotLoopbackError, check_loopback
from adapter.server.settings import ServerSettings


@click.command(cls=GroupedCommand, groups=settings.GROUPS)
@click.argument("name", required=False)
@settings.flags
@click.option(
    "--take-over", is_flag=True,
    help="Start even if another process runs it, and fence that process off.",
)  # fmt: skip
@options.confirmation(
    "Take queue manager {name} over from the process that runs it, if one does?", "take_over"
)
@click.option(
    "--background", "in_background", is_flag=True, help="Return when it serves, and let it go on."
)
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --background: where its log goes.",
)
@options.json_output
def start(
    name: str | None,
    take_over: bool,
    in_background: bool,
    log: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Start the queue manager NAME on a Kafka.

    One process at a time owns a queue manager: a start refuses while another one is alive. Settings
    come from flags, the environment and a file, in this order; see `mqk config check`.
    """
    wanted = msgspec.structs.replace(wanted_settings(name, given), take_over=take_over)
    if wanted.standby and take_over:
        raise click.UsageError(
            "a standby waits for the owner's end, and --take-over does not: without --standby, and "
            'with standby = "no" in the settings, the owner is replaced now'
        )
    if not wanted.remote_clients:
        with failures.expect(NotLoopbackError):
            check_loopback(wanted.host)
    if in_background:
        log = log or background.log_file(wanted.queue_manager)
        ReadyLine(as_json).show(background.start(wanted, log))
        if not as_json:
            click.echo(f"log: {log}")
    elif log is not None:
        raise click.UsageError("--log goes with --background; in the foreground use 2>FILE")
    else:
        logs.configure(wanted.log)
        server.run(wanted, ReadyLine(as_json))


def wanted_settings(name: str | None, given: dict[str, Any]) -> ServerSettings:
    """The settings to start with; wrong ones are wrong use."""
    try:
        found = settings.load(name, given)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from problem
    lacking = missing(found)
    if lacking:
        raise click.UsageError("; ".join(lacking))
    if found.is_default(settings.KAFKA):
        default_kafka.servers()
    return server.settings_of(found)
