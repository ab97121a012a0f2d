"""A record by which any Kafka client puts a message: the value is the body, headers say the rest.

Headers are text (UTF-8), so that a client in any language, and a command line, can write them:

    mq.queue            the queue that the message is for; the only one that must be there
    mq.priority         0 to 9
    mq.persistent       yes or no
    mq.expiry_ms        milliseconds from its arrival on
    mq.deliver_at_ms    it is not got before this time, in milliseconds since 1970 (UTC)
    mq.message_id       up to 48 hexadecimal digits; so are mq.correlation_id and mq.group_id
    mq.properties       a JSON object: text, numbers, true, false and null by name
    ...                 FIELDS has the others; each is a field of adapter.Message

Headers that do not begin with `mq.` mean nothing here. This module does not know which topic the
record is on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from adapter.core.contract.message import ID_LENGTH, PRIORITY_MAX, MessageData
from adapter.core.contract.transmission import Transmission
from adapter.storage.format.schemas import UnreadableError

PREFIX = "mq."
QUEUE = "mq.queue"
# What Python reads of other characters, blanks and signs is no number in other languages.
_NUMBER = re.compile(r"[+-]?[0-9]+")
_DIGITS = re.compile(r"(?:[0-9a-fA-F]{2})*")
_PRIORITY = re.compile(rf"[0-{PRIORITY_MAX}]")


class HeaderField(Struct, frozen=True):
    """A field of a message as a header: its name, how it is read, and how it is written."""

    name: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str


def _whole(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("it is a whole number, in digits 0 to 9")
    number = int(text)
    if not -(2**31) <= number < 2**63:
        raise ValueError("the number is too large")
    return number


def _priority(text: str) -> int:
    if _PRIORITY.fullmatch(text) is None:
        raise ValueError(f"it is 0 to {PRIORITY_MAX}")
    return int(text)


def _ident(text: str) -> bytes:
    if _DIGITS.fullmatch(text) is None:
        raise ValueError("it is hexadecimal digits, two for each byte")
    ident = bytes.fromhex(text)
    if len(ident) > ID_LENGTH:
        raise ValueError(f"it has more than {ID_LENGTH} bytes")
    return ident.ljust(ID_LENGTH, b"\0")


def _flag(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError("it is yes or no")
    return text == "yes"


def _properties(text: str) -> dict[str, Any]:
    found = json.loads(text, parse_constant=_no_json)
    if not isinstance(found, dict):
        raise ValueError("it is a JSON object")
    for name, value in found.items():
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"property {name!a} is not text, a number, true, false or null")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"property {name!a} is too large a number")
        for half in (name, value):
            if isinstance(half, str):
                half.encode()  # JSON can say half a character; UnicodeError is a ValueError
    return found


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _json_of(properties: object) -> str:
    return json.dumps(properties, allow_nan=False)


def _yes_no(value: object) -> str:
    return "yes" if value else "no"


FIELDS: Mapping[str, HeaderField] = {
    one.name: one
    for one in (
        *(HeaderField(name, _ident, bytes.hex) for name in ("message_id", "correlation_id")),
        HeaderField("group_id", _ident, bytes.hex),
        HeaderField("group_seq", _whole),
        HeaderField("last_in_group", _flag, _yes_no),
        HeaderField("priority", _priority),
        HeaderField("expiry_ms", _whole),
        HeaderField("delay_ms", _whole),
        HeaderField("deliver_at_ms", _whole),
        HeaderField("format", str),
        *(HeaderField(name, _whole) for name in ("message_type", "report", "feedback")),
        *(HeaderField(name, _whole) for name in ("encoding", "ccsid")),
        HeaderField("reply_to", str),
        HeaderField("reply_to_queue_manager", str),
        HeaderField("user", str),
        HeaderField("application", str),
        HeaderField("properties", _properties, _json_of),
    )
}
PERSISTENT = "persistent"
_USUAL = MessageData()


def encode(queue: str, message: MessageData) -> list[tuple[str, bytes]]:
    """Return the headers of a message for a queue; ValueError for what they cannot say."""
    if message.details is not None:
        raise ValueError("details of MQ's descriptor cannot be sent in a record")
    headers = {QUEUE: queue}
    for field in FIELDS.values():
        value = getattr(message, field.name)
        if value is not None and value != getattr(_USUAL, field.name):
            try:
                headers[PREFIX + field.name] = text = field.write(value)
                field.read(text)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{field.name} cannot be sent in a record: {error}") from error
    if message.persistence >= 0:
        headers[PREFIX + PERSISTENT] = _yes_no(message.persistence)
    return [(name, text.encode()) for name, text in headers.items()]


def decode(headers: Mapping[str, bytes | None], value: bytes | None) -> MessageData:
    """Read a record; its transmission says which queue it is for. Raises UnreadableError."""
    message = MessageData(body=value or b"")
    if not headers.get(QUEUE):
        raise UnreadableError(f"it has no header {QUEUE}")
    for name, data in headers.items():
        if name.startswith(PREFIX):
            try:
                _set(message, name.removeprefix(PREFIX), (data or b"").decode())
            except (ValueError, RecursionError) as error:
                raise UnreadableError(f"header {name}: {data!r}: {error}") from error
    return message


def _set(message: MessageData, name: str, text: str) -> None:
    if name == "queue":
        message.transmission = Transmission(text)
    elif name == PERSISTENT:
        message.persistence = int(_flag(text))
    elif name in FIELDS:
        setattr(message, name, FIELDS[name].read(text))
    else:
        raise ValueError("there is no such header")
