"""mqk consumer list and delete: who takes queues in batches, and what it has been given."""

from __future__ import annotations

import click
import msgspec

import adapter
from adapter.cli import options, output
from adapter.cli.messages import counted
from adapter.core.results import ConsumerStatus


@click.group()
def consumer() -> None:
    """Durable consumers, as Spark jobs are: list them, forget one."""


@consumer.command("list")
@click.argument("pattern", default="*")
@options.queue_manager
@options.json_output
def show(pattern: str, qmgr: str, as_json: bool) -> None:
    """Show the consumers of the queues that fit PATTERN, and what they hold of them."""
    with adapter.connect(qmgr, reconnect_timeout_s=0.0) as qm:
        found = qm.consumers(pattern)
    if as_json:
        for one in found:
            output.emit(msgspec.structs.asdict(one))
        return
    headings = (
        "queue", "consumer", "connection", "away, s", "timeout, s", "consumed", "given", "messages",
        "deliveries",
    )  # fmt: skip
    output.table(headings, [_row(one) for one in found])


def _row(one: ConsumerStatus) -> tuple[object, ...]:
    connection = str(one.connection) if one.connection else ""
    away_s = None if one.connection else one.away_s
    return (
        one.queue, one.name, connection, away_s, one.timeout_ms // 1000, one.consumed, one.last,
        one.messages, one.deliveries,
    )  # fmt: skip


@consumer.command()
@click.argument("queue")
@click.argument("name")
@options.queue_manager
@options.json_output
def delete(queue: str, name: str, qmgr: str, as_json: bool) -> None:
    """Forget consumer NAME of QUEUE, which nobody has open; what it was given goes back.

    The backout counts of those messages rise. A program that was stopped before its last batch was
    consumed may have done what it does with them: look before you delete.
    """
    with adapter.connect(qmgr, reconnect_timeout_s=0.0) as qm:
        count = qm.delete_consumer(queue, name)
    if as_json:
        output.emit({"queue": queue, "consumer": name, "deleted": True, "messages_back": count})
    else:
        click.echo(f"consumer {name} of queue {queue} was deleted; {counted(count)} went back")
