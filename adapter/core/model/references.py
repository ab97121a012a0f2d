"""Which objects name which others: an index for the rules' questions.

Every object of Service Broker's catalog has keys, by which those are found that concern a message
type, a contract, a queue, a service, an event or the parties of a conversation; a receiver channel
has the queue manager that it receives from. So no question walks over all objects. This module does
not know what follows from a reference.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.attributes import broker as kinds
from adapter.core.attributes.objects import ChannelAttributes
from adapter.core.model.broker_queue import key_of

Reference = tuple[str, ...]
"""A kind of object, and what is referred to."""
RECEIVER: Final = "receiver"
NOTIFIED: Final = "notified"
"""Of event notifications: the queue that events are put to."""
_NOTHING: Final[dict[str, Struct]] = {}


class References:
    """The objects that have a key, by name."""

    __slots__ = ("_by_key",)

    def __init__(self) -> None:
        self._by_key: dict[Reference, dict[str, Struct]] = {}

    def add(self, name: str, attributes: Struct) -> None:
        """Note an object. Objects of other kinds have no keys."""
        for key in _keys(attributes):
            self._by_key.setdefault(key, {})[name] = attributes

    def remove(self, name: str, attributes: Struct) -> None:
        """Forget an object: it is deleted, or its attributes will change."""
        for key in _keys(attributes):
            found = self._by_key[key]
            del found[name]
            if not found:
                del self._by_key[key]

    def first(self, key: Reference) -> str | None:
        """Return the name of an object that has a key: the first by name, so that it stays the same
        after a restart; None if no object has it.
        """
        return min(self._by_key.get(key, ()), default=None)

    def find(self, key: Reference) -> dict[str, Struct]:
        """Return the objects that have a key, by name."""
        return self._by_key.get(key, _NOTHING)


def _keys(attributes: Struct) -> set[Reference]:
    """Return the keys of an object."""
    match attributes:
        case ChannelAttributes(channel_type="RCVR", queue_manager=source) if source:
            return {(RECEIVER, source)}
        case kinds.ContractAttributes(by_initiator=own, by_target=far, by_any=both):
            return {
                (kinds.MESSAGE_TYPE, one) for text in (own, far, both) for one in kinds.names(text)
            }
        case kinds.ServiceAttributes(queue=queue, contracts=contracts):
            accepted = {(kinds.CONTRACT, one) for one in kinds.names(contracts)}
            return accepted | {(kinds.QUEUE, key_of(queue))}
        case kinds.RouteAttributes(service=service):
            return {(kinds.ROUTE, service)}
        case kinds.PriorityAttributes(contract=by, local_service=local, remote_service=remote):
            return {(kinds.PRIORITY, by, local, remote)}
        case kinds.NotificationAttributes(event=event, object=queue, queue=to):
            about = kinds.NOTIFICATION, event, key_of(queue) if queue else ""
            return {about, (NOTIFIED, key_of(to))}
    return set()
