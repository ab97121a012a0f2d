"""Ids as MSMQ programs see them, GUID\\number, and the 24 bytes that they are; lookup ids.

This module knows no message.
"""

from __future__ import annotations

import re
from uuid import UUID

from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.core.contract.message import GUID_LENGTH, ID_LENGTH, NO_ID

FORM = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\\(\d{1,20})")
EXAMPLE = "'0a1b2c3d-0000-0000-0000-000000000000\\12'"
HIGHEST_PRIORITY = 7
LANE_BITS = 56


def shown(identifier: bytes) -> str:
    """Return an id as GUID\\number; "" if there is no id."""
    if not identifier or identifier == NO_ID:
        return ""
    padded = identifier.ljust(ID_LENGTH, b"\0")
    number = int.from_bytes(padded[GUID_LENGTH:], "big")
    return f"{UUID(bytes=padded[:GUID_LENGTH])}\\{number}"


def as_message_id(name: str, value: object) -> bytes:
    """Take an id as programs write it; "" and None mean no id."""
    if value is None or value == "":
        return b""
    if not isinstance(value, str):
        raise WrongArgumentType(f"{name} is a str such as {EXAMPLE}, not {value!r}")
    match = FORM.fullmatch(value)
    if match is None or int(match[2]) >= 2**64:
        raise WrongArgument(f"{name} is a GUID and a number, such as {EXAMPLE}, not {value!r}")
    identifier = UUID(match[1]).bytes + int(match[2]).to_bytes(ID_LENGTH - GUID_LENGTH, "big")
    return b"" if identifier == NO_ID else identifier


def as_guid(name: str, value: object) -> str:
    """Take a GUID; "" is accepted, too."""
    if value == "":
        return ""
    try:
        return str(value if isinstance(value, UUID) else UUID(str(value)))
    except ValueError as error:
        raise WrongArgument(f"{name} is a GUID, not {value!r}") from error


def lookup_id(lane: int, seq: int) -> int:
    """Return the lookup id of the message at a place of a queue; ids sort as the queue delivers."""
    return (HIGHEST_PRIORITY - lane << LANE_BITS) + seq
