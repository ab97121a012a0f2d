"""mqk queue define, alter, show, delete and purge.

The options for attributes are made from core's one table of attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import adapter
from adapter.cli import messages, options, output
from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.attributes.table import Row
from adapter.errors import QueueNotFound


def attribute_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each attribute of a queue; not given means not mentioned."""
    for row in reversed(QUEUE_ATTRIBUTES.values()):
        command = attribute_option(row)(command)
    return command


def attribute_option(row: Row) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option for one attribute."""
    name = row.name.replace("_", "-")
    meaning = f"{row.attribute.keyword}: {row.attribute.meaning}."
    if row.type is bool:
        return click.option(f"--{name}/--no-{name}", row.name, default=None, help=meaning)
    kind: Any = str
    if row.choices:
        kind = click.Choice(row.choices, case_sensitive=False)
    elif row.type is int:
        kind = click.IntRange(row.attribute.low, row.attribute.high)
    return click.option(f"--{name}", row.name, type=kind, help=meaning)


def given(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that were named on the command line."""
    return {name: value for name, value in attributes.items() if value is not None}


@click.group()
def queue() -> None:
    """Queues: define, alter, show, delete, purge."""


@queue.command()
@click.argument("name")
@click.option("--replace", is_flag=True, help="Alter it if it exists.")
@attribute_options
@options.queue_manager
def define(name: str, replace: bool, qmgr: str, **attributes: Any) -> None:
    """Define the local queue NAME."""
    with adapter.connect(qmgr, application="mqk queue") as qm:
        qm.define_queue(name, replace=replace, **given(attributes))
    click.echo(f"queue {name} defined")


@queue.command()
@click.argument("name")
@attribute_options
@options.queue_manager
def alter(name: str, qmgr: str, **attributes: Any) -> None:
    """Alter attributes of the queue NAME."""
    wanted = given(attributes)
    if not wanted:
        raise click.UsageError("name at least one attribute to alter (see --help)")
    with adapter.connect(qmgr, application="mqk queue") as qm:
        qm.alter_queue(name, **wanted)
    click.echo(f"queue {name} altered")


@queue.command()
@click.argument("pattern", default="*")
@click.option("--attributes", "-a", is_flag=True, help="Show attributes instead of figures.")
@options.queue_manager
@options.json_output
def show(pattern: str, attributes: bool, qmgr: str, as_json: bool) -> None:
    """Show the queues whose name fits PATTERN (* stands for anything)."""
    with adapter.connect(qmgr, application="mqk queue") as qm:
        described = {one.name: one.attributes for one in qm.queues(pattern)}
        statuses = {one.name: one for one in qm.queue_status(pattern)}
    if as_json:
        for name, status in statuses.items():
            output.emit({**figures(status), "attributes": described.get(name, {})})
    elif attributes:
        rows = [
            (name, row.name, row.attribute.keyword, values[row.name])
            for name, values in described.items()
            for row in QUEUE_ATTRIBUTES.values()
        ]
        output.table(("queue", "attribute", "MQSC", "value"), rows)
    else:
        headings = ("queue", *(heading for heading, _ in COLUMNS))
        rows_of = [
            (name, *(getattr(status, field) for _, field in COLUMNS))
            for name, status in statuses.items()
        ]
        output.table(headings, rows_of)
    if not statuses and "*" not in pattern:
        raise QueueNotFound(f"there is no queue {pattern}: define it", pattern)


COLUMNS = (
    ("depth", "current_depth"),
    ("uncommitted", "uncommitted"),
    ("inputs", "open_input_count"),
    ("outputs", "open_output_count"),
    ("waiting gets", "waiting_gets"),
    ("oldest, s", "oldest_message_age_s"),
)


def figures(status: Any) -> dict[str, Any]:
    """All figures of a queue."""
    return {name: getattr(status, name) for name in status.__struct_fields__}


@queue.command()
@click.argument("name")
@click.option("--purge", is_flag=True, help="With the messages on it.")
@options.queue_manager
def delete(name: str, purge: bool, qmgr: str) -> None:
    """Delete the queue NAME; its topic stays for its readers."""
    with adapter.connect(qmgr, application="mqk queue") as qm:
        qm.delete_queue(name, purge=purge)
    click.echo(f"queue {name} deleted")


@queue.command()
@click.argument("name")
@options.queue_manager
@options.json_output
def purge(name: str, qmgr: str, as_json: bool) -> None:
    """Discard every message on the queue NAME that no unit holds."""
    with adapter.connect(qmgr, application="mqk queue") as qm, qm.queue(name) as opened:
        count = opened.purge()
    if as_json:
        output.emit({"queue": name, "purged": count})
    else:
        click.echo(f"{messages.counted(count)} purged from {name}")
