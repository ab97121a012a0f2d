"""mqk queue define, alter, show, delete and purge.

The options for attributes are made from core's one table of attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec

import adapter
from adapter.cli import completion, messages, output, queue_topics
from adapter.cli.connected import connect
from adapter.command import failures, options
from adapter.command.grouped import GroupedCommand, Groups
from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.attributes.table import AttributeRow
from adapter.core.contract.reasons import Reason
from adapter.errors import Error, QueueNotFound
from adapter.errors.refusals import refusal

POINTERS = ("backout_requeue_queue", "initiation_queue")
"""Attributes that name another queue."""

GROUPS: Groups = {
    "Puts and gets": (
        "inhibit_put", "inhibit_get", "share", "def_input_open_option", "msg_delivery_sequence",
    ),
    "Messages": ("def_priority", "def_persistence", "expiry_cap", "property_control"),
    "Limits": ("max_depth", "max_message_length"),
    "Messages that are backed out": (
        "backout_threshold", "backout_requeue_queue", "backout_action", "harden_get_backout",
    ),
    "Triggers": (
        "trigger_control", "trigger_type", "trigger_depth", "trigger_msg_priority", "trigger_data",
        "initiation_queue", "process",
    ),
    "Definition": ("replace", "description", "usage", "definition_type"),
}  # fmt: skip
"""Options of define and alter, by subject."""


def attribute_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each attribute of a queue; not given means not mentioned."""
    for row in reversed(QUEUE_ATTRIBUTES.values()):
        command = attribute_option(row)(command)
    return command


def attribute_option(row: AttributeRow) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
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


def done(name: str, what: str, as_json: bool) -> None:
    """Report what was done to a queue."""
    output.done(f"queue {name} {what}", as_json, **{"queue": name, what: True})


def warn_of_missing(qm: adapter.Connection, name: str, wanted: dict[str, Any]) -> None:
    """Say which queues an object names that do not exist. They may be defined later."""
    for attribute in POINTERS:
        other = wanted.get(attribute)
        if other and not exists(qm, other):
            option = attribute.replace("_", "-")
            failures.tell(
                f"warning: queue {name} has --{option} {other}, and there is no queue {other}: "
                f"define it, or alter queue {name}"
            )


def exists(qm: adapter.Connection, name: str) -> bool:
    """Whether a queue of any kind has this name."""
    try:
        qm.queue(name).inquire()
    except QueueNotFound:
        return False
    except Error:  # it is there, and is no local queue
        return True
    return True


@click.group()
def queue() -> None:
    """Queues: define, alter, show, delete, purge; and their topics."""


queue.add_command(queue_topics.topics)


@queue.command(cls=GroupedCommand, groups=GROUPS)
@click.argument("name")
@click.option("--replace", is_flag=True, help="Alter it if it exists.")
@attribute_options
@options.queue_manager
@options.json_output
def define(name: str, replace: bool, qmgr: str, as_json: bool, **attributes: Any) -> None:
    """Define the local queue NAME."""
    wanted = given(attributes)
    with connect(qmgr, "mqk queue") as qm:
        qm.define_queue(name, replace=replace, **wanted)
        warn_of_missing(qm, name, wanted)
    done(name, "defined", as_json)


@queue.command(cls=GroupedCommand, groups=GROUPS)
@click.argument("name", shell_complete=completion.queues)
@attribute_options
@options.queue_manager
@options.json_output
def alter(name: str, qmgr: str, as_json: bool, **attributes: Any) -> None:
    """Alter attributes of the queue NAME."""
    wanted = given(attributes)
    if not wanted:
        raise click.UsageError("name at least one attribute to alter (see --help)")
    with connect(qmgr, "mqk queue") as qm:
        qm.alter_queue(name, **wanted)
        warn_of_missing(qm, name, wanted)
    done(name, "altered", as_json)


@queue.command()
@click.argument("pattern", default="*", shell_complete=completion.queues)
@click.option("--attributes", "-a", is_flag=True, help="Show attributes instead of figures.")
@options.queue_manager
@options.json_output
def show(pattern: str, attributes: bool, qmgr: str, as_json: bool) -> None:
    """Show the queues whose name fits PATTERN (* stands for anything)."""
    with connect(qmgr, "mqk queue") as qm:
        described = {one.name: one.attributes for one in qm.queues(pattern)}
        statuses = {one.name: one for one in qm.queue_status(pattern)}
        if not statuses and "*" not in pattern:
            raise refusal(Reason.QUEUE_NOT_FOUND, pattern)
    if as_json:
        for name, status in statuses.items():
            figures = msgspec.structs.asdict(status)
            output.emit(figures | {"attributes": described.get(name, {})})
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


COLUMNS = (
    ("depth", "current_depth"),
    ("uncommitted", "uncommitted"),
    ("inputs", "open_input_count"),
    ("outputs", "open_output_count"),
    ("waiting gets", "waiting_gets"),
    ("oldest age (s)", "oldest_message_age_s"),
)


queue.add_command(show, "list")  # the word of the other groups


@queue.command()
@click.argument("name", shell_complete=completion.queues)
@click.option("--purge", is_flag=True, help="Also discard the messages on it.")
@options.confirmation("Delete queue {name} and discard its messages?", if_given="purge")
@options.queue_manager
@options.json_output
def delete(name: str, purge: bool, qmgr: str, as_json: bool) -> None:
    """Delete the queue NAME."""
    with connect(qmgr, "mqk queue") as qm:
        qm.delete_queue(name, purge=purge)
        for one in qm.queues():
            for attribute in POINTERS:
                if one.attributes.get(attribute) == name:
                    failures.tell(f"warning: queue {one.name} names {name} as its {attribute}")
    done(name, "deleted", as_json)


@queue.command()
@click.argument("name", shell_complete=completion.queues)
@options.confirmation("Discard all messages on queue {name}?")
@options.queue_manager
@options.json_output
def purge(name: str, qmgr: str, as_json: bool) -> None:
    """Discard every message on the queue NAME that no unit holds."""
    with connect(qmgr, "mqk queue") as qm, qm.queue(name) as opened:
        count = opened.purge()
    text = f"{messages.count_of(count)} purged from {name}"
    output.done(text, as_json, queue=name, purged=count)
