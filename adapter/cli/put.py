"""mqk put: a line a message.

Lines that have come already are put in one unit, because a durable append of each would take many
times as long. If the unit is refused, its lines are put one by one, so that all lines before the
first refused one are on the queue, and that line is named.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

import adapter
from adapter.cli import completion, messages, output
from adapter.cli.connected import connect
from adapter.command import failures, options, streams
from adapter.command.grouped import GroupedCommand, Groups
from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX
from adapter.errors import Error, InDoubt, MessageTooLong
from adapter.host import texts

UNIT_SIZE_MAX = 10_000
LINES_MAX = 1_000
"""Lines in a unit of those that have come: more are not faster, and the first ones would wait."""
JSON_LENGTHS = 3
"""How many times as long as its body a message may be as JSON, which writes bytes as digits."""

GROUPS: Groups = {
    "What is put": ("bodies", "files", "from_json", "unit_size"),
    "Delivery": ("priority", "persistent", "expiry_s", "deliver_after"),
    "Fields of the messages": (
        "properties", "format_", "reply_to", "message_id", "correlation_id", "group_id",
    ),
}  # fmt: skip

Read = Callable[[bytes], bytes | adapter.Message]
"""Makes of a line what is put."""


def properties(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Any] | None:
    """Read NAME=VALUE: a number, true, false or a quoted JSON string, or else text as it is."""
    found: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE, such as colour=red")
        try:
            read = json.loads(text, parse_constant=str)  # NaN is no number of JSON
        except (ValueError, RecursionError):  # a list of lists of lists is text, too
            read = text
        found[name] = read if isinstance(read, bool | int | float | str) else text
    return found or None


@click.command(cls=GroupedCommand, groups=GROUPS)
@click.argument("queue", shell_complete=completion.queues)
@click.argument("given", nargs=-1, metavar="[BODY]...")
@click.option(
    "--body",
    "bodies",
    multiple=True,
    metavar="TEXT",
    help="The same as BODY, for texts that begin with a dash. May be repeated.",
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
    "--from-json", is_flag=True,
    help="Each line is a message as `mqk get --json` and `mqk browse --json` print it. A body that "
    'is no text is in "body_hex"; a property of bytes is {"hex": "00ff"}, one that is no finite '
    'number {"float": "nan"}.',
)  # fmt: skip
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
    type=options.RealRange(min=0, min_open=True),
    metavar="SECONDS",
    help="When the message expires; by default never.",
)
@click.option(
    "--deliver-after",
    type=options.RealRange(min=0),
    metavar="SECONDS",
    help="Deliver the message this long after the put; by default at once.",
)
@click.option(
    "--property", "properties", multiple=True, callback=properties, metavar="NAME=VALUE",
    help="A property, which selections can name: 3, 1.5 and true are a number and a boolean, "
    "'\"3\"' is text. A selection has names such as my-prop in double quotes. May be repeated.",
)  # fmt: skip
@click.option("--format", "format_", default=None, metavar="NAME", help="The format name.")
@click.option("--reply-to", metavar="QUEUE", help="The queue for the reply.")
@click.option(
    "--unit-size",
    type=click.IntRange(1, UNIT_SIZE_MAX),
    help="Messages in each unit of work: each unit is put whole or not at all. Without it, all "
    "lines before the first that is refused are put.",
)
@messages.id_options
@options.queue_manager
@options.json_output
def put(
    queue: str,
    given: tuple[str, ...],
    bodies: tuple[str, ...],
    files: tuple[Path, ...],
    from_json: bool,
    unit_size: int | None,
    qmgr: str,
    as_json: bool,
    format_: str | None,
    **fields: Any,
) -> None:
    """Put messages on QUEUE: each BODY, or else a message for each line of standard input.

    With --json the id of each message is printed.
    """
    wanted = {name: value for name, value in fields.items() if value is not None}
    if format_ is not None:
        wanted["format"] = format_
    contents = [body.encode(errors="surrogateescape") for body in (*given, *bodies)]
    contents += [read_file(path) for path in files]
    if from_json and contents:
        raise click.UsageError("--from-json reads standard input: give no BODY, --body or --file")
    if not contents:
        streams.standard_input()
        if streams.is_terminal():
            failures.tell("one message per line, Ctrl-D ends")
    most = MESSAGE_LENGTH_MAX * (JSON_LENGTHS if from_json else 1)
    arrived = ([body] for body in contents) if contents else lines(most)
    with connect(qmgr, "mqk put") as qm, qm.queue(queue, open_for="output") as opened:
        read: Read = messages.from_json if from_json else bytes
        work = PutCommand(qm, opened, wanted, read, as_json)
        work.all(arrived, unit_size, lines_are_read=not contents)
    if not as_json:
        output.report(f"{messages.count_of(work.count)} put on {queue}")


class PutCommand:
    """The puts of one command. count: how many messages are on the queue, for certain."""

    def __init__(
        self,
        qm: adapter.Connection,
        queue: adapter.Queue,
        fields: dict[str, Any],
        read: Read,
        as_json: bool,
    ) -> None:
        self.count = 0
        self._qm = qm
        self._queue = queue
        self._fields = fields
        self._read = read
        self._as_json = as_json
        self._unanswered = 0
        """Messages that were sent, of which the queue manager has not said that they are put."""

    def all(
        self, arrived: Iterable[list[bytes]], unit_size: int | None, *, lines_are_read: bool
    ) -> None:
        """Put everything; on a failure say how many messages are on the queue."""
        put = self._together if unit_size is None else self._unit
        try:
            for some in arrived if unit_size is None else in_units(arrived, unit_size):
                with output.waiting_note():
                    put(some)
        except Error as problem:
            in_doubt = self._unanswered if isinstance(problem, InDoubt) else 0
            if not self.count and not in_doubt:
                raise
            told = f"{problem}; {self._summary(in_doubt, lines_are_read)}"
            raise failures.Failed(told) from problem
        except BrokenPipeError:
            raise
        except OSError as problem:
            told = f"{failures.unwritten(problem)}; {self._summary(0, lines_are_read)}"
            raise failures.Failed(told) from problem
        except KeyboardInterrupt:
            failures.tell(f"interrupted; {self._summary(self._unanswered)}")
            raise

    def _summary(self, in_doubt: int, lines_are_read: bool = False) -> str:
        """Say how many messages are on the queue, how many more may be, and which are not."""
        told = f"put before: {messages.count_of(self.count)}"
        told += f", and perhaps {in_doubt} more" if in_doubt else ""
        if lines_are_read:
            told += f"; line {self.count + in_doubt + 1} and all after it were not put"
        return told

    def _together(self, some: list[bytes]) -> None:
        """Put lines in one unit; one by one if that is refused, to find the first refused one."""
        if len(some) > 1:
            try:
                self._unit(some)
            except InDoubt:  # the unit may be on the queue: putting it again could double it
                raise
            except Error:
                self._unanswered = 0
            else:
                return
        for line in some:
            message = self._read(line)
            self._unanswered = 1
            self._done([self._queue.put(message, **self._fields)])

    def _unit(self, some: list[bytes]) -> None:
        with self._qm.unit():
            results = [
                self._queue.put(self._read(line), wait=self._as_json, **self._fields)
                for line in some
            ]
            self._unanswered = len(some)  # from now on it may be committed
        self._done(results)

    def _done(self, results: list[adapter.PutResult]) -> None:
        self.count += len(results)
        self._unanswered = 0
        for one in results if self._as_json else ():
            put_time = messages.time_of(one.put_time)
            output.emit({"message_id": one.message_id, "put_time": put_time})


def in_units(arrived: Iterable[list[bytes]], size: int) -> Iterator[list[bytes]]:
    """Yield the same lines, so many at a time."""
    each = itertools.chain.from_iterable(arrived)
    while some := list(itertools.islice(each, size)):
        yield some


def lines(most: int) -> Iterator[list[bytes]]:
    """Yield the lines of standard input, each time so many of those that have come as a unit takes.

    most: bytes of a line. Raises MessageTooLong.
    """
    try:
        for some in streams.byte_lines(most):
            for at in range(0, len(some), LINES_MAX):
                yield some[at : at + LINES_MAX]
    except streams.LineTooLongError as problem:
        raise MessageTooLong(f"{problem}: put it with --file, or send less") from problem


def read_file(path: Path) -> bytes:
    """The content of a file that is named on the command line."""
    try:
        return texts.read_bytes(path, MESSAGE_LENGTH_MAX)
    except texts.UnreadableTextError as problem:
        raise click.UsageError(f"--file {path} cannot be read: {problem}") from problem
