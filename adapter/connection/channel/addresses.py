"""Where queue managers listen, as users write it. This module knows no socket."""

from __future__ import annotations

import re

from msgspec import Struct

from adapter.connection.channel import arguments as a
from adapter.errors import InvalidType, InvalidValue

PORT = 1414
UNIX = "unix:"
DIRECTORY = "kafka://"


class Address(Struct, frozen=True):
    """Where a queue manager listens. path: of a Unix-domain socket, which has no host and port."""

    host: str
    port: int
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return UNIX + self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class DirectoryAddress(Struct, frozen=True):
    """The Kafka whose directory says where a queue manager listens. queue_manager: "" for the only
    one there.
    """

    bootstrap_servers: str
    queue_manager: str


_FORMS = (
    re.compile(r"\[(?P<host>[^\[\]]+)\](:(?P<port>\d{1,5}))?"),  # [IPv6]:PORT
    re.compile(r"(?P<host>[^()\s]+)\s*\(\s*(?P<port>\d{1,5})\s*\)"),  # HOST(PORT), as in a CONNAME
    re.compile(r"(?P<host>[^:()\[\]\s]+)(:(?P<port>\d{1,5}))?"),  # HOST:PORT
    re.compile(r"(?P<host>[0-9A-Fa-f:]+:[0-9A-Fa-f:]*)(?P<port>(?!))?"),  # bare IPv6
)


def parse_addresses(text: str) -> list[Address]:
    """Read HOST:PORT, HOST(PORT), [IPV6]:PORT, unix:/PATH or a comma list of them.

    Without port it is 1414. Raises InvalidType or InvalidValue.
    """
    if not isinstance(text, str):
        raise InvalidType(f"address is a str such as '127.0.0.1:{PORT}', not {a.shown(text)}")
    if "\0" in text:
        raise InvalidValue(f"address {text!r} has a NUL in it")
    return [_address(part.strip(), text) for part in text.split(",")]


def parse_directory(text: object) -> DirectoryAddress | None:
    """Read kafka://HOST:PORT[,HOST:PORT]/QUEUE_MANAGER; None if it is an address of another form.

    Raises InvalidValue.
    """
    if not isinstance(text, str) or not text.startswith(DIRECTORY):
        return None
    servers, _, queue_manager = text.removeprefix(DIRECTORY).partition("/")
    if not servers or "/" in servers:
        raise InvalidValue(f"address {text!r} is not kafka://HOST:PORT[,HOST:PORT]/QUEUE_MANAGER")
    return DirectoryAddress(servers, queue_manager)


def _address(part: str, text: str) -> Address:
    if part.startswith(f"{UNIX}/"):
        return Address("", 0, part.removeprefix(UNIX))
    for form in _FORMS:
        match = form.fullmatch(part)
        if match is not None:
            port = int(match["port"] or PORT)
            if 0 < port < 65_536:
                return Address(match["host"], port)
    raise InvalidValue(f"{part!r} in address {text!r} is not HOST:PORT, HOST(PORT) or unix:/PATH")
