"""mqk top: the queues of a running queue manager, as they change.

Rates are differences of totals between two samples; a restart of the process resets the totals.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import click
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

import adapter
from adapter.cli import output
from adapter.command import options
from adapter.core.contract.results import QueueStatus

CONNECT_TIMEOUT_S = 5.0
SPARE_LINES = 6
"""Of a terminal: for the heading and the prompt."""
COLUMNS = {
    "queue": "queue",
    "depth": "depth",
    "puts/s": "puts_per_s",
    "gets/s": "gets_per_s",
    "oldest age (s)": "oldest_message_age_s",
    "in flight": "in_flight",
    "uncommitted": "uncommitted_puts",
    "waiting gets": "waiting_gets",
}
SORTS = {"name": "queue", "depth": "depth", "rate": "rate", "age": "oldest_message_age_s"}


class Look(Struct):
    """What a queue manager said at one moment."""

    time_s: float
    figures: dict[str, Any]
    queues: dict[str, QueueStatus]


class QueueLine(Struct):
    """One queue. in_flight: got by open units; uncommitted_puts: put by them."""

    queue: str
    depth: int
    puts_per_s: float
    gets_per_s: float
    oldest_message_age_s: float
    in_flight: int
    uncommitted_puts: int
    waiting_gets: int

    @property
    def rate(self) -> float:
        """Messages that came or went."""
        return self.puts_per_s + self.gets_per_s


class MoverFigures(Struct):
    """How far one mover is behind."""

    lag_records: int
    lag_bytes: int
    parked: int
    holding: bool


class StandbyLag(Struct):
    """How far one standby is behind."""

    address: str
    priority: int
    lag_records: int
    lag_s: float


class LiveScreen(Struct):
    """What is shown, or printed as JSON."""

    queue_manager: str
    state: str
    owner: str
    connections: int
    units: int
    commits_per_s: float
    backouts_per_s: float
    standbys: dict[str, StandbyLag]
    movers: dict[str, MoverFigures]
    queues: list[QueueLine]


@click.command()
@click.argument("pattern", default="*")
@click.option("--once", is_flag=True, help="Print one sample and exit.")
@click.option(
    "--interval",
    "interval_s",
    type=options.RealRange(0.1, 3600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Between two samples.",
)
@click.option(
    "--sort",
    type=click.Choice(list(SORTS)),
    default="name",
    show_default=True,
    help="What comes first: the name, or the greatest depth, rate or age.",
)
@options.queue_manager
@options.json_output
def top(
    pattern: str, once: bool, interval_s: float, sort: str, qmgr: str, as_json: bool
) -> None:  # fmt: skip
    """Show the queues whose name fits PATTERN, and how they change.

    Ctrl-C ends it. With --json: one object a look.
    """
    with adapter.connect(qmgr, connect_timeout_s=CONNECT_TIMEOUT_S, application="mqk top") as qm:
        screens = watch(qm, pattern, interval_s, sort)
        if once:
            show_one(next(screens), as_json)
            return
        try:
            show_all(screens, as_json)
        except KeyboardInterrupt:
            return


def watch(qm: Any, pattern: str, interval_s: float, sort: str) -> Iterator[LiveScreen]:
    """Look again and again; each look but the first makes a screen."""
    before = look(qm, pattern)
    while True:
        time.sleep(interval_s)
        after = look(qm, pattern)
        yield screen(before, after, sort)
        before = after


def look(qm: Any, pattern: str) -> Look:
    """Ask once."""
    queues = {one.name: one for one in qm.queue_status(pattern)}
    return Look(time.monotonic(), qm.figures(), queues)


def show_one(shown: LiveScreen, as_json: bool) -> None:
    """Print one screen, every line of it."""
    if as_json:
        output.emit(shown)
    else:
        output.console().print(drawn(shown, len(shown.queues)))


def show_all(screens: Iterator[LiveScreen], as_json: bool) -> None:
    """Print one screen after the other; on a terminal in its place."""
    console = output.console()
    if as_json or not console.is_terminal:
        for shown in screens:
            show_one(shown, as_json)
        return
    with Live(console=console, screen=True, auto_refresh=False) as live:
        for shown in screens:
            live.update(drawn(shown, max(1, console.height - SPARE_LINES)), refresh=True)


def screen(before: Look, after: Look, sort: str) -> LiveScreen:
    """What two looks say together; pure."""
    past_s = max(after.time_s - before.time_s, 0.001)
    lines = [line(before.queues.get(name), one, past_s) for name, one in after.queues.items()]
    lines.sort(key=lambda each: each.queue)
    if sort != "name":
        lines.sort(key=lambda each: getattr(each, SORTS[sort]), reverse=True)
    return LiveScreen(
        queue_manager=after.figures["queue_manager"],
        state=str(after.figures.get("state", "")),
        owner=str(after.figures.get("address", "")),
        connections=number(after, "connections"),
        units=number(after, "units"),
        commits_per_s=rate(number(before, "commits"), number(after, "commits"), past_s),
        backouts_per_s=rate(number(before, "backouts"), number(after, "backouts"), past_s),
        standbys=standbys(after.figures.get("standbys", {})),
        movers=movers(after.figures.get("movers", {})),
        queues=lines,
    )


def line(before: QueueStatus | None, after: QueueStatus, past_s: float) -> QueueLine:
    """One queue; one that was not there before has no rates yet."""
    old = before or after
    return QueueLine(
        queue=after.name,
        depth=after.current_depth,
        puts_per_s=rate(old.put_total, after.put_total, past_s),
        gets_per_s=rate(old.got_total, after.got_total, past_s),
        oldest_message_age_s=after.oldest_message_age_s,
        in_flight=after.uncommitted_gets,
        uncommitted_puts=after.uncommitted_puts,
        waiting_gets=after.waiting_gets,
    )


def rate(before: int, after: int, past_s: float) -> float:
    """Return the rate per second; a total that went back was reset."""
    return round((after - before if after >= before else after) / past_s, 1)


def number(look_at: Look, figure: str) -> int:
    """A figure, 0 while it is unknown."""
    return int(look_at.figures.get(figure, 0))


def movers(figures: dict[str, dict[str, int]]) -> dict[str, MoverFigures]:
    """How far each mover is behind."""
    return {
        name: MoverFigures(
            lag_records=one.get("lag_records", 0),
            lag_bytes=one.get("lag_bytes", 0),
            parked=one.get("parked", 0),
            holding=bool(one.get("holding", 0)),
        )
        for name, one in figures.items()
    }


def standbys(figures: dict[str, dict[str, Any]]) -> dict[str, StandbyLag]:
    """How far each standby is behind."""
    return {
        name: StandbyLag(
            one["address"] or one["tls_address"], one["priority"], one["lag_records"], one["lag_s"]
        )
        for name, one in figures.items()
    }


def drawn(shown: LiveScreen, lines_max: int) -> Group:
    """The screen for people."""
    heading = Text(
        f"{shown.queue_manager}  {shown.state}  {shown.owner}  ", style=output.bold(), end=""
    )
    figures = (
        f"connections {shown.connections}   units in flight {shown.units}   "
        f"commits/s {shown.commits_per_s:,.1f}   backouts/s {shown.backouts_per_s:,.1f}"
    )
    table = Table(box=None, pad_edge=False, header_style=output.bold())
    for title in COLUMNS:
        left = title == "queue"
        table.add_column(title, justify="left" if left else "right", overflow="fold")
    for each in shown.queues[:lines_max]:
        table.add_row(*(output.cell(getattr(each, field)) for field in COLUMNS.values()))
    parts: list[RenderableType] = [
        heading,
        Text(figures),
        *map(standby_line, shown.standbys.items()),
        *map(mover_line, shown.movers.items()),
        Text(""),
        table,
    ]
    more = len(shown.queues) - lines_max
    return Group(*parts, *([Text(f"and {more} more")] if more > 0 else []))


def standby_line(item: tuple[str, StandbyLag]) -> Text:
    """How far a standby is behind."""
    name, one = item
    behind = f"{one.lag_records:,} records, {one.lag_s:.1f} s behind"
    return Text(f"standby {name}: {one.address}, priority {one.priority}, {behind}")


def mover_line(item: tuple[str, MoverFigures]) -> Text:
    """How far a mover is behind, loud if it holds."""
    name, mover = item
    text = f"{name} mover: {mover.lag_records:,} records, {mover.lag_bytes:,} bytes behind"
    if mover.parked:
        text += f", {output.number(mover.parked, 'topic')} parked"
    if mover.holding:
        text += ", holding (see /ready or the log)"
    return Text(text, style="red" if mover.holding or mover.parked else "")
