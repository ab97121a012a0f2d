"""mqk move: messages from one queue to another, with all their fields.

Each unit of work puts and removes the same messages, so a message is on one of the two queues
whenever the command ends. A message is put before it is removed: if the put is refused, nothing was
got, and no backout is counted.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

import adapter
from adapter.cli import completion, messages, output
from adapter.cli.connected import connect
from adapter.command import failures, options
from adapter.errors import BackedOut, ConnectionBroken, Error, InDoubt

UNIT_SIZE_MAX = 1_000
LOST = (BackedOut, ConnectionBroken, InDoubt)
"""What ends a unit, so that nothing of it is moved."""


@click.command()
@click.argument("source", shell_complete=completion.queues)
@click.argument("target", shell_complete=completion.queues)
@click.option("--count", type=click.IntRange(min=1), help="Maximum number of messages to move.")
@click.option(
    "--without-header", is_flag=True,
    help="Remove the dead-letter header of each message that has one.",
)  # fmt: skip
@click.option(
    "--unit-size", type=click.IntRange(1, UNIT_SIZE_MAX), default=100, show_default=True,
    help="Messages in each unit of work.",
)  # fmt: skip
@messages.selection_option
@messages.id_options
@options.queue_manager
@options.json_output
def move(
    source: str,
    target: str,
    count: int | None,
    without_header: bool,
    unit_size: int,
    selection: str,
    qmgr: str,
    as_json: bool,
    **ids: bytes | None,
) -> None:
    """Move messages from queue SOURCE to queue TARGET, in the order of delivery.

    As many are moved as there are at the start, or those with an id or that fit a selection.
    Messages keep their fields, their origin and what is left of their expiry; the put time is new
    and the backout count is 0.
    """
    if source == target:
        raise click.UsageError("SOURCE and TARGET must be different queues")
    header: dict[str, Any] = {"dead_letter": None} if without_header else {}
    moved = 0
    with (
        connect(qmgr, "mqk move") as qm,
        qm.queue(source, open_for="input", selection=selection) as taken,
        qm.queue(target, open_for="output") as given,
    ):
        try:
            # What is there now, so that a target which leads back to the source has an end.
            most = taken.depth() if count is None else count
            with output.progress("moving", most) as step:
                while moved < most:
                    wanted = min(unit_size, most - moved)
                    some, refused = move_unit(qm, taken, given, wanted, header, ids)
                    moved += some
                    step(some)
                    if refused is not None:
                        raise refused
                    if some == 0:
                        break
        except Error as problem:
            raise failures.Failed(
                f"{problem}; moved before: {messages.count_of(moved)}"
            ) from problem
    text = f"{messages.count_of(moved)} moved from {source} to {target}"
    output.done(text, as_json, source=source, target=target, moved=moved)


def move_unit(
    qm: adapter.Connection,
    source: adapter.Queue,
    target: adapter.Queue,
    wanted: int,
    header: dict[str, Any],
    ids: dict[str, Any],
) -> tuple[int, Error | None]:
    """Move at most so many messages in one unit; how many it were, and what the target refused.

    What was moved before a refusal stays moved. If another program gets a message between its put
    and its removal, the unit is backed out, and one message is moved alone.
    """
    moved = 0
    with qm.unit() as unit:
        for message in islice(source.browse(**ids), wanted):
            try:
                target.put(
                    message,
                    unit=unit,
                    expires_at=message.expires_at,
                    user=message.user,
                    application=message.application,
                    **header,
                )
            except LOST:
                raise
            except Error as problem:
                return moved, problem
            if not message.remove(unit):
                unit.backout()
                break
            moved += 1
        else:
            return moved, None
    return move_unit(qm, source, target, 1, header, ids)
