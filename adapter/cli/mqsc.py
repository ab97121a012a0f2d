"""mqk mqsc: commands as MQ's administrators type them."""

from __future__ import annotations

from collections.abc import Iterable

import click

from adapter.administration.mqsc.dump import definitions
from adapter.administration.mqsc.execute import Script, split_lines
from adapter.administration.mqsc.written import Problem
from adapter.cli.connected import connect
from adapter.command import failures, options, streams

LINE_MAX = 1_000_000
"""Characters of a line: commands are much shorter, and standard input may be anything."""


@click.command()
@click.option(
    "--command", "-c", "commands", multiple=True, metavar="TEXT",
    help="Run this command. May be repeated; without it standard input is read.",
)  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="Show answers only, not the commands.")
@click.option(
    "--dump", is_flag=True,
    help="Run nothing: write the definitions of the queue manager, with its authority and channel "
    "authentication records, as a script of MQSC, as dmpmqcfg does, leaving out defaults.",
)  # fmt: skip
@click.option(
    "--all", "everything", is_flag=True,
    help="With --dump: all objects, with all their attributes.",
)  # fmt: skip
@options.queue_manager
@click.pass_context
def mqsc(
    context: click.Context,
    commands: tuple[str, ...],
    quiet: bool,
    dump: bool,
    everything: bool,
    qmgr: str,
) -> None:
    """Run MQSC commands: DEFINE, ALTER, DISPLAY, DELETE, CLEAR, ...

    A command that fails does not stop the script; the summary names the lines. Exit status: 0; 1 if
    a command failed, or a definition could not be dumped; 2 if a command has a syntax error.
    """
    if everything and not dump:
        raise click.UsageError("--all goes with --dump")
    if dump and commands:
        raise click.UsageError("--dump runs no command: leave --command out")
    if dump:
        _dump(qmgr, everything)
        return
    lines: Iterable[str] = [line for text in commands for line in split_lines(text)]
    if not commands:
        streams.standard_input()
        lines = streams.text_lines(LINE_MAX)
    with connect(qmgr, "mqk mqsc") as qm:
        script = Script(qm, echo=not quiet)
        for line in script.run(lines):
            click.echo(line)
    if script.wrong:
        context.exit(failures.WRONG_USE)
    if script.failed:
        context.exit(failures.FAILED)


def _dump(qmgr: str, everything: bool) -> None:
    problems = []
    with connect(qmgr, "mqk mqsc") as qm:
        for line in definitions(qm, everything=everything):
            if isinstance(line, Problem):
                problems.append(line.text)
            else:
                click.echo(line)
    if problems:
        raise failures.Failed(f"not everything could be written: {'; '.join(problems)}")
