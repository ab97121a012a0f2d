"""mqk export define, show, pause, resume and delete: queues that are written to topics of Kafka.

The options for attributes are made from core's one table of attributes.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Any

import click

import adapter
from adapter.cli import output
from adapter.cli.connected import connect
from adapter.cli.queues import given
from adapter.cli.topic_objects import (
    LOOK_S,
    attribute_options,
    await_figures,
    report,
    set_state,
)
from adapter.command import failures, options
from adapter.core.attributes.export import EXPORT
from adapter.core.contract.results import ObjectDescription

APPLICATION = "mqk export"
PAUSED = "paused"
ENDED_S = 30.0
"""How long a pause waits for what is being written: Kafka may not answer."""
CLOSED_S = 5.0
"""How long a deletion waits for the same: the queue may be open in another program."""
NEEDED = ("queue", "topic")
NOT_KNOWN: dict[str, Any] = {"state": "starting", "why": "", "waiting": 0, "records": 0}
"""What is known of an export while the queue manager starts."""


@click.group()
def export() -> None:
    """Exports to Kafka topics: define, show, pause, resume, delete."""


@export.command()
@click.argument("name")
@click.argument("queue")
@click.argument("topic")
@click.option("--replace", is_flag=True, help="Alter it if it exists.")
@attribute_options(EXPORT, NEEDED)
@options.queue_manager
@options.json_output
def define(
    name: str, queue: str, topic: str, replace: bool, qmgr: str, as_json: bool, **attributes: Any
) -> None:
    """Define export NAME, which writes the messages of QUEUE to TOPIC, each once.

    QUEUE is a local queue. What is put there, in whatever way, becomes a record of TOPIC once it is
    committed, and is gone from QUEUE then.
    """
    wanted = given(attributes) | {"queue": queue, "topic": topic}
    with connect(qmgr, APPLICATION) as qm:
        qm.define_object(EXPORT, name, replace=replace, **wanted)
    report(EXPORT, name, "defined", as_json)


@export.command()
@click.argument("pattern", default="*")
@click.option("--system", is_flag=True, help="Also those that are made for unit.produce.")
@options.queue_manager
@options.json_output
def show(pattern: str, system: bool, qmgr: str, as_json: bool) -> None:
    """Show the exports that match PATTERN: what they do, and what waits to be written."""
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        figures = qm.figures().get("exports", {})
        exports = qm.objects(EXPORT, pattern, system=system)
        found = [(one, figures.get(one.name, NOT_KNOWN)) for one in exports]
    if as_json:
        for one, of in found:
            output.emit({"export": one.name} | one.attributes | of)
        return
    headings = ("export", "queue", "topic", "state", "waiting", "records", "why")
    output.table(headings, [_row(*one) for one in found])


def _row(one: ObjectDescription, of: dict[str, Any]) -> tuple[object, ...]:
    return (
        one.name, one.attributes["queue"], one.attributes["topic"], of["state"].lower(),
        of["waiting"], of["records"], of["why"],
    )  # fmt: skip


@export.command()
@click.argument("name")
@options.queue_manager
@options.json_output
def pause(name: str, qmgr: str, as_json: bool) -> None:
    """Let export NAME write nothing more, until it is resumed. Messages wait on its queue.

    It is paused once what it had got already is written.
    """
    ended = partial(_await_end, name=name)
    set_state(EXPORT, name, qmgr, is_running=False, as_json=as_json, settle=ended)


def _await_end(qm: adapter.Connection, name: str) -> None:
    """Wait until an export that is to pause writes nothing any more; say so if that takes long."""

    def has_ended(figures: dict[str, Any]) -> bool:
        return str(figures["state"]) == PAUSED

    if not await_figures(qm, EXPORT, name, has_ended, ENDED_S):
        failures.tell(
            f"export {name} still writes what it has got: `mqk export show {name}` says {PAUSED} "
            "when that is done"
        )


@export.command()
@click.argument("name")
@options.queue_manager
@options.json_output
def resume(name: str, qmgr: str, as_json: bool) -> None:
    """Let export NAME go on where it was paused."""
    set_state(EXPORT, name, qmgr, is_running=True, as_json=as_json)


@export.command()
@click.argument("name")
@options.confirmation("Delete export {name}?")
@options.queue_manager
@options.json_output
def delete(name: str, qmgr: str, as_json: bool) -> None:
    """Delete export NAME. Its queue stays, with what is not written yet."""
    with connect(qmgr, APPLICATION) as qm:
        queues = [one.attributes["queue"] for one in qm.objects(EXPORT, name, system=True)]
        qm.delete_object(EXPORT, name)
        for queue in queues:
            _await_close(qm, str(queue))
    report(EXPORT, name, "deleted", as_json)


def _await_close(qm: adapter.Connection, queue: str) -> None:
    """Wait until an export that was deleted writes nothing any more: it has its queue open for
    itself as long as it does. Another program may have opened it then.
    """
    until_s = time.monotonic() + CLOSED_S
    with suppress(adapter.Error):  # it may be deleted too, or not to be seen
        while qm.queue(queue).status().open_input_count and time.monotonic() < until_s:
            time.sleep(LOOK_S)
