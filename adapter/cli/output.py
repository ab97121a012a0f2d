"""How results are shown: tables for people, JSON for programs.

Messages and JSON go to standard output as they are; rich is only used for tables and progress, and
falls back to plain text by itself when the output is no terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

Step = Callable[[], None]

WIDTH_PLAIN = 120
"""If the width is unknown: wide enough for every table, so that no line wraps."""


def console(*, errors: bool = False) -> Console:
    """The console for tables (standard output) or for progress (standard error)."""
    file = sys.stderr if errors else sys.stdout
    return Console(file=file, width=None if file.isatty() else WIDTH_PLAIN, highlight=False)


def emit(value: object) -> None:
    """Print one line of JSON, at once: the next one may take a while. Bytes: in hexadecimal."""
    click.echo(msgspec.json.encode(printable(value)))
    sys.stdout.flush()


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
    rows = [list(row) for row in rows]
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for at, heading in enumerate(headings):
        numeric = bool(rows) and all(isinstance(row[at], int | float) for row in rows)
        shown.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*map(cell, row))
    console().print(shown, markup=False)


def cell(value: object) -> str:
    """One value as text: yes and no, thousands apart, empty for nothing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return "" if value is None else escaped(str(value))


def escaped(text: str) -> str:
    """A text without control characters: what others have chosen gives no orders to a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@contextmanager
def progress(label: str, total: int) -> Iterator[Step]:
    """A bar on standard error, if that is a terminal; call what it gives for each step."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console(errors=True), disable=not sys.stderr.isatty(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)
