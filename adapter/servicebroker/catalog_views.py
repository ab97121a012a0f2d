"""SELECT from the views of the catalog: services, contracts, message types, queues, routes, ...

Columns are named as in SQL Server. Where that has the id of an object, a row has its name, in a
column without `_id`. This module does not know what an object is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from msgspec import Struct

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.servicebroker.catalog import ServiceQueue, service_queue
from adapter.servicebroker.statements import Handle, as_guid
from adapter.servicebroker.views import Views

LOCAL = "LOCAL"
VALIDATIONS = {
    "NONE": ("N", "NONE"),
    "EMPTY": ("E", "EMPTY"),
    "WELL_FORMED_XML": ("X", "XML"),
    "VALID_XML": ("X", "XML"),
}
"""The columns validation and validation_desc, by what a message type was created with."""


class ServiceRow(Struct, frozen=True):
    """A row of sys.services."""

    name: str
    service_queue: str


class ContractRow(Struct, frozen=True):
    """A row of sys.service_contracts."""

    name: str


class MessageTypeRow(Struct, frozen=True):
    """A row of sys.service_message_types. validation: N, E or X; validation_desc: NONE, EMPTY or
    XML. xml_collection: the XML schema of VALID_XML, else None.
    """

    name: str
    validation: str
    validation_desc: str
    xml_collection: str | None


class ContractMessageUsageRow(Struct, frozen=True):
    """A row of sys.service_contract_message_usages."""

    service_contract: str
    message_type: str
    is_sent_by_initiator: bool
    is_sent_by_target: bool


class ContractUsageRow(Struct, frozen=True):
    """A row of sys.service_contract_usages: by which contracts a service is a target."""

    service: str
    service_contract: str


class QueueUsageRow(Struct, frozen=True):
    """A row of sys.service_queue_usages."""

    service: str
    service_queue: str


class RouteRow(Struct, frozen=True):
    """A row of sys.routes. remote_service_name: None: of any service. address: the name of a queue
    manager, or LOCAL.
    """

    name: str
    remote_service_name: str | None
    address: str


class PriorityRow(Struct, frozen=True):
    """A row of sys.conversation_priorities. None: any."""

    name: str
    service_contract: str | None
    local_service: str | None
    remote_service_name: str | None
    priority: int


class EventNotificationRow(Struct, frozen=True):
    """A row of sys.event_notifications. parent: the queue that the event is about; None: any.
    service_queue: the queue that the event is put to.
    """

    name: str
    event: str
    parent: str | None
    service_queue: str


class ConversationGroupRow(Struct, frozen=True):
    """A row of sys.conversation_groups. conversations: endpoints of the group. is_locked: by a
    transaction.
    """

    conversation_group_id: UUID
    service_queue: str
    conversations: int
    is_locked: bool


class QueueMonitorRow(Struct, frozen=True):
    """A row of sys.dm_broker_queue_monitors, for a queue that has activation turned on.

    state: NOTIFIED: it has messages, and no reader waits for them; RECEIVES_OCCURRING: open
    transactions have received from it; INACTIVE: neither.
    """

    queue: str
    state: str


class CatalogViews(Views):
    """The views of the catalog. Each shows all rows, in the order of their names."""

    def services(self) -> list[ServiceRow]:
        """SELECT * FROM sys.services."""
        return [ServiceRow(*row) for row in self._rows(kinds.SERVICE, "queue")]

    def service_queues(self) -> list[ServiceQueue]:
        """SELECT * FROM sys.service_queues."""
        return [service_queue(one) for one in self._all(kinds.QUEUE)]

    def service_queue_usages(self) -> list[QueueUsageRow]:
        """SELECT * FROM sys.service_queue_usages."""
        return [QueueUsageRow(*row) for row in self._rows(kinds.SERVICE, "queue")]

    def service_contracts(self) -> list[ContractRow]:
        """SELECT * FROM sys.service_contracts."""
        return [ContractRow(*row) for row in self._rows(kinds.CONTRACT)]

    def service_contract_usages(self) -> list[ContractUsageRow]:
        """SELECT * FROM sys.service_contract_usages."""
        return [
            ContractUsageRow(service, contract)
            for service, contracts in self._rows(kinds.SERVICE, "contracts")
            for contract in kinds.names(contracts)
        ]

    def service_message_types(self) -> list[MessageTypeRow]:
        """SELECT * FROM sys.service_message_types."""
        return [
            MessageTypeRow(name, *VALIDATIONS[validation], schema or None)
            for name, validation, schema in self._rows(kinds.MESSAGE_TYPE, "validation", "schema")
        ]

    def service_contract_message_usages(self) -> list[ContractMessageUsageRow]:
        """SELECT * FROM sys.service_contract_message_usages."""
        sides = ("by_initiator", True, False), ("by_target", False, True), ("by_any", True, True)
        return [
            ContractMessageUsageRow(one.name, message_type, by_initiator, by_target)
            for one in self._all(kinds.CONTRACT)
            for by, by_initiator, by_target in sides
            for message_type in kinds.names(one.attributes[by])
        ]

    def routes(self) -> list[RouteRow]:
        """SELECT * FROM sys.routes."""
        return [
            RouteRow(name, service or None, address or LOCAL)
            for name, service, address in self._rows(kinds.ROUTE, "service", "address")
        ]

    def conversation_priorities(self) -> list[PriorityRow]:
        """SELECT * FROM sys.conversation_priorities."""
        columns = "contract", "local_service", "remote_service", "level"
        return [
            PriorityRow(name, contract or None, local or None, remote or None, level)
            for name, contract, local, remote, level in self._rows(kinds.PRIORITY, *columns)
        ]

    def event_notifications(self) -> list[EventNotificationRow]:
        """SELECT * FROM sys.event_notifications."""
        return [
            EventNotificationRow(name, event, parent or None, queue)
            for name, event, parent, queue in self._rows(
                kinds.NOTIFICATION, "event", "object", "queue"
            )
        ]

    def remote_service_bindings(self) -> list[object]:
        """SELECT * FROM sys.remote_service_bindings: always [], as there is no dialog security."""
        return []

    def conversation_groups(self) -> list[ConversationGroupRow]:
        """SELECT * FROM sys.conversation_groups."""
        return [
            ConversationGroupRow(UUID(hex=ident), queue, conversations, locked)
            for ident, queue, conversations, locked in self._rows(
                b.GROUPS, "queue", "conversations", "locked"
            )
        ]

    def dm_broker_queue_monitors(self) -> list[QueueMonitorRow]:
        """SELECT * FROM sys.dm_broker_queue_monitors: queues that have activation turned on."""
        columns = "activation_procedure", "activation_status", "activation_needed", "receiving"
        return [
            QueueMonitorRow(name, _state(needed, receiving))
            for name, procedure, status, needed, receiving in self._rows(kinds.QUEUE, *columns)
            if procedure and status
        ]

    def transmission_status(self, handle: Handle) -> str | None:
        """GET_TRANSMISSION_STATUS: why messages that a conversation's side has sent wait here.

        Empty: none of them waits. None: the handle is not known. It reads transmission_queue() up
        to the first of them: for many conversations, read that once.
        """
        endpoint = self._endpoint_of(UUID(bytes=as_guid(handle)))
        if endpoint is None:
            return None
        side = endpoint.conversation_id, endpoint.is_initiator
        for one in self._transmission():
            if (one.conversation_id, one.is_initiator) == side:
                return one.transmission_status
        return ""

    def _rows(self, kind: str, *columns: str) -> Iterator[list[Any]]:
        """Iterate over the objects of a kind: of each its name, and some of its attributes."""
        for one in self._all(kind):
            yield [one.name, *(one.attributes[column] for column in columns)]


def _state(needed: bool, receiving: int) -> str:
    if needed:
        return "NOTIFIED"
    return "RECEIVES_OCCURRING" if receiving else "INACTIVE"
