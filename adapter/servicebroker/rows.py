"""Rows of a queue, as RECEIVE and SELECT give them. This module knows no statement."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from msgspec import Struct

from adapter.core.contract.message import Delivered
from adapter.errors import UnexpectedAnswer

REPLACEMENT = "\ufffd"
"""In place of what is no character."""


class Row(Struct, frozen=True):
    """One message of a queue, in the columns of SQL Server.

    status: 0 a retained copy of a received message, 1 ready, 3 a retained copy of a sent one.
    queuing_order: its place on the queue. validation: "E" empty, "N" none, "X" XML. message_body:
    None, if the message has none. message_enqueue_time: UTC.
    """

    status: int
    priority: int
    queuing_order: int
    conversation_group_id: UUID
    conversation_handle: UUID
    message_sequence_number: int
    service_name: str
    service_contract_name: str
    message_type_name: str
    validation: str
    message_body: bytes | None
    message_enqueue_time: datetime

    @property
    def text(self) -> str:
        """The body as NVARCHAR: UTF-16LE; with a byte order mark or without. As in NVARCHAR, half
        a surrogate pair stays what it is; half a character at the end is U+FFFD.
        """
        body = self.message_body or b""
        whole = body[: len(body) & ~1].decode("utf-16-le", "surrogatepass")
        return f"{whole}{REPLACEMENT * (len(body) % 2)}".removeprefix("\ufeff")


def row_of(one: Delivered) -> Row:
    """Make a row of a message."""
    header = one.message.broker
    if header is None:
        raise UnexpectedAnswer("the queue manager gave a message that is not of Service Broker")
    return Row(
        header.status,
        one.message.priority + 1,
        one.seq,
        UUID(bytes=header.group or bytes(16)),
        UUID(bytes=header.handle or bytes(16)),
        header.sequence,
        header.service,
        header.contract,
        header.message_type,
        header.validation,
        one.message.body or None,
        datetime.fromtimestamp(one.message.put_time_ms / 1000, UTC),
    )
