"""mqk consumer list and delete: who takes queues in batches, and what it has been given."""

from __future__ import annotations

import click

from adapter.cli import completion, output
from adapter.cli.connected import connect
from adapter.cli.messages import count_of
from adapter.command import options
from adapter.core.contract.results import ConsumerStatus

APPLICATION = "mqk consumer"


@click.group()
def consumer() -> None:
    """Durable consumers, such as Spark jobs: list, delete."""


@consumer.command("list")
@click.argument("pattern", default="*")
@options.queue_manager
@options.json_output
def show(pattern: str, qmgr: str, as_json: bool) -> None:
    """Show the consumers of the queues that match PATTERN, and the messages assigned to them."""
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        found = qm.consumers(pattern)
    headings = (
        "queue", "consumer", "connection", "idle (s)", "timeout (s)", "consumed", "assigned",
        "messages",
        "deliveries",
    )  # fmt: skip
    output.listing(found, as_json, headings, _row)


def _row(one: ConsumerStatus) -> tuple[object, ...]:
    connection = str(one.connection) if one.connection else ""
    away_s = None if one.connection else one.away_s
    return (
        one.queue, one.name, connection, away_s, one.timeout_ms // 1000, one.consumed, one.last,
        one.messages, one.deliveries,
    )  # fmt: skip


@consumer.command()
@click.argument("queue", shell_complete=completion.queues)
@click.argument("name")
@options.confirmation("Delete consumer {name} and return its messages to queue {queue}?")
@options.queue_manager
@options.json_output
def delete(queue: str, name: str, qmgr: str, as_json: bool) -> None:
    """Delete durable consumer NAME of QUEUE; its assigned messages return to the queue.

    The consumer must not be open. The backout counts of the messages are raised. A program that was
    stopped before its last batch was consumed may have processed them: check before you delete.
    """
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        count = qm.delete_consumer(queue, name)
    text = f"consumer {name} of queue {queue} deleted; {count_of(count)} returned"
    output.done(text, as_json, queue=queue, consumer=name, deleted=True, messages_back=count)
