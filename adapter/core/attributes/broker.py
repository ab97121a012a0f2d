"""The objects of Service Broker's catalog, by kind, and their attributes.

A queue of Service Broker is a local queue with attributes of its own. Texts that name other objects
are lists, one name a line, because a name may have any other character. This module does not know
what a rule makes of them.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from adapter.core.attributes.queue import QUEUE_ATTRIBUTES, QueueAttributes
from adapter.core.attributes.table import Attribute, Dated, Table, rows_of

KIND = "broker"
NAME_LENGTH_MAX = 128  # sysname
SCHEMA_LENGTH_MAX = 1 << 20
READERS_MAX = 32_767
PRIORITY_DEFAULT = 5
ROLLBACKS_MAX = 5
"""Consecutive ones, after which a queue is turned off."""

MESSAGE_TYPE, CONTRACT, QUEUE, SERVICE = "message_type", "contract", "queue", "service"
ROUTE, PRIORITY, NOTIFICATION = "route", "broker_priority", "event_notification"


def _own(meaning: str, low: int | None = None, high: int | None = None) -> Attribute:
    """Describe an attribute that MQSC and PCF do not show."""
    return Attribute("", 0, meaning, low=low, high=high)


def _text(meaning: str, length: int = NAME_LENGTH_MAX) -> Attribute:
    return Attribute("", 0, meaning, length=length)


def _choice(meaning: str) -> Attribute:
    return Attribute("", 0, meaning)


class BrokerAttributes(QueueAttributes, kw_only=True):
    """The attributes of a queue of Service Broker.

    kind: what a record of a queue says of its kind. display_name: as it was created.
    rollback_count: how many transactions that received from it have rolled back since one was
    committed, or since the queue was turned on.
    """

    kind: str = KIND
    display_name: str = ""
    rollback_count: int = 0
    status: Annotated[bool, _own("it is ON: messages are added and received")] = True
    retention: Annotated[bool, _own("messages are kept until their conversations end")] = False
    poison_message_handling: Annotated[bool, _own("five rollbacks in a row turn the queue off")] = (
        True
    )
    activation_procedure: Annotated[str, _text("what is started for its messages", 1_000)] = ""
    activation_status: Annotated[bool, _own("the procedure is started")] = True
    max_queue_readers: Annotated[int, _own("how many run at once", 0, READERS_MAX)] = 0


class MessageTypeAttributes(Dated):
    """What bodies a message type has: NONE, EMPTY, WELL_FORMED_XML or VALID_XML by a schema."""

    validation: Annotated[str, _choice("NONE, EMPTY, WELL_FORMED_XML or VALID_XML")] = "NONE"
    schema: Annotated[str, _text("the XML schema of VALID_XML", SCHEMA_LENGTH_MAX)] = ""


class ContractAttributes(Dated):
    """Which message types a conversation has, by who sends them; each a list."""

    by_initiator: Annotated[str, _text("types that the initiator sends", SCHEMA_LENGTH_MAX)] = ""
    by_target: Annotated[str, _text("types that the target sends", SCHEMA_LENGTH_MAX)] = ""
    by_any: Annotated[str, _text("types that both send", SCHEMA_LENGTH_MAX)] = ""


class ServiceAttributes(Dated):
    """A service's queue, and the contracts by which others begin dialogs with it, a list."""

    queue: Annotated[str, _text("its queue")] = ""
    contracts: Annotated[str, _text("what it is a target by", SCHEMA_LENGTH_MAX)] = ""


class RouteAttributes(Dated):
    """Where a service is: at a queue manager, or an export; empty: at this queue manager."""

    service: Annotated[str, _text("the service's name; empty: any service")] = ""
    address: Annotated[
        str, _text("a queue manager's name, or EXPORT:// and an export's; empty: here", 57)
    ] = ""


class PriorityAttributes(Dated):
    """Which conversations have a priority; an empty name means any."""

    contract: Annotated[str, _text("the contract's name")] = ""
    local_service: Annotated[str, _text("the name of the service on this side")] = ""
    remote_service: Annotated[str, _text("the name of the service on the other side")] = ""
    level: Annotated[int, _own("the priority", 1, 10)] = PRIORITY_DEFAULT


class NotificationAttributes(Dated):
    """Which event is put to which queue. object: the queue it is about; empty: any."""

    event: Annotated[str, _choice("BROKER_QUEUE_DISABLED or QUEUE_ACTIVATION")] = ""
    queue: Annotated[str, _text("where it is put")] = ""
    object: Annotated[str, _text("the queue that it is about")] = ""


TYPES: dict[str, type[Struct]] = {
    MESSAGE_TYPE: MessageTypeAttributes,
    CONTRACT: ContractAttributes,
    SERVICE: ServiceAttributes,
    ROUTE: RouteAttributes,
    PRIORITY: PriorityAttributes,
    NOTIFICATION: NotificationAttributes,
}
"""Of the objects that are no queues."""

PREFIX = "broker_"
"""What records put before the kind of an object of the catalog."""

TABLES: dict[str, Table] = {kind: rows_of(attributes) for kind, attributes in TYPES.items()} | {
    QUEUE: {
        name: row for name, row in rows_of(BrokerAttributes).items() if name not in QUEUE_ATTRIBUTES
    }
}


def names(text: str) -> list[str]:
    """Read a list of names."""
    return text.split("\n") if text else []
