"""mqk move: messages from one queue to another, with all their fields.

Each unit of work puts and removes the same messages, so a message is on one of the two queues
whenever the command ends. A message is put before it is removed: if the put is refused, nothing was
got. If it has gone before it is removed, or is not to be had, the unit's backout is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import islice
from typing import Any

import click

import adapter
from adapter.cli import completion, messages, output
from adapter.cli.connected import connect
from adapter.client.acting import leads_on
from adapter.client.browse import BrowsedMessage
from adapter.client.conversion import on_its_way
from adapter.client.forwarding import as_it_was_put
from adapter.client.retry import LOST
from adapter.command import failures, options
from adapter.core.contract.message import MessageData
from adapter.errors import Error, InvalidValue, UnitTooLarge

UNIT_SIZE_MAX = 1_000


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
    and the backout count is 0. Messages of a transmission queue keep their destination on another
    one; to local queues they are not moved. A move gets and puts each message: one that asks for
    confirmations of arrival or delivery (COA, COD) has them sent again.
    """
    if source == target:
        raise click.UsageError("SOURCE and TARGET must be different queues")
    header: dict[str, Any] = {"dead_letter": None} if without_header else {}
    moved = 0
    with (
        connect(qmgr, "mqk move") as qm,
        qm.queue(source, open_for="input", selection=selection) as taken,
    ):
        leads_on(qm, target)  # so that a wrong target is found here
        try:
            # What is there now, so that a target which leads back to the source has an end.
            most = taken.depth() if count is None else count
            with output.progress("moving", most) as step:
                while moved < most:
                    wanted = min(unit_size, most - moved)
                    some, refused = move_unit(qm, taken, target, wanted, header, ids)
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
    target: str,
    wanted: int,
    header: dict[str, Any],
    ids: dict[str, Any],
) -> tuple[int, Error | None]:
    """Move at most so many messages in one unit; how many it were, and what was refused.

    What was moved before a refusal stays moved, and a unit that is full is no refusal: the next one
    goes on. If a message cannot be removed that was put, because another program got it, it has
    expired, or the unit is full, the unit is backed out, and they are moved one by one.
    """
    moved, leads = 0, cache(partial(leads_on, qm, target))
    with qm.unit() as unit:
        for message in islice(source.browse(**ids), wanted):
            try:
                _put(qm, target, message, unit, header, leads)
            except LOST:
                raise
            except UnitTooLarge as problem:
                return moved, None if moved else problem
            except Error as problem:
                return moved, problem
            if not _can_remove(message, unit):
                unit.backout(counted=False)
                break
            moved += 1
        else:
            return moved, None
    return move_one_by_one(qm, source, target, wanted, header, ids)


def _can_remove(message: BrowsedMessage, unit: adapter.Unit) -> bool:
    """Remove a message; False if it is not there, or that is refused, as it will be alone."""
    try:
        return message.remove(unit)
    except LOST:
        raise
    except Error:
        return False


def move_one_by_one(
    qm: adapter.Connection,
    source: adapter.Queue,
    target: str,
    wanted: int,
    header: dict[str, Any],
    ids: dict[str, Any],
) -> tuple[int, Error | None]:
    """Move at most so many messages, each in its own unit; as move_unit() returns it.

    A message that has gone before it is removed is left out: its unit has got nothing.
    """
    moved, leads = 0, cache(partial(leads_on, qm, target))
    try:
        for message in source.browse(**ids):
            with qm.unit() as unit:
                _put(qm, target, message, unit, header, leads)
                is_removed = message.remove(unit)
                if not is_removed:
                    unit.backout()
            moved += is_removed
            if moved == wanted:
                break
    except Error as problem:
        return moved, problem
    return moved, None


def _put(
    qm: adapter.Connection,
    target: str,
    message: BrowsedMessage,
    unit: adapter.Unit,
    header: dict[str, Any],
    leads: Callable[[], bool],
) -> None:
    """Put by name, which refuses a model queue: the queue that it makes may end with the command,
    and the messages with it. A message of a transmission queue keeps where it goes, or goes where
    a remote queue says. leads: asks whether the target leads on. Raises InvalidValue.
    """
    way = on_its_way(message)
    if way is not None:
        _check_way(target, message, way, leads)
    qm.put(target, message, unit=unit, **as_it_was_put(message), **header)


def _check_way(
    target: str, message: BrowsedMessage, way: MessageData, leads: Callable[[], bool]
) -> None:
    """Refuse to put a message of a transmission queue where it would lose what it is sent by."""
    to, said = way.transmission, f"message {message.message_id.hex()}"
    if way.msmq is not None or way.broker is not None:
        text = f"{said} is sent by MSMQ or Service Broker, and can go by no other queue"
        raise InvalidValue(text, target)
    if to is not None and not leads():
        raise InvalidValue(
            f"{said} is for queue {to.queue} of queue manager {to.queue_manager}, which queue "
            f"{target} would not keep: name a transmission queue, or a remote queue",
            target,
        )
