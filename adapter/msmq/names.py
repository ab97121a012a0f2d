"""Names of queues, as MSMQ programs give them: path names and format names.

What a name means is decided in core; here it is only checked to be text, and its prefix FormatName:
of System.Messaging removed.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from ipaddress import ip_address

from adapter.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.core.contract.format_names import parse
from adapter.core.contract.reasons import Refusal
from adapter.msmq.error_codes import MessageQueueErrorCode
from adapter.msmq.errors import MessageQueueException

PREFIX = re.compile(r"\s*formatname:\s*", re.IGNORECASE)
DOT = re.compile(r"^((?:DIRECT=OS:)?)\.(?=\\)", re.IGNORECASE)
HOST = re.compile(r"^((?:DIRECT=(?:OS|TCP):)?)([^\\=]+)(?=\\)", re.IGNORECASE)
EXAMPLE = r".\private$\orders"


def absolute(name: str, computer: str) -> str:
    """Return a name with the computer that a leading . means; computer "": as it is."""
    return DOT.sub(lambda found: found[1] + computer, name) if computer else name


def here_as_dot(name: str, is_known: Callable[[str], bool]) -> str:
    """Return a name with a leading . in place of what means this machine.

    is_known: whether a queue manager has a computer, which its name means then.
    """
    found = HOST.match(name)
    if found is None or "," in name or not means_here(found[2], is_known):
        return name
    return f"{'DIRECT=OS:' if found[1] else ''}.{name[found.end() :]}"


def means_here(host: str, is_known: Callable[[str], bool]) -> bool:
    """Whether this machine is meant: by localhost, an address, or its name with domain or without,
    unless a computer is known by this name.
    """
    return _is_local_address(host) or (_is_host_name(host) and not is_known(host))


def _is_host_name(host: str) -> bool:
    said, own = host.casefold(), socket.gethostname().casefold()
    short = own.partition(".")[0]
    if said in (own, short):
        return True
    # Only names that may be this machine's are worth asking the resolver, which may take seconds.
    return said.startswith(f"{short}.") and said == socket.getfqdn().casefold()


def _is_local_address(host: str) -> bool:
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.casefold() == "localhost"
    if address.is_unspecified:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))  # sends nothing: only an address of this machine is bound
        except OSError:
            return False
    return True


def as_queue_name(name: object, what: str = "path") -> str:
    """Take a path name or a format name."""
    if not isinstance(name, str):
        raise WrongArgumentType(f"{what} is a str such as {EXAMPLE}, not {name!r}")
    stripped = PREFIX.sub("", name, count=1).strip()
    if stripped and PREFIX.match(name) and "=" not in stripped:
        raise MessageQueueException(
            MessageQueueErrorCode.ILLEGAL_FORMATNAME,
            f"invalid format name of a queue: {name}: use FormatName:DIRECT=OS:COMPUTER"
            "\\private$\\NAME, or a path without FormatName:",
            name,
        )
    if not stripped:
        raise WrongArgument(f"{what} is the path of a queue, such as {EXAMPLE}, and is not empty")
    return stripped


def one_name(name: str, computer: str) -> str:
    """Return one name for all names of a queue: its direct format name, in lower case. computer:
    what a leading . means.
    """
    try:
        return parse(name, computer).text.lower()
    except Refusal:
        return name


def is_public(name: str) -> bool:
    """Whether a path is one of a public queue: COMPUTER and NAME, without private$."""
    try:
        return not set(parse(name, ".").queue) & {"\\", ";"}
    except Refusal:
        return False
