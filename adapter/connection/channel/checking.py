"""Whether the queue manager can read a command, before it is sent.

What it cannot read costs the connection and the units on it: the number of a command that was not
understood is missing in the session. Faces check what they know of their arguments, which is not
all: a text may be too long for any command, an attribute may be of a type that no attribute has.
Commands that are given for each message are made of checked arguments alone, and are not decoded
here: that would take as long as to encode them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from adapter.connection.channel import requests as rq
from adapter.connection.wire.codec import decode_command, raw
from adapter.connection.wire.frames import ProtocolError
from adapter.core.contract.traits import TRAITS
from adapter.errors import InvalidType, InvalidValue

CHECKED: Final = frozenset(command for command, trait in TRAITS.items() if not trait.is_frequent)

_PLACE = re.compile(r" - at `\$\[(\d+)\](.*)`\Z")
"""Where a field of a command is; the first element is the command's tag."""


def check_commands(requests: Iterable[rq.Pending]) -> None:
    """Raise InvalidType or InvalidValue if the queue manager could not read one of the commands."""
    for request in requests:
        if type(request.command) in CHECKED:
            _check(request.command)


def _check(command: Any) -> None:
    try:
        decode_command(raw(command))
    except rq.ENCODING_ERRORS as error:
        raise InvalidValue(f"an argument cannot be sent: {error}") from error
    except ProtocolError as error:
        text = str(error).removeprefix("malformed: ")
        kind = InvalidType if ", got `" in text else InvalidValue
        raise kind(f"an argument cannot be sent: {_name_field(command, text)}") from error


def _name_field(command: Any, text: str) -> str:
    """Call a field of a command by its name, where a decoder says its place."""
    found = _PLACE.search(text)
    if found is None:
        return text
    at = int(found[1]) - 1
    what = text[: found.start()]
    return f"{command.__struct_fields__[at]}: {what[0].lower()}{what[1:]}"
