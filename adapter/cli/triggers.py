"""mqk triggers: the service of Message Queuing Triggers, from a file of triggers.

What it does is adapter.msmq.triggers'; here is how it is called and how it ends.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from adapter import msmq
from adapter.cli.trigger_monitor import tell_all
from adapter.command import failures, options, signals
from adapter.host.allowed import AllowedPrograms
from adapter.msmq.triggers import Run, TriggerService, configuration
from adapter.msmq.triggers.model import Trigger

LOGGER = "adapter.msmq"
FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.toml")


@click.group()
def triggers() -> None:
    """Message Queuing Triggers: start programs as messages arrive on queues of MSMQ."""


@triggers.command("check")
@FILE
def check(file: Path) -> None:
    """Check a file of triggers. Every problem is named with its line, and programs that are not
    found are named too: the service may run on a machine that has them.

    Exit status: 0; 1 if something is wrong with the file.
    """
    found = read(file)
    for trigger in found:
        rules = ", ".join(rule.name for rule in trigger.rules) or "no rules"
        click.echo(f"{trigger.name}: {trigger.queue} ({trigger.processing.value}): {rules}")
        for rule in trigger.rules:
            if isinstance(rule.action, Run) and shutil.which(rule.action.executable) is None:
                program = rule.action.executable
                failures.tell(f"rule {rule.name}: program {program} is not on PATH here")


@triggers.command("run")
@FILE
@click.option(
    "--max-repeats", type=click.IntRange(min=1), default=None, metavar="N",
    help="Activate a trigger for one message at most so often one time after the other.",
)  # fmt: skip
@click.option("--computer", metavar="NAME", help="The computer of MSMQ that this runs on.")
@options.allowed_programs
@options.queue_manager
def run(
    file: Path,
    max_repeats: int | None,
    computer: str | None,
    allowed: AllowedPrograms | None,
    qmgr: str,
) -> None:
    """Run the triggers of FILE.toml, until SIGTERM or Ctrl-C.

    Every queue is processed from its head, then as messages arrive. A queue manager that restarts
    is waited for; then queues are processed from the head again.

    Exit status: 0 after SIGTERM, 130 after Ctrl-C, 1 if the file is wrong, or a queue is missing.
    """
    found = read(file)
    tell_all(LOGGER)
    with msmq.connect(qmgr, computer=computer, application="mqk triggers") as host:
        service = TriggerService(host, max_repeats=max_repeats, allowed=allowed)
        for trigger in found:
            service.add(trigger)
        with signals.ending(service.stop):
            count = f"{len(found)} trigger{'s' * (len(found) != 1)}"
            failures.tell(f"running {count} of {file} on {host.queue_manager}")
            service.run()
    failures.tell("the trigger service has ended")


def read(file: Path) -> list[Trigger]:
    """Read a file of triggers, or end the command with what is wrong with it."""
    try:
        return configuration.read(file)
    except configuration.TriggerFileError as error:
        *others, last = error.problems
        for problem in others:
            failures.tell(problem)
        raise failures.Failed(last) from error
