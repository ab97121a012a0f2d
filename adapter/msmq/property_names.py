"""Which properties messages and queues have, for programs that set another: an error names the
property that is meant, or says why mqk does not have it. This module knows no message and no queue.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, ClassVar

SECURITY = (
    "messages are neither signed nor encrypted one by one: users are authenticated, and encryption "
    "is set, on the connection"
)
FOREIGN = "there are no report queues and no connectors to foreign systems"
NO_DIRECTORY = "there are no public queues and no multicast: queues are found by their paths"
EVENTS = "use the Future of begin_receive() or begin_peek(), and its add_done_callback()"
HANDLES = "handles are kept, and opened again by themselves"
ABSENT: dict[str, str] = {
    **dict.fromkeys(
        ("authenticate", "authenticated", "attachsenderid", "authenticationprovidername",
         "authenticationprovidertype", "destinationsymmetrickey", "digitalsignature",
         "encryptionalgorithm", "encryptionrequired", "hashalgorithm", "sendercertificate",
         "senderid", "useauthentication", "useencryption"),
        SECURITY,
    ),
    **dict.fromkeys(("usetracing", "connectortype", "transactionstatusqueue"), FOREIGN),
    **dict.fromkeys(("id", "multicastaddress"), NO_DIRECTORY),
    **dict.fromkeys(("synchronizingobject", "receivecompleted", "peekcompleted"), EVENTS),
    **dict.fromkeys(("enableconnectioncache", "readhandle", "writehandle"), HANDLES),
    "bodystream": "a body is bytes: set body, and read body_bytes",
    "senderversion": "there is no version of a sender",
}  # fmt: skip
"""Properties of System.Messaging that mqk does not have, and why: without case and underlines."""
RENAMED = {"maximumjournalsize": "journal_quota_kb", "maximumqueuesize": "maximum_queue_size_kb"}


class KnownProperties:
    """Of an object whose properties are set by name: setting another raises AttributeError.

    _what: the object, for the error. _own_attributes: what it has beside its class's properties.
    """

    _what: ClassVar[str] = "the object"
    _own_attributes: ClassVar[frozenset[str]] = frozenset()

    def __setattr__(self, name: str, value: Any) -> None:
        mine = type(self)
        if name[:1] != "_" and name not in mine._own_attributes and not hasattr(mine, name):
            raise AttributeError(unknown_property(mine, name))
        object.__setattr__(self, name, value)


def unknown_property(kind: type[KnownProperties], name: str) -> str:
    """Say that there is no such property, and which one is meant, or why it is not there."""
    happened = f"{kind._what} has no property {name!r} that can be set"
    key = name.replace("_", "").lower()
    known = {one.replace("_", "").lower(): one for one in settable(kind)}
    found = known.get(key) or RENAMED.get(key)
    if found not in known.values():
        found = None
    if found is None and key in ABSENT:
        return f"{happened}: {ABSENT[key]}"
    near = [found] if found else get_close_matches(name.lower(), known.values(), n=1)
    return f"{happened}: did you mean {near[0]}?" if near else f"{happened}: check its name"


def settable(kind: type[KnownProperties]) -> list[str]:
    """Return the names of the properties that programs set."""
    found = {name for one in kind.__mro__ for name, value in vars(one).items() if _is_set(value)}
    return sorted(found | kind._own_attributes)


def _is_set(value: object) -> bool:
    if isinstance(value, property):
        return value.fset is not None
    return getattr(value, "is_settable", False) is True
