"""Looks at long commands before they are decoded, so that none decodes to far more than it weighs.

The commands' own types bound every list and map in them but one kind: a property of a message may
be text, bytes or a number, which is more than msgspec's decoder can be told to expect. Left to
itself it would build whatever is there: a frame has room for sixteen million empty arrays.
"""

from __future__ import annotations

import typing
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.msgpack import Decoder

from adapter.core.contract.bounds import ELEMENTS_MAX
from adapter.core.contract.commands import Put
from adapter.core.contract.message import PROPERTIES_MAX, MessageData
from adapter.core.contract.msmq import MsmqSend

TRUSTED_BYTES = 2 * 1024 * 1024
"""What a command of this size can be decoded to (64 times as much) is no matter, whatever it is.
A look costs half as much as decoding: too much for what programs usually put at once."""
PUT_TAG = Put.__struct_config__.tag
SEND_TAG = MsmqSend.__struct_config__.tag
CONTAINERS = frozenset([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""How maps and arrays begin in msgpack."""


class _Head(Struct, array_like=True):
    """The first element of a command."""

    tag: int


def _message_shape() -> Any:
    """Make the type of a message that is taken apart no further than to its properties."""
    kinds = typing.get_type_hints(MessageData)
    kinds["body"] = Raw
    kinds["properties"] = Annotated[dict[str, Raw], Meta(max_length=PROPERTIES_MAX)] | None
    fields_of = msgspec.structs.fields(MessageData)
    return msgspec.defstruct(
        "MessageShape",
        [(field.name, kinds[field.name], None) for field in fields_of],
        array_like=True,
    )


def _shape(name: str, tag: Any, messages: Any) -> Any:
    """Make the type of a command that has messages behind its handle."""
    fields = [("handle", Raw), ("messages", messages)]
    return msgspec.defstruct(name, fields, array_like=True, tag=tag)


_heads: Decoder[_Head] = Decoder(_Head)
_message: Any = _message_shape()
LOOKED_AT: dict[Any, Decoder[Any]] = {
    PUT_TAG: Decoder(
        _shape("PutShape", PUT_TAG, Annotated[list[_message], Meta(max_length=ELEMENTS_MAX)])
    ),
    SEND_TAG: Decoder(_shape("SendShape", SEND_TAG, _message)),
}
"""By tag: the commands that have messages."""


def problem_with(command: Raw) -> str:
    """Say why a command is not to be decoded, or "". What else is wrong with it shows then."""
    if len(command) <= TRUSTED_BYTES:
        return ""
    try:
        decoder = LOOKED_AT.get(_heads.decode(command).tag)
        if decoder is None:
            return ""
        messages = decoder.decode(command).messages
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return str(error)
    for message in messages if isinstance(messages, list) else [messages]:
        for value in (message.properties or {}).values():
            with memoryview(value) as view:
                if view[0] in CONTAINERS:
                    return "a property is text, bytes or a number, and no array or map"
    return ""
