"""SELECT: what is on queues, which conversations there are, what is in transmission. It changes
nothing. This module does not know what a statement means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from adapter.core.contract import broker as b
from adapter.core.contract.broker_header import RETAINED_RECEIVED, RETAINED_SENT
from adapter.core.contract.results import Descriptions, Messages, QueueDescription
from adapter.servicebroker import arguments as a
from adapter.servicebroker.rows import Row, row_of

ROWS_PER_ANSWER = 500
SHORT_ROWS = (b.ENDPOINTS, b.GROUPS)
"""Of these no answer ends by bytes: a short one is the last. There may be a million of them, and
one more question would have them sorted again."""


class EndpointRow(Struct, frozen=True):
    """A row of sys.conversation_endpoints. state: SO, CO, DI, DO or ER. lifetime: None: without
    limit.
    """

    conversation_handle: UUID
    conversation_id: UUID
    conversation_group_id: UUID
    is_initiator: bool
    service_name: str
    queue: str
    contract: str
    far_service: str
    far_broker_instance: str
    state: str
    priority: int
    lifetime: datetime | None
    dialog_timer: datetime | None
    send_sequence: int


class TransmissionRow(Struct, frozen=True):
    """A row of sys.transmission_queue. transmission_status: why it waits.

    message_body: None: the body is empty, or is left out: as it has more than 8,000 bytes, or as
    who asks may not browse the queue to which the message goes. message_body_length: of the
    message, also if its body is left out.
    """

    conversation_id: UUID
    is_initiator: bool
    from_service_name: str
    to_service_name: str
    service_contract_name: str
    message_type_name: str
    message_sequence_number: int
    enqueue_time: datetime
    message_body: bytes | None
    transmission_status: str
    message_body_length: int = 0


class Views(ABC):
    """The views."""

    @abstractmethod
    def _ask(self, command: Any, kind: Any) -> Any: ...

    def browse(self, queue: str) -> list[Row]:
        """SELECT * FROM queue: rows in queuing order, retained ones last; also while it is OFF."""
        return list(self._browse(queue))

    def _browse(self, queue: str, conversation: bytes = b"") -> Iterator[Row]:
        """Iterate over the rows of a queue. conversation: only of this one."""
        name, after = a.as_queue(queue), 0
        while True:
            command = b.BrokerBrowse(name, after, ROWS_PER_ANSWER, conversation)
            found = [row_of(one) for one in self._ask(command, Messages).messages]
            yield from found
            if not found:
                return
            is_retained = found[-1].status in (RETAINED_RECEIVED, RETAINED_SENT)
            after = -found[-1].queuing_order if is_retained else found[-1].queuing_order

    def conversation_endpoints(self) -> list[EndpointRow]:
        """SELECT * FROM sys.conversation_endpoints."""
        return [_endpoint(one.attributes) for one in self._all(b.ENDPOINTS)]

    def _endpoint_of(self, handle: UUID) -> EndpointRow | None:
        """SELECT ... WHERE conversation_handle = handle."""
        return next(iter(self._endpoints(b.ENDPOINTS, handle)), None)

    def _sides_of(self, conversation: UUID) -> list[EndpointRow]:
        """SELECT ... WHERE conversation_id = conversation."""
        return self._endpoints(b.SIDES, conversation)

    def _endpoints(self, kind: str, name: UUID) -> list[EndpointRow]:
        found = self._ask(b.BrokerInquire(kind, name.hex), Descriptions).queues
        return [_endpoint(one.attributes) for one in found]

    def transmission_queue(self) -> list[TransmissionRow]:
        """SELECT * FROM sys.transmission_queue."""
        return list(self._transmission())

    def _transmission(self) -> Iterator[TransmissionRow]:
        return (_transmission(one.attributes) for one in self._all(b.TRANSMISSION))

    def _all(self, kind: str) -> Iterator[QueueDescription]:
        after = ""
        while True:
            command = b.BrokerInquire(kind, "", after, ROWS_PER_ANSWER)
            found = self._ask(command, Descriptions).queues
            yield from found
            if not found or (kind in SHORT_ROWS and len(found) < ROWS_PER_ANSWER):
                return
            after = (found[-1].attributes or {}).get("key", found[-1].name)


def _time(time_ms: int) -> datetime | None:
    return datetime.fromtimestamp(time_ms / 1000, UTC) if time_ms else None


def _endpoint(shown: dict[str, Any]) -> EndpointRow:
    return EndpointRow(
        UUID(hex=shown["handle"]),
        UUID(hex=shown["conversation"]),
        UUID(hex=shown["group"]),
        shown["is_initiator"],
        shown["service"],
        shown["queue"],
        shown["contract"],
        shown["far_service"],
        shown["far_queue_manager"],
        shown["state"],
        shown["priority"],
        _time(shown["lifetime_ms"]),
        _time(shown["timer_ms"]),
        shown["sent"],
    )


def _transmission(shown: dict[str, Any]) -> TransmissionRow:
    return TransmissionRow(
        UUID(hex=shown["conversation"]),
        shown["is_initiator"],
        shown["from_service"],
        shown["to_service"],
        shown["contract"],
        shown["message_type"],
        shown["sequence"],
        datetime.fromtimestamp(shown["enqueue_ms"] / 1000, UTC),
        bytes.fromhex(shown["body"]) or None,
        shown["status"],
        shown.get("length", len(shown["body"]) // 2),  # an earlier release does not say it
    )
