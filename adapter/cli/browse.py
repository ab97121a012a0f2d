"""mqk browse: look at the messages of a queue without taking them."""

from __future__ import annotations

import itertools

import click

from adapter.cli import completion, messages, output
from adapter.cli.connected import connect
from adapter.command import options


@click.command()
@click.argument("queue", shell_complete=completion.queues)
@click.option(
    "--count", "--limit", "count", type=click.IntRange(min=1),
    help="Maximum number of messages to show.",
)  # fmt: skip
@click.option(
    "--follow",
    "-f",
    is_flag=True,
    help="Then wait, and show each message that arrives, until Ctrl-C.",
)
@click.option(
    "--timeout", "timeout_s", type=options.RealRange(min=0, min_open=True), metavar="S",
    help="With --follow: end when no message has arrived for this time.",
)  # fmt: skip
@messages.selection_option
@messages.id_options
@options.queue_manager
@options.json_output
def browse(
    queue: str,
    count: int | None,
    follow: bool,
    timeout_s: float | None,
    selection: str,
    qmgr: str,
    as_json: bool,
    message_id: bytes | None,
    correlation_id: bytes | None,
    group_id: bytes | None,
) -> None:
    """Show the messages on QUEUE in the order of delivery; none is removed.

    Each line is [priority], put time, message id and body. Messages in open units are left out.
    """
    if timeout_s is not None and not follow:
        raise click.UsageError("--timeout goes with --follow; without it nothing is waited for")
    with (
        connect(qmgr, "mqk browse") as qm,
        qm.queue(queue, open_for="browse", selection=selection) as opened,
    ):
        found = opened.browse(
            timeout=timeout_s if follow else 0.0,
            message_id=message_id, correlation_id=correlation_id, group_id=group_id,
        )  # fmt: skip
        for message in itertools.islice(found, count):
            if as_json:
                output.emit(messages.as_json(message))
            else:
                click.echo(messages.as_line(message))
