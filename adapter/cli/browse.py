"""mqk browse: look at the messages of a queue without taking them."""

from __future__ import annotations

import itertools

import click

from adapter.cli import messages, output
from adapter.cli.connected import connected
from adapter.command import options


@click.command()
@click.argument("queue")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of messages to show.")
@messages.selection_option
@messages.id_options
@options.queue_manager
@options.json_output
def browse(
    queue: str,
    limit: int | None,
    selection: str,
    qmgr: str,
    as_json: bool,
    **ids: bytes | None,
) -> None:
    """Show the messages on QUEUE in the order of delivery; none is removed.

    Each line is [priority], put time, message id and body. Messages in open units are left out.
    """
    with (
        connected(qmgr, "mqk browse") as qm,
        qm.queue(queue, open_for="browse", selection=selection) as opened,
    ):
        for message in itertools.islice(opened.browse(cooperate=False, **ids), limit):
            if as_json:
                output.emit(messages.as_json(message))
            else:
                click.echo(messages.as_line(message))
