"""What a record of any topic of Kafka becomes as a message, as its feed says.

The value is the body, untouched. Headers become properties: text where the bytes are UTF-8, else
bytes; null stays null. Of headers of one name the first has the name as it is, and the others have
`.2`, `.3` and so on behind it, or the next number that is free. A header without a name is called
KafkaHeader. This module does not know where a message is put.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.exports import KEY
from adapter.core.contract.feeds import NOT_A_MESSAGE, OFFSET, PARTITION, TOPIC, FedMessage
from adapter.core.contract.message import ID_LENGTH, MessageData, Property

TIMESTAMP = "KafkaTimestamp"
"""A property: of the record, in milliseconds since 1970."""
NAMELESS = "KafkaHeader"
PERSISTENT = 1

Headers = list[tuple[str, bytes | None]]


class TopicRecord(Struct, gc=False):
    """A record as it was read. headers: None if they are not valid. time_ms: -1 for none."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None = []
    time_ms: int = -1

    @property
    def size(self) -> int:
        """Bound roughly what it takes in memory."""
        names = sum(len(name) + len(value or b"") + 64 for name, value in self.headers or ())
        return len(self.value or b"") + len(self.key or b"") + names + 512


def message_of(record: TopicRecord, feed: FeedAttributes) -> FedMessage | None:
    """Return the message of a record; None if the feed leaves the record out."""
    if record.value is None and feed.tombstones == "SKIP":
        return None
    is_dead = record.value is None and feed.tombstones == "DEADLETTER"
    is_dead = is_dead or record.headers is None
    properties = _origin(record, feed.topic) if feed.origin or is_dead else {}
    message = MessageData(body=record.value or b"", persistence=PERSISTENT, priority=feed.priority)
    key = record.key
    if key is not None and (feed.key == "PROPERTY" or is_dead):
        properties[KEY] = _value_of(key)
    if key is not None and feed.key == "CORRELID":
        message.correlation_id = ident_of(key)
    elif key is not None and feed.key == "GROUPID":
        message.group_id = ident_of(key)
    _add_headers(properties, record.headers or [], feed.headers)
    message.properties = properties or None
    return FedMessage(message, record.offset, NOT_A_MESSAGE if is_dead else 0)


def ident_of(key: bytes) -> bytes:
    """Return the id of a key: its bytes, filled up with zeros; of a longer one the first 24 bytes
    of its SHA-256.

    >>> ident_of(b"customer-17").rstrip(bytes(1))
    b'customer-17'
    """
    short = key if len(key) <= ID_LENGTH else hashlib.sha256(key).digest()[:ID_LENGTH]
    return short.ljust(ID_LENGTH, b"\0")


def _origin(record: TopicRecord, topic: str) -> dict[str, Property]:
    found: dict[str, Property] = {
        TOPIC: topic,
        PARTITION: record.partition,
        OFFSET: record.offset,
    }
    if record.time_ms >= 0:
        found[TIMESTAMP] = record.time_ms
    return found


def _add_headers(properties: dict[str, Property], headers: Headers, wanted: str) -> None:
    if wanted == "NONE":
        return
    names = [part.strip() for part in wanted.split(",")]
    for name, value in headers:
        if wanted == "ALL" or any(fits(name, one) for one in names):
            properties[_free(properties, name or NAMELESS)] = (
                None if value is None else _value_of(value)
            )


def fits(name: str, wanted: str) -> bool:
    """Whether a header is one that is asked for: by its name, or `trace-*` by a prefix."""
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


def _free(properties: dict[str, Property], name: str) -> str:
    """Return the name that the next header of a name has."""
    if name not in properties:
        return name
    number = 2
    while f"{name}.{number}" in properties:
        number += 1
    return f"{name}.{number}"


def _value_of(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
