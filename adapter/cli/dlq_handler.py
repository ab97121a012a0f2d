"""mqk dlq-handler: deal with dead letters as a rules table says.

What it does is adapter.mqi's; here is how it is called and how it ends.
"""

from __future__ import annotations

from typing import TextIO

import click

from adapter.cli import output
from adapter.cli.connected import connect
from adapter.command import failures, options, signals
from adapter.services.dead_letter_handler import DeadLetterHandler, lines_of
from adapter.services.dead_letter_rules import RulesError, RulesTable, parse

RULES_MAX = 1024 * 1024
"""Characters of a table of rules."""


@click.command("dlq-handler")
@click.argument("rules", type=click.File())
@click.option(
    "-q", "--queue", default="", metavar="DLQ",
    help="The dead-letter queue; else INPUTQ of the rules, else the queue manager's own.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Only read the rules, and report what is wrong.")
@options.queue_manager
@options.json_output
def dlq_handler(rules: TextIO, queue: str, check: bool, qmgr: str, as_json: bool) -> None:
    """Deal with the messages of a dead-letter queue as the file RULES says; - is standard input.

    It ends when nothing is left to be done and the rules' WAIT has passed, or with SIGTERM or
    Ctrl-C; then it sums up what was done.

    Exit status: 0; 1 if the queue manager or the queue is not there; 2 if the rules are wrong; 130
    after Ctrl-C.
    """
    table = read(rules)
    if check:
        click.echo(f"{rules.name}: {len(table.rules)} rules")
        return
    with connect(qmgr, "mqk dlq-handler") as qm:
        handler = DeadLetterHandler(
            qm, table, input_queue=queue, report=failures.tell
        )  # a line a message, on standard error
        failures.tell(f"dealing with queue {handler.queue} of {qm.name}")
        try:
            with signals.ending(handler.stop):
                handler.run()
        finally:
            summary(handler.statistics(), as_json)


def read(rules: TextIO) -> RulesTable:
    """Read the rules; what is wrong in them is wrong use, each mistake a line."""
    try:
        text = rules.read(RULES_MAX + 1)
        if len(text) > RULES_MAX:
            raise click.UsageError(f"{rules.name} has more than {RULES_MAX} characters")
        return parse(text)
    except RulesError as problem:
        lines = "\n".join(f"{rules.name}, {mistake}" for mistake in problem.mistakes)
        raise click.UsageError(f"invalid rules:\n{lines}") from problem
    except UnicodeDecodeError as problem:
        raise click.UsageError(f"{rules.name} is not text: {problem}") from problem


def summary(counts: dict[str, int], as_json: bool) -> None:
    """Say what was done."""
    text = "\n".join(lines_of(counts)) or "no message was processed"
    output.done(text, as_json, **counts)
