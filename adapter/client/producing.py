"""What becomes of the arguments of produce(): a message whose export writes the record.

Threads and tasks use it alike. The queue manager decides which topics may be written; an export
writes them, once the unit is committed (adapter.runtime.exports). Nothing here waits or is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec import Struct

from adapter.client.putting import subject_of
from adapter.connection.channel import arguments as a
from adapter.connection.channel.arguments import EPOCH
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.requests import Handle
from adapter.core.contract import commands as c
from adapter.core.contract import exports
from adapter.core.contract.exports import RecordHeaders
from adapter.core.contract.message import MessageData, Property
from adapter.errors import InvalidAttribute, InvalidOption, InvalidType

if TYPE_CHECKING:
    from adapter.registry.values import SchemaName

TOPICS_MAX = 64
"""Topics whose handles a connection keeps open for produce(); it may have 256 handles."""
TOPIC_CLOSED = "topic {name} is closed: open it again with kafka_topic()"
PERSISTENT = 1

HeaderValue = bytes | str | None
Headers = Mapping[str, HeaderValue] | Iterable[tuple[str, HeaderValue]]


class RecordFields(TypedDict, total=False):
    """What produce() takes beside the value and the key."""

    headers: Headers | None
    timestamp: datetime | int | None
    partition: int | None
    schema: SchemaName
    subject: str | None
    register: bool


class KafkaRecord(Struct, frozen=True):
    """A record for produce_many(); its fields are the arguments of produce()."""

    value: bytes | str | None
    key: bytes | str | None = None
    headers: Headers | None = None
    timestamp: datetime | int | None = None
    partition: int | None = None


class AvroEncoding(Struct, frozen=True):
    """How a value is written as Avro; see Schemas.encode()."""

    schema: SchemaName
    subject: str
    register: bool


def avro_encoding(topic: str, value: object, fields: RecordFields) -> AvroEncoding | None:
    """Say how a value is to be written as Avro; None if it is not.

    None is a tombstone, whatever the schema says, as it is for Kafka's own serializers.
    """
    if "schema" not in fields:
        if fields.get("subject") is not None or fields.get("register"):
            raise InvalidOption("subject and register say where a schema is: give schema too")
        return None
    subject = subject_of(topic, fields.get("subject"))
    register = a.as_flag("register", fields.get("register", False))
    return None if value is None else AvroEncoding(fields["schema"], subject, register)


def record_message(value: object, key: object, fields: Mapping[str, Any]) -> MessageData:
    """Make the message of a record; a clear error for what cannot be one.

    value: None for a tombstone. fields: of RecordFields; schema and what belongs to it is not used
    here.
    """
    unknown = fields.keys() - _FIELDS.keys() - {"schema", "subject", "register"}
    if unknown:
        taken = ", ".join(["key", "unit", "wait", *RecordFields.__annotations__])
        raise InvalidType(f"produce() takes no argument {min(unknown)!r}; it takes {taken}")
    properties: dict[str, Property] = {}
    if value is None:
        properties[exports.TOMBSTONE] = True
    if key is not None:
        properties[exports.KEY] = _as_bytes("key", key)
    for name, (found, check) in _FIELDS.items():
        given = fields.get(name)
        if given is not None:
            properties[found] = check(given)
    return MessageData(
        body=b"" if value is None else a.as_body(value),
        persistence=PERSISTENT,
        properties=properties or None,
    )


def many_messages(records: Iterable[KafkaRecord | bytes | str | None]) -> Iterator[MessageData]:
    """Make the messages of records, or of values of records without a key."""
    for one in a.as_many("records", records):
        if isinstance(one, KafkaRecord):
            fields = {name: getattr(one, name) for name in _FIELDS}
            yield record_message(one.value, one.key, fields)
        else:
            yield record_message(one, None, {})


def _as_bytes(what: str, value: object) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise InvalidOption(f"{what} is not valid Unicode: {error}") from error
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise InvalidType(f"{what} is bytes, a str or None, not {a.shown(value)}")


def _as_headers(value: object) -> bytes:
    """Take a mapping or pairs, in their order; the same name may come again."""
    if isinstance(value, Mapping):
        value = value.items()
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidType(f"headers are a mapping or a list of (name, value), not {a.shown(value)}")
    found: RecordHeaders = []
    for pair in value:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            raise InvalidType(f"a header is (name, value), its name a str, not {a.shown(pair)}")
        name, content = pair
        _as_bytes("the name of a header", name)
        of = f"the value of header {name}"
        found.append((name, None if content is None else _as_bytes(of, content)))
    return exports.encode_headers(found)


def _as_timestamp(value: object) -> int:
    """Take a time with a zone, or milliseconds since 1970; 0 would be the present time to Kafka."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidOption(
                f"timestamp has a time zone, as datetime.now(UTC); {a.shown(value)} has none"
            )
        value = (value - EPOCH) // timedelta(milliseconds=1)
    elif not isinstance(value, int) or isinstance(value, bool):
        raise InvalidType(
            f"timestamp is a datetime or milliseconds since 1970, not {a.shown(value)}"
        )
    return a.as_whole("timestamp", value, 1, exports.TIME_MAX_MS)


# Argument -> (property of the message, check and conversion).
_FIELDS: Mapping[str, tuple[str, Callable[[Any], Property]]] = {
    "headers": (exports.EXACT_HEADERS, _as_headers),
    "timestamp": (exports.TO_TIMESTAMP, _as_timestamp),
    "partition": (
        exports.TO_PARTITION,
        lambda v: a.as_whole("partition", v, 0, exports.PARTITION_MAX),
    ),
}


# The queue of a topic's export.


def as_topic(topic: object) -> str:
    """Take the name of a topic; the queue manager judges more."""
    return a.as_name(topic, "topic")


def topic_handle(channel: ChannelBooks, topic: str, modes: int) -> Handle:
    """Draw a handle of the queue whose messages are written to a topic."""
    handle = channel.new_handle(topic, modes)
    handle.opening = c.Open(handle.number, "", modes, kafka_topic=topic)
    return handle


@contextmanager
def topic_refusals(topic: str) -> Iterator[None]:
    """Say what the queue manager refuses about a topic in the words of produce()."""
    try:
        yield
    except InvalidAttribute as error:
        why = error.detail or error.happened
        has_remedy = "; " in why or ": " in why
        raise InvalidOption(why if has_remedy else f"{why}: name another", topic) from error
