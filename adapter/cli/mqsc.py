"""mqk mqsc: commands as MQ's administrators type them."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from adapter.cli import failures, options
from adapter.cli.connected import connected
from adapter.mqi.mqsc.execute import Script


@click.command()
@click.option(
    "--command", "-c", "commands", multiple=True, metavar="TEXT",
    help="Run this command. May be repeated; without it standard input is read.",
)  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="Show answers only, not the commands.")
@options.queue_manager
@click.pass_context
def mqsc(context: click.Context, commands: tuple[str, ...], quiet: bool, qmgr: str) -> None:
    """Run MQSC commands: DEFINE, ALTER, DISPLAY, DELETE, CLEAR, ...

    A command that fails does not stop the script; the summary names the lines. Exit status: 0; 1 if
    a command failed; 2 if a command has a syntax error.
    """
    lines: Iterable[str] = [line for text in commands for line in text.splitlines()]
    if not commands:
        lines = sys.stdin
    with connected(qmgr, "mqk mqsc") as qm:
        script = Script(qm, echo=not quiet)
        try:
            for line in script.run(lines):
                click.echo(line)
        except UnicodeDecodeError as problem:
            raise failures.Failed(f"standard input is not text in UTF-8: {problem}") from problem
    if script.wrong:
        context.exit(failures.WRONG_USE)
    if script.failed:
        context.exit(failures.FAILED)
