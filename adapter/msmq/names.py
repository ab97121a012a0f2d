"""Names of queues, as MSMQ programs give them: path names and format names.

What a name means is decided in core; here it is only checked to be text, and its prefix FormatName:
of System.Messaging removed.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from ipaddress import ip_address

from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.core.contract.format_names import is_format_name, parse
from adapter.core.contract.reasons import Refusal
from adapter.msmq.error_codes import MessageQueueErrorCode
from adapter.msmq.errors import MessageQueueException

PREFIX = re.compile(r"\s*formatname:\s*", re.IGNORECASE)
HOST = re.compile(r"^((?:DIRECT=(?:OS|TCP):)?)([^\\=]+)(?=\\)", re.IGNORECASE)
HERE = "."
COMMA = ","
IsKnown = Callable[[str], bool]
"""Whether a queue manager has a computer of this name."""
EXAMPLE = r".\private$\orders"


def absolute(name: str, computer: str) -> str:
    """Return a name, or several separated by commas, with the computer that a leading . means, and
    localhost, which means each machine itself; computer "": as it is.
    """
    return _each(name, lambda one: _of_computer(one, computer)) if computer else name


def _of_computer(name: str, computer: str) -> str:
    found = HOST.match(name)
    if found is None or not (found[2] == HERE or _is_loopback(found[2])):
        return name
    return f"{'DIRECT=OS:' if found[1] else ''}{computer}{name[found.end() :]}"


def here_as_dot(name: str, is_known: IsKnown) -> str:
    """Return a name, or several separated by commas, with a leading . in place of what means this
    machine.

    is_known: whether a queue manager has a computer, which its name means then.
    """
    return _each(name, lambda one: _with_dot(one, is_known))


def _with_dot(name: str, is_known: IsKnown) -> str:
    found = HOST.match(name)
    if found is None or found[2] == HERE or not means_here(found[2], is_known):
        return name
    return f"{'DIRECT=OS:' if found[1] else ''}{HERE}{name[found.end() :]}"


def _each(name: str, change: Callable[[str], str]) -> str:
    """Change each of the names that commas separate. What is changed has no prefix FormatName:."""
    if not name:
        return name  # most messages name no queue
    if COMMA not in name:
        return _keep_unless_changed(name, change)
    return COMMA.join(_keep_unless_changed(one, change) for one in name.split(COMMA))


def _keep_unless_changed(name: str, change: Callable[[str], str]) -> str:
    plain = PREFIX.sub("", name, count=1).strip()
    changed = change(plain)
    return name if changed == plain else changed


def no_computer(_: str) -> bool:
    """Know no computer."""
    return False


def is_of_several(name: str) -> bool:
    """Whether a text is the names of several queues, separated by commas."""
    return COMMA in name


def means_here(host: str, is_known: IsKnown) -> bool:
    """Whether this machine is meant: by localhost, an address, or its name with domain or without,
    unless a computer is known by this name.
    """
    return is_local_address(host) or (_is_host_name(host) and not is_known(host))


def _is_host_name(host: str) -> bool:
    said, own = host.casefold(), socket.gethostname().casefold()
    short = own.partition(".")[0]
    if said in (own, short):
        return True
    # Only names that may be this machine's are worth asking the resolver, which may take seconds.
    return said.startswith(f"{short}.") and said == socket.getfqdn().casefold()


def _is_loopback(host: str) -> bool:
    """Whether a name means each machine itself, and not one of them."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.casefold() == "localhost"


def is_local_address(host: str) -> bool:
    """Whether it is localhost, or an address of this machine."""
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
    if stripped and PREFIX.match(name) and not is_format_name(stripped):
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
        return not set(parse(name, HERE).queue) & {"\\", ";"}
    except Refusal:
        return False
