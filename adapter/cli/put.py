"""mqk put: a line a message."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

import adapter
from adapter import texts
from adapter.cli import messages, output
from adapter.cli.connected import connected
from adapter.command import failures, options
from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX
from adapter.errors import Error

UNIT_SIZE_MAX = 10_000


@click.command()
@click.argument("queue")
@click.option(
    "--body",
    "bodies",
    multiple=True,
    metavar="TEXT",
    help="The body of a message. May be repeated; standard input is then not read.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file whose content is one message. May be repeated.",
)
@click.option(
    "--priority", type=click.IntRange(0, 9), help="0 to 9; by default the queue's default priority."
)
@click.option(
    "--persistent/--non-persistent",
    default=None,
    help="Whether the message survives a restart; by default the queue's default.",
)
@click.option(
    "--expiry",
    "expiry_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="When the message expires; by default never.",
)
@click.option(
    "--deliver-after",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Deliver the message so long after the put; by default at once.",
)
@click.option("--format", "format_", default=None, metavar="NAME", help="The format name.")
@click.option("--reply-to", metavar="QUEUE", help="The queue for the reply.")
@click.option(
    "--unit-size",
    type=click.IntRange(1, UNIT_SIZE_MAX),
    help="Messages in each unit of work: faster, and each unit is put whole or not at all. "
    "Without it each message is durable before the next line is read.",
)
@messages.id_options
@options.queue_manager
@options.json_output
def put(
    queue: str,
    bodies: tuple[str, ...],
    files: tuple[Path, ...],
    unit_size: int | None,
    qmgr: str,
    as_json: bool,
    format_: str | None,
    **fields: Any,
) -> None:
    """Put messages on QUEUE: a message for each line of standard input.

    With --json the id of each message is printed.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if format_ is not None:
        given["format"] = format_
    contents = [body.encode() for body in bodies] + [read_file(path) for path in files]
    source: Iterable[bytes] = contents or lines()
    with (
        connected(qmgr, "mqk put") as qm,
        qm.queue(queue, open_for="output") as opened,
    ):
        count = put_all(qm, opened, source, given, unit_size, as_json)
    if not as_json:
        click.echo(f"{messages.counted(count)} put on {queue}")


def put_all(
    qm: adapter.Connection,
    queue: adapter.Queue,
    source: Iterable[bytes],
    fields: dict[str, Any],
    unit_size: int | None,
    as_json: bool,
) -> int:
    """Put everything; on a failure say how many messages are on the queue."""
    count = 0
    remaining = iter(source)
    try:
        while block := list(itertools.islice(remaining, unit_size or 1)):
            if unit_size is None:
                results = [queue.put(body, **fields) for body in block]
            else:
                with qm.unit():
                    results = [queue.put(body, **fields) for body in block]
            count += len(block)
            for result in results if as_json else ():
                output.emit(
                    {"message_id": result.message_id, "put_time": messages.time_of(result.put_time)}
                )
    except Error as problem:
        if count:
            raise failures.Failed(f"{problem}; put before: {messages.counted(count)}") from problem
        raise
    except KeyboardInterrupt:
        failures.tell(f"interrupted; put before: {messages.counted(count)}")
        raise
    return count


def lines() -> Iterator[bytes]:
    """The lines of standard input, without their ends."""
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def read_file(path: Path) -> bytes:
    """The content of a file that is named on the command line."""
    try:
        return texts.read_bytes(path, MESSAGE_LENGTH_MAX)
    except texts.UnreadableTextError as problem:
        raise click.UsageError(f"--file {path} cannot be read: {problem}") from problem
