"""What a message becomes as a record of any topic of Kafka, as its export says; and the progress.

The body is the value, untouched. Properties become headers: text as UTF-8, bytes as they are,
numbers and truth values as text, null without a value. It is the inverse of what feeds do
(format.feeds): `name.2`, `name.3` and so on are further headers of the name before the dot, and
properties that say where a message was read are left out. A header that was named so itself, or
KafkaHeader, is not told apart: programs know it by its own name. This module does not know how a
record is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract.exports import (
    EXACT_HEADERS,
    KEY,
    PARTITION_MAX,
    TIME_MAX_MS,
    TO_PARTITION,
    TO_TIMESTAMP,
    TOMBSTONE,
)
from adapter.core.contract.message import MessageData, Place, Property
from adapter.storage.format import hops
from adapter.storage.format.feeds import NAMELESS, RESERVED, fits
from adapter.storage.format.record_headers import Headers
from adapter.storage.format.schemas import Codec, UnreadableError

MARKS = (hops.ORIGIN, hops.HEADER)
"""Headers that only exports write."""
NOT_HEADERS = RESERVED.union(MARKS)
_REPEATED = re.compile(r"(.+)\.([2-9]|[1-9][0-9]{1,2})", re.DOTALL)
"""A message has fewer than 1,000 properties: what ends in a longer number repeats none."""
_NUMBER = re.compile(rb"[0-9]{1,19}")

_codec = Codec("export")
_headers = msgspec.msgpack.Decoder(list[tuple[str, bytes | None]])


class NotARecordError(ValueError):
    """A message says what no record can have."""


class ExportedRecord(Struct, gc=False):
    """A record as it is to be written. partition: -1 for that of its key. time_ms: since 1970, and
    not 0, which librdkafka takes for now.
    """

    value: bytes | None
    key: bytes | None
    headers: Headers
    time_ms: int
    partition: int = -1


class ExportProgress(Struct):
    """Which messages the last transaction of an export wrote.

    number: of the transaction; 0: there was none. places: of the messages, on this incarnation of
    the queue, with those of earlier transactions that may be on it still. topic: that it wrote to.
    unseen: by partition of this topic, the offsets between which committed records of ours are that
    Kafka may not show.
    """

    number: int = 0
    queue: str = ""
    incarnation: int = 0
    places: frozenset[Place] = frozenset()
    topic: str = ""
    unseen: dict[int, tuple[int, int]] = {}


def record_of(message: MessageData, export: ExportAttributes) -> ExportedRecord:
    """Return the record of a message. Raises NotARecordError."""
    properties = message.properties or {}
    headers = _headers_of(properties, export.headers)
    _check_names(headers)
    return ExportedRecord(
        value=None if properties.get(TOMBSTONE) is True else message.body,
        key=_key_of(message, properties, export.key),
        headers=headers + hops.header_of(properties.get(hops.PROPERTY)),
        time_ms=_whole(properties, TO_TIMESTAMP, TIME_MAX_MS, max(message.put_time_ms, 1), 1),
        partition=_whole(properties, TO_PARTITION, PARTITION_MAX, -1),
    )


def _key_of(message: MessageData, properties: Mapping[str, Property], source: str) -> bytes | None:
    match source:
        case "PROPERTY":
            value = properties.get(KEY)
            return None if value is None else _bytes_of(value)
        case "CORRELID":
            ident = message.correlation_id
        case "GROUPID":
            ident = message.group_id
        case "MSGID":
            ident = message.message_id
        case _:
            return None
    return ident.rstrip(b"\0") or None


def _whole(
    properties: Mapping[str, Property], name: str, most: int, default: int, least: int = 0
) -> int:
    value = properties.get(name)
    if value is None:
        return default
    if type(value) is not int or not least <= value <= most:
        raise NotARecordError(
            f"property {name} is {value!r}, and not a whole number from {least} on"
        )
    return value


def _headers_of(properties: Mapping[str, Property], wanted: str) -> Headers:
    exact = properties.get(EXACT_HEADERS)
    if exact is not None:
        return [one for one in decode_headers(exact) if one[0] not in MARKS]
    if wanted == "NONE" or not properties:
        return []
    names = None if wanted == "ALL" else [part.strip() for part in wanted.split(",")]
    found: Headers = []
    before: dict[str, str] = {}
    for name, value in properties.items():
        if name in NOT_HEADERS:
            continue
        before[name] = first = _first_of_name(before, name)
        header = "" if first == NAMELESS else first
        if names is None or any(fits(header, one) for one in names):
            found.append((header, None if value is None else _bytes_of(value)))
    return found


def _check_names(headers: Headers) -> None:
    """Refuse names that the client of Kafka cannot write as they are. Raises NotARecordError.

    It ends a name at the first NUL: it would be the name of another header, such as one that only
    exports write, or that an export's list of headers leaves out.
    """
    for name, _ in headers:
        if "\0" in name:
            raise NotARecordError(f"no header can have the name {name!r:.200}, for it has a NUL")


def _first_of_name(before: Mapping[str, str], name: str) -> str:
    """Return which header a property repeats, as `name.2` repeats `name`; else its own name.

    before: that of each property before it. A header whose name a property with a meaning has is
    read as `name.2`, without one before it.
    """
    match = _REPEATED.fullmatch(name)
    if match is None:
        return name
    first, number = match[1], int(match[2])
    last = first if number == 2 else f"{first}.{number - 1}"
    is_repeated = before.get(last) == first or (number == 2 and first in RESERVED)
    return first if is_repeated else name


def _bytes_of(value: Property) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode()


def decode_headers(value: object) -> Headers:
    """Read what encode_headers() of core.contract.exports wrote. Raises NotARecordError."""
    try:
        return _headers.decode(value) if isinstance(value, bytes) else _refuse_headers(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotARecordError(f"property {EXACT_HEADERS} is no list of headers: {error}") from error


def _refuse_headers(value: object) -> Headers:
    raise NotARecordError(f"property {EXACT_HEADERS} is {type(value).__name__}, and not bytes")


def origin_of(queue_manager: str, export: str, number: int) -> bytes:
    """Return the value of the header by which an export knows its own records."""
    return f"{queue_manager} {export} {number}".encode()


def number_of(origin: bytes | None, queue_manager: str, export: str) -> int | None:
    """Return the number of the transaction that wrote a record; None if it is of no such export."""
    parts = (origin or b"").split(b" ")
    if len(parts) != 3 or parts[:2] != [queue_manager.encode(), export.encode()]:
        return None
    return int(parts[2]) if _NUMBER.fullmatch(parts[2]) else None


def encode(progress: ExportProgress) -> bytes:
    """Return the value of a record of progress."""
    value: dict[str, Any] = {
        "number": progress.number,
        "queue": progress.queue,
        "incarnation": progress.incarnation,
        "places": [part for place in sorted(progress.places) for part in place],
        "topic": progress.topic,
        "unseen": [
            part
            for partition, (start, end) in sorted(progress.unseen.items())
            for part in (partition, start, end)
        ],
    }
    return _codec.encode(value)


def decode(data: bytes) -> ExportProgress:
    """Read a record of progress."""
    value = _codec.decode(data)
    return ExportProgress(
        value["number"],
        value["queue"],
        value["incarnation"],
        frozenset(_triples(value["places"])),
        value["topic"],
        {partition: (start, end) for partition, start, end in _triples(value["unseen"])},
    )


def _triples(numbers: list[int]) -> Iterator[tuple[int, int, int]]:
    if len(numbers) % 3:
        raise UnreadableError(f"export: {len(numbers)} numbers, and no threes of them")
    parts = iter(numbers)
    return zip(parts, parts, parts, strict=True)
