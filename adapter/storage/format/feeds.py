"""What a record of any topic of Kafka becomes as a message, as its feed says.

The value is the body, untouched, or what it was decoded to. Its fields and the headers become
properties. A header is text where its bytes are UTF-8, else bytes; null stays null. Of headers of
one name the first has the name as it is, and the others have `.2`, `.3` and so on behind it, or the
next number that is free; so has one that is named as a property with a meaning, such as KafkaKey. A
header without a name is called KafkaHeader. This module does not know where a message is put.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from msgspec import Struct

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.exports import (
    EXACT_HEADERS,
    KEY,
    TO_PARTITION,
    TO_TIMESTAMP,
    TOMBSTONE,
)
from adapter.core.contract.feeds import (
    NOT_A_MESSAGE,
    OFFSET,
    PARTITION,
    TOO_MANY_HOPS,
    TOPIC,
    FedMessage,
)
from adapter.core.contract.message import EXPIRY_UNLIMITED, PROPERTIES_MAX, MessageData, Property
from adapter.core.model.priority_rules import PriorityRule, parse_rules, priority_of
from adapter.storage.format import connect_headers, hops
from adapter.storage.format.record_fields import fields_of
from adapter.storage.format.record_headers import (
    Headers,
    NamedHeaders,
    ident_of,
    name_headers,
    text_of,
)

TIMESTAMP = "KafkaTimestamp"
"""A property: of the record, in milliseconds since 1970."""
SCHEMA, WHY = "KafkaSchema", "KafkaReason"
"""Properties: the number of the schema that the value was decoded with; and, of a dead letter, why
it could not be."""
NOT_UTF8 = "the name of a header is not UTF-8, and no header can be read"
NAMELESS = "KafkaHeader"
RESERVED = frozenset(
    {
        *(KEY, TIMESTAMP, TOPIC, PARTITION, OFFSET, SCHEMA, WHY, hops.PROPERTY),
        *(TO_PARTITION, TO_TIMESTAMP, TOMBSTONE, EXACT_HEADERS),
    }
)
"""Properties with a meaning, here or for exports: a header of such a name is read as `name.2`."""
PERSISTENT = 1
TENTH_MS = 100
TENTHS = re.compile(r"-1|[0-9]{1,9}")
"""What a header says of expiry or delay; -1 is for ever."""


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


class DecodedValue(Struct, gc=False):
    """What the value of a record was decoded to, or why it could not be.

    body: of the message, if it is not the value itself.
    """

    schema_id: int = 0
    value: Any = None
    body: bytes | None = None
    why: str = ""


def message_of(
    record: TopicRecord, feed: FeedAttributes, decoded: DecodedValue | None = None
) -> FedMessage | None:
    """Return the message of a record; None if the feed leaves the record out."""
    if record.value is None and feed.tombstones == "SKIP":
        return None
    why = NOT_UTF8 if record.headers is None else ""
    is_dead = bool(why) or (record.value is None and feed.tombstones == "DEADLETTER")
    properties = _origin(record, feed.topic) if feed.origin or is_dead else {}
    if record.value is None and not is_dead:
        properties[TOMBSTONE] = True  # an empty value is something else
    if record.key is not None and (feed.key == "PROPERTY" or is_dead):
        properties[KEY] = _value_of(record.key)
    body = record.value or b""
    if decoded is not None:
        body = body if decoded.body is None else decoded.body
        why = why or decoded.why
        _add_decoded(properties, decoded, feed)
    if why:
        properties[WHY] = why
    _add_headers(properties, record.headers or [], feed.headers)
    passed = hops.hops_of(record.headers or [])
    if passed:
        properties[hops.PROPERTY] = passed
    message = MessageData(body=body, persistence=PERSISTENT, properties=properties or None)
    _describe(message, record, feed)
    code = NOT_A_MESSAGE if is_dead or why else 0
    if passed > feed.hops > 0:
        code = TOO_MANY_HOPS
    return FedMessage(message, record.offset, code, why)


def dead_letter_of(record: TopicRecord, feed: FeedAttributes, why: str) -> FedMessage:
    """Return what goes to the dead-letter queue for a record of which no message can be made."""
    properties = _origin(record, feed.topic) | {WHY: why}
    message = MessageData(body=record.value or b"", persistence=PERSISTENT, properties=properties)
    return FedMessage(message, record.offset, NOT_A_MESSAGE, why)


def _add_decoded(
    properties: dict[str, Property], decoded: DecodedValue, feed: FeedAttributes
) -> None:
    if decoded.why:
        return
    if feed.origin:
        properties[SCHEMA] = decoded.schema_id
    for name, value in fields_of(decoded.value, feed.fields):
        if len(properties) > PROPERTIES_MAX:
            break
        properties[_free(properties, name)] = value


def _describe(message: MessageData, record: TopicRecord, feed: FeedAttributes) -> None:
    """Set the fields of a message: as all messages of the feed have them, as headers of Kafka
    Connect say, as headers of the feed's choice say, and as the rules decide, which ask the message
    as it is then.
    """
    headers = name_headers(record.headers or [])
    is_of_connect = feed.descriptor == "CONNECT"
    message.priority = feed.priority
    message.expiry_ms = TENTH_MS * feed.expiry if feed.expiry > 0 else EXPIRY_UNLIMITED
    message.delay_ms = TENTH_MS * feed.delay
    if is_of_connect:
        connect_headers.describe(message, headers)
    key = record.key
    if key is not None and feed.key in ("CORRELID", "GROUPID"):
        ident = connect_headers.ident_of_key(key) if is_of_connect else ident_of(key)
        if feed.key == "CORRELID":
            message.correlation_id = ident
        else:
            message.group_id = ident
    _set_times(message, headers, feed)
    _set_priority(message, headers, feed)


def _set_priority(message: MessageData, headers: NamedHeaders, feed: FeedAttributes) -> None:
    text = text_of(headers, feed.priority_header)
    if len(text) == 1 and text in "0123456789":
        message.priority = int(text)
    rules = _rules_of(feed.priority_rules)
    priority = priority_of(rules, message) if rules else None
    if priority is not None:
        message.priority = priority


def _set_times(message: MessageData, headers: NamedHeaders, feed: FeedAttributes) -> None:
    """Set expiry and delay. A header without a number, or with one that is too large, says none."""
    expiry = _tenths(text_of(headers, feed.expiry_header))
    if expiry is not None:
        message.expiry_ms = TENTH_MS * expiry if expiry > 0 else EXPIRY_UNLIMITED
    delay = _tenths(text_of(headers, feed.delay_header))
    if delay is not None and delay >= 0:
        message.delay_ms = TENTH_MS * delay


def _tenths(text: str) -> int | None:
    return int(text) if TENTHS.fullmatch(text) else None


@lru_cache(maxsize=256)
def _rules_of(text: str) -> tuple[PriorityRule, ...]:
    """Parse the rules of a feed; they are kept, as they are asked for with every message."""
    return parse_rules(text)


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
        if len(properties) > PROPERTIES_MAX:
            break  # no queue takes as many: what is still to come changes nothing
        if wanted == "ALL" or any(fits(name, one) for one in names):
            properties[_free(properties, name or NAMELESS)] = (
                None if value is None else _value_of(value)
            )


def fits(name: str, wanted: str) -> bool:
    """Whether a header is one that is asked for: by its name, or `trace-*` by a prefix."""
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


def _free(properties: dict[str, Property], name: str) -> str:
    """Return the name that the next header of a name has."""
    if name not in properties and name not in RESERVED:
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
