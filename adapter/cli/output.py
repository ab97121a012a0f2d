"""How results are shown: tables for people, JSON for programs.

Messages and JSON go to standard output as they are; rich is only used for tables and progress, and
falls back to plain text by itself when the output is no terminal. It is imported when it is used:
that takes a tenth of a short command.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import click
import msgspec

from adapter.command import failures
from adapter.host import texts

if TYPE_CHECKING:
    from rich.console import Console


class ProgressStep(Protocol):
    """Say that so many more are done."""

    def __call__(self, count: int = 1) -> None: ...


WAIT_S = 5.0
"""Without an answer, until a person is told what the command waits for."""
WIDTH_PLAIN = 120
"""If the width is unknown: wide enough for every table, so that no line wraps."""


def console(*, errors: bool = False) -> Console:
    """The console for tables (standard output) or for progress (standard error)."""
    from rich.console import Console  # noqa: PLC0415 -- see above

    file = sys.stderr if errors else sys.stdout
    return Console(file=file, width=None if file.isatty() else WIDTH_PLAIN, highlight=False)


def emit(value: object) -> None:
    """Print one line of JSON, at once: the next one may take a while. Bytes: in hexadecimal."""
    text = msgspec.json.encode(printable(value)).decode()
    if not text.isprintable():  # JSON has a spelling of its own for these
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    click.echo(text)
    flush()


def flush() -> None:
    """Have what was printed go out at once."""
    if sys.stdout is not None:  # None: it was closed before the start
        sys.stdout.flush()


def done(text: str, as_json: bool, **figures: object) -> None:
    """Report what a command has done: a sentence, or with --json the figures as one object."""
    report(text, figures if as_json else None)


def report(text: str, figures: dict[str, object] | None = None) -> None:
    """Print what was done, or its figures as JSON. Where that fails the work is done all the same:
    Failed says so, because a program that tries again does it twice.
    """
    try:
        if figures is not None:
            emit(figures)
        else:
            click.echo(text)
    except BrokenPipeError:
        raise
    except OSError as problem:
        told = f"{failures.unwritten(problem)}; it is done, and only this report is missing: {text}"
        raise failures.Failed(told) from problem


def listing(
    found: Iterable[msgspec.Struct],
    as_json: bool,
    headings: Sequence[str],
    row: Callable[[Any], Sequence[object]] = msgspec.structs.astuple,
) -> None:
    """Print what was found: a table of a row each, or with --json all fields, an object a line."""
    if as_json:
        for one in found:
            emit(msgspec.structs.asdict(one))
    else:
        table(headings, map(row, found))


def printable(value: Any) -> Any:
    """The same value with bytes in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    return value


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers are set to the right."""
    from rich.table import Table  # noqa: PLC0415

    rows = [list(row) for row in rows]
    shown = Table(box=None, pad_edge=False, header_style=bold())
    shown.show_header = any(headings)
    for at, heading in enumerate(headings):
        numeric = bool(rows) and all(isinstance(row[at], int | float) for row in rows)
        shown.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(cell, row))
    console().print(shown, markup=False)


def pairs(rows: Iterable[tuple[str, object]]) -> None:
    """Print names and values in two columns without a heading."""
    table(("", ""), rows)


def number(count: int, noun: str) -> str:
    """`1 message`, `2,000 messages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def bold() -> str:
    """The style of headings: none with NO_COLOR, for which rich leaves out colours alone."""
    return "" if os.environ.get("NO_COLOR") else "bold"


def cell(value: object) -> str:
    """One value as text: yes and no, thousands apart, empty for nothing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return "" if value is None else texts.escape(str(value))


@contextmanager
def waiting_note(after_s: float = WAIT_S) -> Iterator[None]:
    """Say on standard error that the queue manager has not answered yet, if it takes long."""
    text = (
        f"no answer from the queue manager for {after_s:.0f} s: still waiting. It may be waiting "
        "for Kafka; `mqk qmgr status` shows it"
    )
    timer = threading.Timer(after_s, failures.tell, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def progress(label: str, total: int | None) -> Iterator[ProgressStep]:
    """A bar on standard error, if that is a terminal; call what it gives for each step.

    total: None if it is not known.
    """
    from rich import progress as bars  # noqa: PLC0415

    bar = bars.Progress(
        bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        console=console(errors=True), disable=not sys.stderr.isatty(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda count=1: bar.advance(task, count)
