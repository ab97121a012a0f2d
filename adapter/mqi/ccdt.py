"""Client channel definition tables (CCDT) in JSON: which addresses a queue manager's name has.

A table is a file that MQCNO (CCDTUrl), MQCCDTURL, or MQCHLLIB and MQCHLTAB name. Of its channels
those of the queue manager that is asked for are tried, in the order that clientWeight gives. Tables
in IBM's binary format, and tables behind http or ftp, are refused. This module opens no connection.
"""

from __future__ import annotations

import codecs
import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct, field

PORT = 1414
TABLE_BYTES_MAX = 4 * 1024 * 1024
CLIENT_CONNECTION = "clientConnection"
DEFAULT_FILE = "AMQCLCHL.TAB"
DEFAULT_FOLDER = "/var/mqm"


class CcdtError(ValueError):
    """A table cannot be read; the text says why."""


class ListenerAddress(Struct):
    """Where a queue manager listens."""

    host: str
    port: int = PORT


class ClientChannelAddress(Struct, rename="camel"):
    """Which queue manager, and where."""

    connection: list[ListenerAddress] | ListenerAddress = field(default_factory=list)
    queue_manager: str = ""


class Security(Struct, rename="camel"):
    """A CipherSpec that is named asks for TLS; the label says which certificate is shown."""

    cipher_specification: str = ""
    certificate_label: str = ""


class Management(Struct, rename="camel"):
    """client_weight: 0 is tried before all others, in the order of the channels' names.
    default_reconnect: what a program does that does not say whether it reconnects.
    """

    client_weight: int = 0
    default_reconnect: Literal["no", "yes", "queueManager", "disabled"] = "no"


class ChannelDefinition(Struct, rename="camel"):
    """One channel of a table."""

    name: str
    type: str
    client_connection: ClientChannelAddress = field(default_factory=ClientChannelAddress)
    transmission_security: Security = field(default_factory=Security)
    connection_management: Management = field(default_factory=Management)

    @property
    def addresses(self) -> list[str]:
        """HOST(PORT) each, in the order in which they are tried."""
        listed = self.client_connection.connection
        every = listed if isinstance(listed, list) else [listed]
        return [f"{one.host}({one.port})" for one in every]


class ChannelTable(Struct):
    """A table. channel: each as it is written: one that is of no concern may be as it likes."""

    channel: list[dict[str, Any]]


def named_by(environment: Mapping[str, str]) -> str:
    """Return the URL or the path of the table that the environment names; "" if it names none."""
    if environment.get("MQCCDTURL"):
        return environment["MQCCDTURL"]
    folder, file = environment.get("MQCHLLIB", ""), environment.get("MQCHLTAB", "")
    if not folder and not file:
        return ""
    return str(Path(folder or DEFAULT_FOLDER) / (file or DEFAULT_FILE))


def read(url: str) -> ChannelTable:
    """Read a table. Raises CcdtError."""
    path = _path(url)
    try:
        with path.open("rb") as file:
            content = file.read(TABLE_BYTES_MAX).removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise CcdtError(f"the CCDT {path} cannot be read: {error.strerror}") from error
    try:
        return msgspec.json.decode(content, type=ChannelTable)
    except msgspec.ValidationError as error:
        raise CcdtError(f"the CCDT {path} is not as it must be: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = f"the CCDT {path} is not JSON ({error}); tables in binary format cannot be read"
        raise CcdtError(text) from error


def channels(
    table: ChannelTable, queue_manager: str, chance: Callable[[], float] = random.random
) -> list[ChannelDefinition]:
    """Return the channels to try, in order. queue_manager: as the program gives it to MQCONN.

    Raises CcdtError for one of them that is not as it must be. A star before the name, or no name,
    leaves open which queue manager answers.
    """
    wanted = queue_manager.strip("\0 ").removeprefix("*")
    found = [_definition(one) for one in table.channel if _is_of(one, wanted)]
    fitting = [one for one in found if one.addresses]
    return sorted(fitting, key=lambda one: _turn(one, chance))


def _is_of(entry: dict[str, Any], queue_manager: str) -> bool:
    """Whether an entry is a channel by which clients come to a queue manager."""
    there = entry.get("clientConnection")
    name = there.get("queueManager", "") if isinstance(there, dict) else ""
    is_named = isinstance(name, str) and name.strip() == queue_manager
    return entry.get("type") == CLIENT_CONNECTION and is_named


def _definition(entry: dict[str, Any]) -> ChannelDefinition:
    try:
        return msgspec.convert(entry, ChannelDefinition)
    except msgspec.ValidationError as error:
        name = entry.get("name", "without a name")
        raise CcdtError(f"channel {name} of the CCDT is not as it must be: {error}") from error


def _turn(one: ChannelDefinition, chance: Callable[[], float]) -> tuple[float, str]:
    """Channels of greater weight come first more often; those without one by their names."""
    weight = one.connection_management.client_weight
    if weight <= 0:
        return -math.inf, one.name
    return -(chance() ** (1 / weight)), one.name


def _path(url: str) -> Path:
    parts = urlsplit(url.strip())
    if parts.scheme in ("", "file"):
        return Path(unquote(parts.path) if parts.scheme else url.strip())
    raise CcdtError(f"the CCDT {url} is not a file: give it as file:///PATH")
