"""Messages on the command line: ids as people type them, bodies as people read them.

Shared by put, get and browse; it must not know how messages move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import click
import msgspec
from msgspec import Struct

import adapter
from adapter.core.contract.message import NO_ID
from adapter.errors import Error
from adapter.host import texts

ID_BYTES = 24
TEXT_ID = "text:"
SHOWN_BYTES = 60
"""Of a line that cannot be read."""
TAGGED: Final[dict[str, Callable[[str], bytes | float]]] = {"hex": bytes.fromhex, "float": float}
"""What a property is whose value JSON lacks, and how it is read: {"hex": "00ff"} is bytes, and
{"float": "nan"} a number that JSON cannot write. A property is never an object otherwise."""


class NotAMessage(Error):  # noqa: N818 -- it says what it is
    """A line that is no message as mqk prints them."""


class MessageLine(Struct, forbid_unknown_fields=True):
    """A message as as_json() has it. What a put does not set is there to be read over."""

    body: str = ""
    body_hex: str | None = None
    message_id: str = ""
    correlation_id: str = ""
    group_id: str = ""
    group_seq: int = 1
    last_in_group: bool = False
    priority: int | None = None
    persistent: bool | None = None
    backout_count: int = 0
    put_time: str = ""
    expiry_s: float | None = None
    deliver_at: str = ""
    destination: str = ""
    format: str = ""
    message_type: int = 8
    report: int = 0
    feedback: int = 0
    encoding: int = 546
    ccsid: int = 1208
    reply_to: str = ""
    reply_to_queue_manager: str = ""
    properties: dict[str, Any] = {}
    dead_letter: adapter.DeadLetter | None = None
    unit_id: str = ""
    unit_index: int = 0
    unit_size: int = 0


NOT_OF_A_PUT = frozenset(
    {
        *("body_hex", "deliver_at", "backout_count", "put_time", "destination"),
        *("unit_id", "unit_index", "unit_size"),
    }
)
"""Fields of MessageLine that adapter.Message lacks, or that are read otherwise."""


def from_json(line: bytes) -> adapter.Message:
    """Read a message as as_json() has it; raises NotAMessage.

    Its ids are kept; the put time, the backout count and the unit are those of the new put.
    """
    try:
        read = msgspec.json.decode(line, type=MessageLine)
        fields = msgspec.structs.asdict(read)
        for name in NOT_OF_A_PUT:
            del fields[name]
        for name in ("message_id", "correlation_id", "group_id"):
            fields[name] = bytes.fromhex(fields[name]) or NO_ID
        fields["properties"] = {name: _property(one) for name, one in read.properties.items()}
        if read.body_hex is not None:
            fields["body"] = bytes.fromhex(read.body_hex)
        if read.deliver_at:
            fields["deliver_at"] = datetime.fromisoformat(read.deliver_at)
        return adapter.Message(**fields)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        shown = texts.escape(line[:SHOWN_BYTES].decode(errors="replace"))
        raise NotAMessage(
            f"{shown!r} is no message as `mqk get --json` prints it: {problem}"
        ) from problem


def _property(value: Any) -> Any:
    """Read the value of a property as _with_tag() has it. Raises ValueError."""
    if not isinstance(value, dict):
        return value
    for tag, read in TAGGED.items():
        if set(value) == {tag} and isinstance(value[tag], str):
            return read(value[tag])
    forms = " or ".join(f'{{"{tag}": TEXT}}' for tag in TAGGED)
    raise ValueError(f"a property that is an object is {forms}")


def _with_tag(value: object) -> object:
    """Write the value of a property: with what it is, if JSON has no such values."""
    if isinstance(value, bytes):
        return {"hex": value}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def identifier(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> bytes | None:
    """Read an id: up to 48 hexadecimal digits, or text:WORD; filled up with zeros."""
    if value is None:
        return None
    try:
        if value.startswith(TEXT_ID):
            found = value.removeprefix(TEXT_ID).encode()
        else:
            found = bytes.fromhex(value)
    except ValueError as problem:
        raise click.BadParameter(
            f"{value!r} is neither hexadecimal digits nor {TEXT_ID}WORD"
        ) from problem
    if not 0 < len(found) <= ID_BYTES:
        raise click.BadParameter(f"{value!r} has {len(found)} bytes; an id has 1 to {ID_BYTES}")
    return found.ljust(ID_BYTES, b"\0")


def id_options(command: Any) -> Any:
    """--message-id, --correlation-id and --group-id."""
    for name in ("group-id", "correlation-id", "message-id"):
        command = click.option(
            f"--{name}", callback=identifier, metavar="HEX|text:WORD",
            help=f"The {name.replace('-', ' ')}: up to {ID_BYTES} bytes.",
        )(command)  # fmt: skip
    return command


def selection_option(command: Any) -> Any:
    """--selection: an SQL condition."""
    return click.option(
        "--selection", default="", metavar="CONDITION",
        help="Only messages that fit: an SQL condition over properties and fields, such as "
        "\"colour = 'red' AND Root.MQMD.Priority > 3\".",
    )(command)  # fmt: skip


def as_json(message: adapter.Message) -> dict[str, Any]:
    """Everything there is to tell of a message; a body that is not a text is in hexadecimal.

    Properties that JSON has no values for: see TAGGED.
    """
    try:
        body: dict[str, Any] = {"body": message.body.decode()}
    except UnicodeDecodeError:
        body = {"body_hex": message.body}
    names = [name for name in MessageLine.__struct_fields__ if not name.startswith("body")]
    header = message.dead_letter
    return {
        **body,
        **{name: getattr(message, name) for name in names},
        "put_time": time_of(message.put_time),
        "deliver_at": time_of(message.deliver_at),
        "properties": {name: _with_tag(one) for name, one in (message.properties or {}).items()},
        "dead_letter": None if header is None else msgspec.structs.asdict(header),
    }


def as_line(message: adapter.Message) -> str:
    """A message on one line: priority, put time, the end of its id, its body made printable."""
    body = message.body.decode(errors="backslashreplace")
    shown = texts.escape(body)
    times = f" (backed out {message.backout_count}x)" if message.backout_count else ""
    heading = f"[{message.priority}] {time_of(message.put_time)} {message.message_id.hex()}"
    return f"{heading}{times}  {shown}"


def count_of(count: int) -> str:
    """`1 message`, `2000 messages`."""
    return f"{count} message{'' if count == 1 else 's'}"


def time_of(when: datetime | None) -> str:
    """A time as people write it, UTC."""
    if when is None:
        return ""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
