"""Names of queues, as MSMQ programs give them: path names and format names.

What a name means is decided in core; here it is only checked to be text, and its prefix FormatName:
of System.Messaging removed.
"""

from __future__ import annotations

import re

from adapter.channel.plain_arguments import WrongArgument, WrongArgumentType

PREFIX = re.compile(r"\s*formatname:\s*", re.IGNORECASE)
DOT = re.compile(r"^((?:DIRECT=OS:)?)\.(?=\\)", re.IGNORECASE)
EXAMPLE = r".\private$\orders"


def absolute(name: str, computer: str) -> str:
    """Return a name with the computer that a leading . means; computer "": as it is."""
    return DOT.sub(lambda found: found[1] + computer, name) if computer else name


def as_queue_name(name: object, what: str = "path") -> str:
    """Take a path name or a format name."""
    if not isinstance(name, str):
        raise WrongArgumentType(f"{what} is a str such as {EXAMPLE}, not {name!r}")
    stripped = PREFIX.sub("", name, count=1).strip()
    if not stripped:
        raise WrongArgument(f"{what} is the path of a queue, such as {EXAMPLE}, and is not empty")
    return stripped
