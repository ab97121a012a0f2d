"""mqk get: take messages off a queue and print them.

Each message is got in a unit that is committed when it has been printed: if the reader of
the output goes away, the message stays on the queue.
"""

from __future__ import annotations

import sys
from typing import Any

import click

import adapter
from adapter.cli import completion, messages, output
from adapter.cli.connected import connect
from adapter.command import options, streams
from adapter.command.grouped import GroupedCommand, Groups
from adapter.errors import Error
from adapter.host import texts

GROUPS: Groups = {
    "How many, and how long to wait": ("timeout_s", "wait", "count", "everything"),
    "Which messages": ("selection", "message_id", "correlation_id", "group_id"),
    "Output": ("raw", "as_json"),
}


class NothingCame(Error):  # noqa: N818 -- it says what happened
    """No message in time; as MQI programs know it."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"


@click.command(cls=GroupedCommand, groups=GROUPS)
@click.argument("queue", shell_complete=completion.queues)
@click.option(
    "--timeout",
    "timeout_s",
    type=options.RealRange(min=0),
    metavar="S",
    help="Wait up to this time for each message; by default do not wait.",
)
@click.option("--wait", is_flag=True, help="Wait without end.")
@click.option(
    "--count",
    type=click.IntRange(min=1),
    help="How many messages to get; exit status 1 if fewer are available.",
)
@click.option("--all", "everything", is_flag=True, help="Get messages until no more is available.")
@click.option("--raw", is_flag=True, help="Print bodies unchanged, without a line end.")
@messages.selection_option
@messages.id_options
@options.queue_manager
@options.json_output
def get(
    queue: str,
    timeout_s: float | None,
    wait: bool,
    count: int | None,
    everything: bool,
    raw: bool,
    selection: str,
    qmgr: str,
    as_json: bool,
    message_id: bytes | None,
    correlation_id: bytes | None,
    group_id: bytes | None,
) -> None:
    """Get messages from QUEUE and print their bodies, a line each.

    Each message is removed once it is written. What a pipe has accepted and its reader has not read
    is gone: before `| head -5` use --count 5, not --all.
    """
    options.not_both("--timeout", timeout_s, "--wait", wait)
    options.not_both("--count", count, "--all", everything)
    options.not_both("--json", as_json, "--raw", raw)
    timeout = None if wait else timeout_s or 0.0
    wanted = count or 1
    got = 0
    with (
        connect(qmgr, "mqk get") as qm,
        qm.queue(queue, open_for="input", selection=selection) as opened,
    ):
        while everything or got < wanted:
            with qm.unit():
                message = opened.get(
                    timeout=timeout, message_id=message_id, correlation_id=correlation_id,
                    group_id=group_id,
                )  # fmt: skip
                if message is None:
                    break
                show(message, as_json, raw)
            got += 1
    if got < wanted and not everything:
        few = f"only {got} of {wanted} messages were available on {queue}"
        raise NothingCame(few if wanted > 1 else f"no message available on {queue}", queue)


def show(message: adapter.Message, as_json: bool, raw: bool) -> None:
    """Print one message, and make sure that it has gone out."""
    if as_json:
        streams.standard_output()
        output.emit(messages.as_json(message))
        return
    out: Any = streams.standard_output().buffer
    body = message.body
    if not raw and sys.stdout.isatty():  # a body gives no orders to a terminal
        body = texts.escape(body.decode(errors="backslashreplace"), "\n\t").encode()
    out.write(body if raw else body + b"\n")
    out.flush()
