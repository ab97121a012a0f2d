"""Decodes long commands, so that none takes far more memory than it has bytes.

Which commands hold what their types do not bound is a column of the table of traits.

Decoding takes at most PER_BYTE times a frame, and ROOM_BYTES. The commands' own types bound every
list and map in them but one kind: a property of a message may be text, bytes or a number, which is
more than msgspec's decoder can be told to expect. Left to itself it would build whatever is there:
a frame has room for a hundred million empty arrays. Texts have no bound either, and one with a
character beyond U+FFFF takes four bytes for each of its characters, six while it is decoded.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.msgpack import Decoder

from adapter.core.contract.bounds import MESSAGES_MAX
from adapter.core.contract.message import PROPERTIES_READ_MAX, MessageData
from adapter.core.contract.traits import TRAITS, Content

PER_BYTE: Final = 3
"""Bytes of memory for each byte of a frame: what text takes that is not in Latin letters."""
ROOM_BYTES: Final = 16 * 1024 * 1024
"""And so much for a frame of any size. The units that put_many() sends need it, up to 8,000 small
messages, because each is an object with 28 fields: 700 bytes in memory for 60 in the frame."""
TRUSTED_BYTES: Final = 128 * 1024
"""What so much decodes to is below ROOM_BYTES, whatever it is: nothing takes more than 80 times its
size but empty messages, which MESSAGES_MAX bounds. What programs usually put at once is shorter, or
is the body of a message."""
TRUSTED_MESSAGE_BYTES: Final = 16 * 1024
"""Of one message among others, without its body: this is decoded before it is looked at."""
PLAIN_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of a command without the body of its message: the longest has an XML schema of a million
characters. Six times as much is below the bound."""

REQUESTS_TAG: Final = 3

CONTAINER_HEADS: Final = frozenset([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""How maps and arrays begin in msgpack."""
CONTAINERS: Final = frozenset([list, dict])
TEXT_HEADS: Final = {0xD9: 2, 0xDA: 3, 0xDB: 5}
"""How long texts begin, and how many bytes that is."""
SHORT_BYTES: Final = 1024
"""A text up to this length is taken for one that needs four bytes for each of its own."""

MAP_HEADS: Final = {0xDE: 3, 0xDF: 5}
STRUCT_BYTES: Final = 256
NUMBER_BYTES: Final = 40
MESSAGE_BYTES: Final = STRUCT_BYTES + 13 * NUMBER_BYTES
"""A message and its numbers."""
DICT_BYTES: Final = 240
PROPERTY_BYTES: Final = 60
"""The place of a property in its dict."""
VALUE_BYTES: Final = 80
"""A text or bytes, without what is in it, or a number."""
NO_CONTAINER: Final = "a property is text, bytes or a number, and no array or map"
HEADER_BYTES: Final = 1_500
"""What only programs of MQ, MSMQ or Service Broker say, without its texts."""

_beyond_u_ffff = re.compile(rb"[\xf0-\xff]").search
_NAMES: Final = [
    name for name, kind in typing.get_type_hints(MessageData).items() if kind in (bytes, str)
]
_NAMES.remove("body")
_HEADERS: Final = ("details", "transmission", "msmq", "broker")


class _Head(Struct, array_like=True):
    """The first element of a frame or command."""

    tag: int


NOTHING: Final = Raw(b"\xc0")


class _Body(Struct, array_like=True, gc=False):
    """Of a message the body alone."""

    body: Raw = NOTHING


def _with(command: Any, name: str, kind: Any) -> Decoder[Any]:
    """Make a decoder of a command that has another type of content under this name."""
    kinds = typing.get_type_hints(command)
    fields = [
        (field.name, kind) if field.name == name else (field.name, kinds[field.name], field.default)
        for field in msgspec.structs.fields(command)
    ]
    fields[0] = (fields[0][0], int)
    tag = command.__struct_config__.tag
    return Decoder(msgspec.defstruct("Look", fields, array_like=True, tag=tag))


def _raw(command: Any) -> Decoder[Any]:
    """Make a decoder of a command that takes nothing of it apart."""
    fields = [(name, Raw, NOTHING) for name in command.__struct_fields__]
    tag = command.__struct_config__.tag
    return Decoder(msgspec.defstruct("Raws", fields, array_like=True, tag=tag))


def _list_of(kind: Any) -> Any:
    return Annotated[list[kind], Meta(max_length=MESSAGES_MAX)]


class _Messages:
    """Decodes long commands of one type, which have messages: each is looked at by itself."""

    def __init__(self, command: Any, content: Content) -> None:
        self._command = command
        self._name = content.value
        self._has_many = content is Content.MESSAGES
        of = _list_of if self._has_many else (lambda kind: kind)
        self._with_bodies = _with(command, self._name, of(_Body))
        self._with_messages = _with(command, self._name, of(Raw))

    def plain_bytes(self, command: Raw) -> int:
        """How long a command is without the bodies of its messages."""
        found = self._found(self._with_bodies.decode(command))
        return len(command) - sum([len(one.body) for one in found])

    def decode(self, command: Raw) -> Any:
        """Decode a command; raises msgspec.DecodeError for what takes too much memory."""
        looked_at = self._with_messages.decode(command)
        decoded = _decode_each(self._found(looked_at), len(command))
        content = {self._name: decoded if self._has_many else decoded[0]}
        return self._command(**msgspec.structs.asdict(looked_at) | content)

    def _found(self, looked_at: Any) -> list[Any]:
        found = getattr(looked_at, self._name)
        return found if self._has_many else [found]


def _message_shape() -> Any:
    """Make the type of a message of which only the numbers are read."""
    kinds = typing.get_type_hints(MessageData)
    fields = [
        (field.name, kinds[field.name], 0)
        if kinds[field.name] in (int, bool)
        else (field.name, Raw, NOTHING)
        for field in msgspec.structs.fields(MessageData)
    ]
    return msgspec.defstruct("MessageShape", fields, array_like=True)


_heads: Decoder[_Head] = Decoder(_Head)
_bodies: Decoder[_Body] = Decoder(_Body)
_shapes: Decoder[Any] = Decoder(_message_shape())
_messages: Decoder[MessageData] = Decoder(MessageData)
_values: Decoder[list[Raw]] = Decoder(list[Raw])
WITH_MESSAGES: Final = {
    command.__struct_config__.tag: _Messages(command, trait.content)  # type: ignore[attr-defined]
    for command, trait in TRAITS.items()
    if trait.content in (Content.MESSAGES, Content.MESSAGE)
}
WITH_BODY: Final = {
    command.__struct_config__.tag: _raw(command)  # type: ignore[attr-defined]
    for command, trait in TRAITS.items()
    if trait.content is Content.BODY
}


def problem_with_frame(payload: bytes | memoryview) -> str:
    """Say why a client's frame is not to be decoded, or ""."""
    if len(payload) <= TRUSTED_BYTES:
        return ""
    try:
        if _heads.decode(payload).tag == REQUESTS_TAG:
            return ""
    except (msgspec.DecodeError, RecursionError) as error:
        return str(error)
    return f"a frame of {len(payload)} bytes that has no requests"


def decode_long(command: Raw, decoder: Decoder[Any]) -> Any:
    """Decode a command of more than TRUSTED_BYTES, as the decoder does.

    Raises msgspec.DecodeError also for what takes too much memory.
    """
    tag = _heads.decode(command).tag
    messages = WITH_MESSAGES.get(tag)
    if messages is not None:
        is_trusted = messages.plain_bytes(command) <= TRUSTED_BYTES
        return decoder.decode(command) if is_trusted else messages.decode(command)
    sent = WITH_BODY.get(tag)
    plain = len(command) - (len(sent.decode(command).body) if sent is not None else 0)
    if plain > PLAIN_BYTES_MAX:
        text = f"a command of {plain} bytes; without a message {PLAIN_BYTES_MAX} is the most"
        raise msgspec.ValidationError(text)
    return decoder.decode(command)


def _decode_each(messages: list[Raw], length: int) -> list[MessageData]:
    """Decode the messages of a command, as long as they do not take too much memory.

    length: of the command, in bytes.
    """
    most = PER_BYTE * length + ROOM_BYTES
    needed = 0
    exact = False
    decoded: list[MessageData] = []
    for one in messages:
        if (
            len(one) > TRUSTED_MESSAGE_BYTES
            and len(one) - len(_bodies.decode(one).body) > TRUSTED_MESSAGE_BYTES
        ):
            _check(needed + _bound(one), most, length)
        message = _messages.decode(one)
        if message.properties and not CONTAINERS.isdisjoint(map(type, message.properties.values())):
            raise msgspec.ValidationError(NO_CONTAINER)
        decoded.append(message)
        needed += _size(message) if exact else _guess(message, len(one))
        if needed > most and not exact:
            exact = True
            needed = sum(map(_size, decoded))
        _check(needed, most, length)
    return decoded


def _check(needed: int, most: int, length: int) -> None:
    if needed > most:
        raise msgspec.ValidationError(
            f"{length} bytes would take {needed} bytes of memory or more, {most} is the most: put "
            "fewer messages at once, and long texts in the body of a message"
        )


def _guess(message: MessageData, length: int) -> int:
    """Bound what a message takes, in bytes, by how long it is. Much faster than _size()."""
    body = len(message.body)
    size = MESSAGE_BYTES + body + 9 * VALUE_BYTES + 4 * (length - body)
    if message.properties:
        size += DICT_BYTES + (2 * VALUE_BYTES + PROPERTY_BYTES) * len(message.properties)
    if message.details or message.transmission or message.msmq or message.broker:
        size += 4 * HEADER_BYTES
    return size


def _size(message: MessageData) -> int:
    """Bound what a message takes, in bytes, by all that is in it."""
    size = STRUCT_BYTES + _size_of_each(msgspec.structs.astuple(message))
    if message.properties:
        size += DICT_BYTES + PROPERTY_BYTES * len(message.properties)
        size += _size_of_each(message.properties) + _size_of_each(message.properties.values())
    for header in (message.details, message.transmission, message.msmq, message.broker):
        if header is not None:
            size += STRUCT_BYTES + _size_of_each(msgspec.structs.astuple(header))
    return size


def _size_of_each(values: Iterable[object]) -> int:
    """Bound what values take beside those that Python has one object for."""
    size = 0
    for value in values:
        if isinstance(value, str):
            if not value.isascii():
                size += VALUE_BYTES + 4 * len(value)
            elif len(value) > 1:
                size += VALUE_BYTES + len(value)
        elif isinstance(value, bytes):
            size += VALUE_BYTES + len(value) if len(value) > 1 else 0
        elif type(value) is not int or not -5 <= value <= 256:
            size += NUMBER_BYTES
    return size


def _bound(message: Raw) -> int:
    """Bound the memory that a message takes while it is decoded, in bytes."""
    shape = _shapes.decode(message)
    bound = MESSAGE_BYTES + len(shape.body) + _bound_of_properties(shape.properties)
    for name in _NAMES:
        bound += _bound_of_value(getattr(shape, name))
    for name in _HEADERS:
        header = getattr(shape, name)
        if header != NOTHING:
            bound += HEADER_BYTES + 6 * len(header)
    return bound


def _bound_of_properties(properties: Raw) -> int:
    if properties == NOTHING:
        return 0
    with memoryview(properties) as view:
        head = MAP_HEADS.get(view[0], 1)
        if head == 1:
            count = view[0] - 0x80
        else:
            count = int.from_bytes(view[1:head], "big")
        if not 0 <= count <= PROPERTIES_READ_MAX:
            raise msgspec.ValidationError(f"a message has at most {PROPERTIES_READ_MAX} properties")
        values = b"".join((b"\xdd", (2 * count).to_bytes(4, "big"), view[head:]))
    return DICT_BYTES + count * PROPERTY_BYTES + sum(map(_bound_of_value, _values.decode(values)))


def _bound_of_value(value: Raw) -> int:
    length = len(value)
    with memoryview(value) as view:
        first = view[0]
        if first in CONTAINER_HEADS:
            raise msgspec.ValidationError(NO_CONTAINER)
        if length <= SHORT_BYTES:
            return VALUE_BYTES + 4 * length
        text = bytes(view[TEXT_HEADS.get(first, length) :])
    if text.isascii():  # or bytes
        return VALUE_BYTES + length
    return VALUE_BYTES + (6 if _beyond_u_ffff(text) else 3) * length
