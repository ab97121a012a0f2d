"""CREATE, ALTER and DROP. This module does not know what an object is for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, Done, QueueDescription
from adapter.servicebroker import arguments as a
from adapter.servicebroker.errors import InvalidArgument, InvalidArgumentType

PRIORITY_NUMBERS = {Reason.OBJECT_EXISTS: 33303, Reason.ATTRIBUTE_ERROR: 33302}
"""SQL Server's numbers for CREATE and ALTER BROKER PRIORITY."""
SENDERS = {"INITIATOR": "by_initiator", "TARGET": "by_target", "ANY": "by_any"}


class QueueActivation(Struct, frozen=True):
    """ACTIVATION: what is started for the messages of a queue, and how many at once.

    procedure: a program, or a Python callable as "module:function".
    """

    procedure: str
    max_queue_readers: int = 1
    status: bool = True


class ServiceQueue(Struct, frozen=True):
    """A queue as sys.service_queues shows it.

    rollback_count: transactions that received from it and rolled back in a row. message_count:
    what is on it, received in a transaction or not. receiving: transactions that have received from
    it.
    """

    name: str
    status: bool
    retention: bool
    is_poison_message_handling_enabled: bool
    rollback_count: int
    activation: QueueActivation | None
    message_count: int
    receiving: int

    @property
    def is_receive_enabled(self) -> bool:
        """Whether its status is ON."""
        return self.status

    @property
    def is_enqueue_enabled(self) -> bool:
        """Whether its status is ON."""
        return self.status

    @property
    def is_retention_enabled(self) -> bool:
        """Whether its retention is ON."""
        return self.retention

    @property
    def is_activation_enabled(self) -> bool:
        """Whether it has an activation procedure, and activation is ON."""
        return self.activation is not None and self.activation.status

    @property
    def activation_procedure(self) -> str | None:
        """What is started for its messages."""
        return None if self.activation is None else self.activation.procedure

    @property
    def max_readers(self) -> int:
        """How many readers run at once."""
        return 0 if self.activation is None else self.activation.max_queue_readers


class Catalog(ABC):
    """The statements on the catalog: each takes effect at once, and is part of no transaction."""

    @abstractmethod
    def _ask(
        self, command: Any, kind: Any, *, numbers: Mapping[Reason, int] | None = None
    ) -> Any: ...

    def _create(self, kind: str, name: str, attributes: dict[str, Any]) -> None:
        command = b.BrokerCreate(kind, a.as_new(kind, name), attributes)
        self._ask(command, Done, numbers=_numbers_of(kind))

    def _alter(self, kind: str, name: str, attributes: dict[str, Any]) -> None:
        command = b.BrokerAlter(kind, _check_name(kind, name), attributes)
        self._ask(command, Done, numbers=_numbers_of(kind))

    def _drop(self, kind: str, name: str) -> None:
        self._ask(b.BrokerDrop(kind, _check_name(kind, name)), Done)

    def create_message_type(
        self, name: str, *, validation: str = "NONE", schema: str | None = None
    ) -> None:
        """CREATE MESSAGE TYPE. validation: NONE, EMPTY, WELL_FORMED_XML, or VALID_XML by an XML
        schema.
        """
        self._create(kinds.MESSAGE_TYPE, name, _validation(validation, schema))

    def alter_message_type(self, name: str, *, validation: str, schema: str | None = None) -> None:
        """ALTER MESSAGE TYPE."""
        self._alter(kinds.MESSAGE_TYPE, name, _validation(validation, schema))

    def create_contract(self, name: str, message_types: Mapping[str, str]) -> None:
        """CREATE CONTRACT: who sends each message type, INITIATOR, TARGET or ANY."""
        if not isinstance(message_types, Mapping):
            raise InvalidArgumentType(
                f"message_types maps names to INITIATOR, TARGET or ANY, not {message_types!r}"
            )
        sent: dict[str, list[str]] = {field: [] for field in SENDERS.values()}
        for message_type, sender in message_types.items():
            field = SENDERS.get(a.as_option("SENT BY", sender))
            if field is None:
                raise InvalidArgument(f"SENT BY is INITIATOR, TARGET or ANY, not {sender!r}")
            sent[field].append(message_type)
        attributes = {field: _join("message type", names) for field, names in sent.items()}
        self._create(kinds.CONTRACT, name, attributes)

    def create_queue(
        self,
        name: str,
        *,
        status: bool = True,
        retention: bool = False,
        poison_message_handling: bool = True,
        activation: QueueActivation | None = None,
    ) -> None:
        """CREATE QUEUE. status: ON. Names of queues are not case-sensitive."""
        attributes = {
            "status": status,
            "retention": retention,
            "poison_message_handling": poison_message_handling,
        }
        self._create(kinds.QUEUE, name, attributes | _activation(activation))

    def alter_queue(
        self,
        name: str,
        *,
        status: bool | None = None,
        retention: bool | None = None,
        poison_message_handling: bool | None = None,
        activation: QueueActivation | None = None,
    ) -> None:
        """ALTER QUEUE: what is not given stays. status=True sets rollback_count to 0."""
        given = {
            "status": status,
            "retention": retention,
            "poison_message_handling": poison_message_handling,
        }
        attributes = {name: value for name, value in given.items() if value is not None}
        if activation is not None:
            attributes |= _activation(activation)
        self._alter(kinds.QUEUE, name, attributes)

    def create_service(self, name: str, queue: str, *, contracts: Iterable[str] = ()) -> None:
        """CREATE SERVICE. contracts: by which others begin dialogs with it; without any it only
        begins dialogs itself.
        """
        attributes = {"queue": a.as_queue(queue), "contracts": _contracts(contracts)}
        self._create(kinds.SERVICE, name, attributes)

    def alter_service(
        self, name: str, *, queue: str | None = None, contracts: Iterable[str] | None = None
    ) -> None:
        """ALTER SERVICE: what is not given stays. Conversations that have begun stay on their
        queue, with what they receive later.
        """
        attributes = {}
        if queue is not None:
            attributes["queue"] = a.as_queue(queue)
        if contracts is not None:
            attributes["contracts"] = _contracts(contracts)
        self._alter(kinds.SERVICE, name, attributes)

    def create_route(self, name: str, *, service: str = "", address: str = "LOCAL") -> None:
        """CREATE ROUTE: a service (empty: any) is at a queue manager, whose name is the address;
        LOCAL: at this one. EXPORT://NAME: its messages are written to the topic of an export.
        """
        self._create(
            kinds.ROUTE,
            name,
            {"service": a.as_name("service", service), "address": _address(address)},
        )

    def alter_route(
        self, name: str, *, service: str | None = None, address: str | None = None
    ) -> None:
        """ALTER ROUTE: what is not given stays."""
        attributes = {}
        if service is not None:
            attributes["service"] = a.as_name("service", service)
        if address is not None:
            attributes["address"] = _address(address)
        self._alter(kinds.ROUTE, name, attributes)

    def create_broker_priority(
        self,
        name: str,
        level: int,
        *,
        contract: str = "",
        local_service: str = "",
        remote_service: str = "",
    ) -> None:
        """CREATE BROKER PRIORITY: of the conversations that begin from now on; empty: any."""
        attributes = {
            "contract": a.as_name("contract", contract),
            "local_service": a.as_name("local_service", local_service),
            "remote_service": a.as_name("remote_service", remote_service),
            "level": level,
        }
        self._create(kinds.PRIORITY, name, attributes)

    def alter_broker_priority(
        self,
        name: str,
        level: int | None = None,
        *,
        contract: str | None = None,
        local_service: str | None = None,
        remote_service: str | None = None,
    ) -> None:
        """ALTER BROKER PRIORITY: what is not given stays; empty: any. Conversations that have begun
        keep their priority.
        """
        given = {
            "contract": contract,
            "local_service": local_service,
            "remote_service": remote_service,
        }
        attributes: dict[str, Any] = {
            one: a.as_name(one, value) for one, value in given.items() if value is not None
        }
        if level is not None:
            attributes["level"] = level
        self._alter(kinds.PRIORITY, name, attributes)

    def create_event_notification(
        self, name: str, queue: str, *, event: str = b.QUEUE_DISABLED, on_queue: str = ""
    ) -> None:
        """CREATE EVENT NOTIFICATION: put a message about an event to a queue. on_queue: the queue
        that the event is about, which exists; empty: any.
        """
        attributes = {
            "event": a.as_option("event", event),
            "queue": a.as_queue(queue),
            "object": a.as_queue(on_queue),
        }
        self._create(kinds.NOTIFICATION, name, attributes)

    def drop_message_type(self, name: str) -> None:
        """DROP MESSAGE TYPE: not while a contract has it."""
        self._drop(kinds.MESSAGE_TYPE, name)

    def drop_contract(self, name: str) -> None:
        """DROP CONTRACT: not while a service has it."""
        self._drop(kinds.CONTRACT, name)

    def drop_queue(self, name: str) -> None:
        """DROP QUEUE: not while a service uses it, or an event notification puts events on it. The
        notifications about it go with it.
        """
        self._drop(kinds.QUEUE, name)

    def drop_service(self, name: str) -> None:
        """DROP SERVICE: its conversations end, and the other sides get an Error (-8470)."""
        self._drop(kinds.SERVICE, name)

    def drop_route(self, name: str) -> None:
        """DROP ROUTE."""
        self._drop(kinds.ROUTE, name)

    def drop_broker_priority(self, name: str) -> None:
        """DROP BROKER PRIORITY."""
        self._drop(kinds.PRIORITY, name)

    def drop_event_notification(self, name: str) -> None:
        """DROP EVENT NOTIFICATION."""
        self._drop(kinds.NOTIFICATION, name)

    def queue(self, name: str) -> ServiceQueue:
        """Return a queue as it is now."""
        command = b.BrokerInquire(kinds.QUEUE, a.as_queue(name))
        return service_queue(self._ask(command, Descriptions).queues[0])


def service_queue(one: QueueDescription) -> ServiceQueue:
    """Make a row of sys.service_queues."""
    shown = one.attributes
    procedure = shown["activation_procedure"]
    return ServiceQueue(
        one.name,
        shown["status"],
        shown["retention"],
        shown["poison_message_handling"],
        shown["rollback_count"],
        QueueActivation(procedure, shown["max_queue_readers"], shown["activation_status"])
        if procedure
        else None,
        shown["message_count"],
        shown["receiving"],
    )


def _join(kind: str, names: Iterable[str]) -> str:
    """Write a list of names, one a line."""
    found = [a.as_name(kind, name) for name in names]
    for name in found:
        if not name or "\n" in name:
            raise InvalidArgument(f"{name!r} is not the name of a {kind}: leave it out")
    return "\n".join(found)


def _numbers_of(kind: str) -> Mapping[Reason, int] | None:
    return PRIORITY_NUMBERS if kind == kinds.PRIORITY else None


def _contracts(names: Iterable[str]) -> str:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidArgumentType(f"give a list of names, not the {type(names).__name__} {names!r}")
    return _join("contract", names)


def _check_name(kind: str, name: str) -> str:
    return a.as_queue(name) if kind == kinds.QUEUE else a.as_name("name", name)


def _activation(activation: QueueActivation | None) -> dict[str, Any]:
    if activation is None:
        return {}
    if not isinstance(activation, QueueActivation):
        raise InvalidArgumentType(f"activation is a QueueActivation, not {activation!r}")
    return {
        "activation_procedure": activation.procedure,
        "max_queue_readers": activation.max_queue_readers,
        "activation_status": activation.status,
    }


def _address(address: str) -> str:
    word = a.as_option("address", address)
    if word.startswith(b.EXPORT_ADDRESS):
        return b.EXPORT_ADDRESS + address[len(b.EXPORT_ADDRESS) :]
    return "" if word == "LOCAL" else address


def _validation(validation: str, schema: str | None) -> dict[str, Any]:
    return {"validation": a.as_option("validation", validation), "schema": schema or ""}
