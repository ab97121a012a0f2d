"""mqk feed define, show, pause, resume, seek and delete: topics of Kafka that are put on queues.

The options for attributes are made from core's one table of attributes.
"""

from __future__ import annotations

from typing import Any

import click

import adapter
from adapter.cli import output
from adapter.cli.connected import connect
from adapter.cli.queues import given
from adapter.cli.topic_objects import attribute_options, await_figures, report, set_state
from adapter.command import failures, options
from adapter.command.grouped import GroupedCommand, Groups
from adapter.core.attributes.feed import FEED
from adapter.core.contract.results import ObjectDescription

APPLICATION = "mqk feed"
NEEDED = ("topic", "queue")
GROUPS: Groups = {
    "Reading": ("begin", "tombstones", "refused", "hops", "state"),
    "Properties and keys": ("key", "headers", "origin", "descriptor"),
    "Values": ("value", "fields"),
    "Priority, expiry and delay": (
        "priority", "priority_header", "priority_rules", "expiry", "expiry_header", "delay",
        "delay_header",
    ),
    "Definition": ("replace", "description", "topic_string"),
}  # fmt: skip
"""Options of define, by subject."""
NOT_READ: dict[str, Any] = {
    "state": "starting", "why": "", "positions": {}, "ends": {}, "lag": 0, "records": 0,
}  # fmt: skip
"""What is known of a feed that is not read yet."""
LATEST = "LATEST"
BEGUN_S = 10.0
"""How long a feed may take to read its topic for the first time: Kafka may not answer."""


@click.group()
def feed() -> None:
    """Feeds of Kafka topics: define, show, pause, seek, delete."""


@feed.command(cls=GroupedCommand, groups=GROUPS)
@click.argument("name")
@click.argument("topic")
@click.argument("queue", default="")
@click.option("--replace", is_flag=True, help="Alter it if it exists.")
@attribute_options(FEED, NEEDED)
@options.queue_manager
@options.json_output
def define(
    name: str, topic: str, queue: str, replace: bool, qmgr: str, as_json: bool, **attributes: Any
) -> None:
    """Define feed NAME, which puts the records of TOPIC on QUEUE, each once.

    QUEUE is a local queue, an alias or a remote queue. With --topic-string in its place each record
    is published.
    """
    wanted = {"topic_string": ""} | given(attributes) | {"topic": topic, "queue": queue}
    if "begin" in wanted:
        wanted["begin"] = wanted["begin"].upper()
    with connect(qmgr, APPLICATION) as qm:
        qm.define_object(FEED, name, replace=replace, **wanted)
        if wanted.get("begin") == LATEST:
            _await_begin(qm, name)
    report(FEED, name, "defined", as_json)


def _await_begin(qm: adapter.Connection, name: str) -> None:
    """Wait until it is decided where a feed begins that puts only what comes: what is written to
    its topic from then on is put. Say so if that takes long.
    """

    def has_begun(figures: dict[str, Any]) -> bool:
        return bool(figures["positions"]) or figures["state"] in ("paused", "retrying")

    if not await_figures(qm, FEED, name, has_begun, BEGUN_S):
        failures.tell(
            f"feed {name} has not read its topic yet: it begins behind what is there when it does"
        )


@feed.command()
@click.argument("pattern", default="*")
@options.queue_manager
@options.json_output
def show(pattern: str, qmgr: str, as_json: bool) -> None:
    """Show the feeds that match PATTERN: what they do, and how far behind they are.

    --json also shows the position and the end of each partition.
    """
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        figures = qm.figures().get("feeds", {})
        found = [(one, figures.get(one.name, NOT_READ)) for one in qm.objects(FEED, pattern)]
    if as_json:
        for one, of in found:
            output.emit({"feed": one.name} | one.attributes | of)
        return
    headings = ("feed", "topic", "queue", "state", "partitions", "lag", "records", "why")
    output.table(headings, [_row(*one) for one in found])


def _row(one: ObjectDescription, of: dict[str, Any]) -> tuple[object, ...]:
    return (
        one.name, one.attributes["topic"],
        one.attributes["queue"] or one.attributes["topic_string"], of["state"].lower(),
        len(of["positions"]), of["lag"], of["records"], of["why"],
    )  # fmt: skip


@feed.command()
@click.argument("name")
@options.queue_manager
@options.json_output
def pause(name: str, qmgr: str, as_json: bool) -> None:
    """Let feed NAME put nothing more, until it is resumed. It keeps its position."""
    set_state(FEED, name, qmgr, is_running=False, as_json=as_json)


@feed.command()
@click.argument("name")
@options.queue_manager
@options.json_output
def resume(name: str, qmgr: str, as_json: bool) -> None:
    """Let feed NAME go on where it was paused."""
    set_state(FEED, name, qmgr, is_running=True, as_json=as_json)


@feed.command()
@click.argument("name")
@click.argument("to")
@options.confirmation("Let feed {name} read from {to}, whatever it has put already?")
@options.queue_manager
@options.json_output
def seek(name: str, to: str, qmgr: str, as_json: bool) -> None:
    """Let feed NAME read from elsewhere.

    TO is EARLIEST, LATEST, a time in UTC such as 2026-03-01T08:30:00Z, or partition:offset for one
    partition or several, separated by commas. What lies between is put again, or never.
    """
    to = to.upper()
    with connect(qmgr, APPLICATION) as qm:
        qm.seek_feed(name, to)
        if to == LATEST:
            _await_begin(qm, name)
    report(FEED, name, f"reads from {to}", as_json, "sought")


@feed.command()
@click.argument("name")
@options.confirmation("Delete feed {name} and forget its position?")
@options.queue_manager
@options.json_output
def delete(name: str, qmgr: str, as_json: bool) -> None:
    """Delete feed NAME and forget its position. What it has put stays."""
    with connect(qmgr, APPLICATION) as qm:
        qm.delete_object(FEED, name)
    report(FEED, name, "deleted", as_json)
