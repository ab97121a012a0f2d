"""What a message becomes as a record of any topic of Kafka, as its export says; and the progress.

The body is the value, untouched. Properties become headers: text as UTF-8, bytes as they are,
numbers and truth values as text, null without a value. It is the inverse of what feeds do
(format.feeds): `name.2`, `name.3` and so on are further headers of the name before the dot, and
properties that say where a message was read are left out. This module does not know how a record is
written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract.feeds import OFFSET, PARTITION, TOPIC
from adapter.core.contract.message import MessageData, Place, Property
from adapter.format.feeds import KEY, NAMELESS, TIMESTAMP, fits
from adapter.format.record_headers import Headers
from adapter.format.schemas import Codec, UnreadableError

TO_PARTITION, TO_TIMESTAMP = "KafkaToPartition", "KafkaToTimestamp"
"""Properties by which a program says where a record goes: its partition, and its time in
milliseconds since 1970."""
TOMBSTONE = "KafkaTombstone"
"""A property: true for a record without a value."""
EXACT_HEADERS = "KafkaHeaders"
"""A property: all headers as they are to be, in place of those of properties."""
NOT_HEADERS = frozenset(
    {KEY, TIMESTAMP, TOPIC, PARTITION, OFFSET, TO_PARTITION, TO_TIMESTAMP, TOMBSTONE, EXACT_HEADERS}
)
ORIGIN = "mqk-export"
"""The header by which an export knows its own records: queue manager, export, and the number of the
transaction, with spaces between them."""
PARTITION_MAX = 2**31 - 1
TIME_MAX_MS = 2**63 - 1
_REPEATED = re.compile(r"(.+)\.([2-9]|[1-9][0-9]+)", re.DOTALL)

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
    return ExportedRecord(
        value=None if properties.get(TOMBSTONE) is True else message.body,
        key=_key_of(message, properties, export.key),
        headers=_headers_of(properties, export.headers),
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
        return decode_headers(exact)
    if wanted == "NONE" or not properties:
        return []
    names = None if wanted == "ALL" else [part.strip() for part in wanted.split(",")]
    found: Headers = []
    for name, value in properties.items():
        if name in NOT_HEADERS:
            continue
        header = _header_name(properties, name)
        if names is None or any(fits(header, one) for one in names):
            found.append((header, None if value is None else _bytes_of(value)))
    return found


def _header_name(properties: Mapping[str, Property], name: str) -> str:
    """Return the name of a property's header: that of the first one, for `name.2` and so on."""
    match = _REPEATED.fullmatch(name)
    if match is not None and match[1] in properties and match[1] not in NOT_HEADERS:
        number = int(match[2])
        if number == 2 or f"{match[1]}.{number - 1}" in properties:
            name = match[1]
    return "" if name == NAMELESS else name


def _bytes_of(value: Property) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode()


def encode_headers(headers: Headers) -> bytes:
    """Return the value of the property that says all headers: a MessagePack array of pairs."""
    return msgspec.msgpack.encode(headers)


def decode_headers(value: object) -> Headers:
    """Read what encode_headers wrote. Raises NotARecordError."""
    try:
        return _headers.decode(value) if isinstance(value, bytes) else _refuse_headers(value)
    except msgspec.DecodeError as error:
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
    return int(parts[2]) if parts[2].isdigit() else None


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
