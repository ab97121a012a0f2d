"""mqk demo: a year of real flights through transactional queues, with a kill -9 half way."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click
import msgspec
from rich.console import Console
from rich.table import Table

from adapter.command import failures
from mqk_demo import flights as table
from mqk_demo.outcome import Outcome
from mqk_demo.run import run
from mqk_demo.screen import Screen

FLIGHTS_MIN = 1000
"""Fewer are handled before there is a half way."""
WIDTH_PLAIN = 120
"""If the width is unknown: wide enough that no line of the closing table wraps."""


@click.command()
@click.option(
    "--flights",
    type=click.IntRange(FLIGHTS_MIN, table.ROWS),
    default=table.ROWS,
    show_default=True,
    help="How many flights.",
)
@click.option(
    "--standby", is_flag=True, help="Let a standby take over from the queue manager that is killed."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--chart", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="At the end, let a Spark job draw the delays into this PNG file.",
)  # fmt: skip
def demo(flights: int, standby: bool, as_json: bool, chart: Path | None) -> None:
    """Put real flights through prioritised, transactional queues, and check what comes out.

    It starts a Kafka, a queue manager, a producer, and a trigger monitor that starts two workers
    when the first flights are there; half way it kills the queue manager with SIGKILL while commits
    are unanswered, and starts it again, or lets a standby take over. At the end a program that
    shares no code with the queue manager compares what lies on Kafka with the table of flights.
    Exit status 1 if a single flight is lost, doubled, altered or out of order.
    """
    with interruptible(), Screen() as screen:
        outcome = run(flights, screen, chart, standby=standby)
    if as_json:
        click.echo(msgspec.json.encode(msgspec.structs.asdict(outcome) | {"ok": outcome.ok}))
    else:
        show(outcome)
        if chart is not None and chart.exists():
            click.echo(f"chart of the delays: {chart}")
    for problem in outcome.problems:
        failures.tell(problem)
    if not outcome.ok:
        click.get_current_context().exit(failures.FAILED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Make the first SIGINT, SIGTERM or SIGHUP end the demo cleanly, and ignore any further one."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def told(_number: int, _frame: FrameType | None) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        failures.tell("interrupted: ending everything that was started")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, told) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show(outcome: Outcome) -> None:
    """The closing table."""
    title = "every flight once, in order" if outcome.ok else "SOMETHING IS OFF"
    shown = Table(title=f"{outcome.flights:,} flights: {title}", show_header=False)
    shown.add_column("what", style="bold")
    shown.add_column("how many", justify="right")
    shown.add_column("meaning", style="dim")
    for row in outcome.rows():
        shown.add_row(*row)
    width = None if sys.stdout.isatty() else WIDTH_PLAIN
    Console(width=width, highlight=False).print(shown)
