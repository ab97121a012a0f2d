"""The public message, as programs put it and get it. This module knows no verb."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec import Struct

from adapter.client.schemas import Schemas
from adapter.connection.channel import arguments as a
from adapter.connection.channel.arguments import EPOCH
from adapter.core.contract.details import Details
from adapter.core.contract.message import NO_ID, Property
from adapter.core.mq_layouts.dead_letter import DeadLetter
from adapter.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adapter.registry.values import SchemaName

__all__ = ["DeadLetter", "Message", "PutFields", "PutResult"]


if TYPE_CHECKING:

    class _AnyBody:
        """For type checkers: a body is given as bytes or text, and read as bytes."""

        def __get__(self, message: object, owner: object = None) -> bytes: ...

        def __set__(self, message: object, value: bytes | bytearray | memoryview | str) -> None: ...


class _Body(Struct):
    if TYPE_CHECKING:
        body: _AnyBody = _AnyBody()
    else:
        body: bytes = b""


class Message(_Body, kw_only=True, dict=True):
    """What is put and got.

    Ids are 24 bytes, 24 zero bytes being none; a put takes a str, a UUID and shorter ones too, and
    puts zeros behind them. It gives a message without message_id a new one.
    priority is 0 to 9 and persistent a bool; None leaves either to the queue. expiry_s counts from
    the put. deliver_after (seconds from the put on) or deliver_at: it cannot be got before; a
    message that was got has the time in deliver_at. backout_count, put_time and what names the unit
    are of the message as it was got: they never carry over to another put. dead_letter: its
    dead-letter header (MQDLH), if it has one; body, format, encoding and ccsid are of what follows
    the header. details: what only programs of MQ say; None for most messages.
    """

    message_id: bytes = NO_ID
    correlation_id: bytes = NO_ID
    group_id: bytes = NO_ID
    group_seq: int = 1
    last_in_group: bool = False
    priority: int | None = None
    persistent: bool | None = None
    expiry_s: float | None = None
    deliver_after: float | timedelta | None = None
    deliver_at: datetime | None = None
    reply_to: str = ""
    reply_to_queue_manager: str = ""
    format: str = ""
    message_type: int = 8
    report: int = 0
    feedback: int = 0
    encoding: int = 546
    ccsid: int = 1208
    properties: dict[str, Property] = {}
    details: Details | None = None
    dead_letter: DeadLetter | None = None
    user: str = ""
    application: str = ""
    backout_count: int = 0
    put_time_ms: int = 0
    expires_at_ms: int = 0
    unit_id: bytes = b""
    unit_index: int = 0
    unit_size: int = 0
    place: tuple[int, int, int] | None = None
    """(lane, seq, n) on the queue it was got from or browsed on."""
    destination: str = ""
    """Of a delayed message that is browsed where it waits: the queue that it will be on."""

    def __post_init__(self) -> None:
        """A body may be given as text, properties as None."""
        if type(self.body) is not bytes:
            self.body = self.body
        given: object = self.properties
        if given is None:
            self.properties = {}

    def __setattr__(self, name: str, value: object) -> None:
        """Set a field; a body may be given as text."""
        super().__setattr__(name, a.as_body(value) if name == "body" else value)

    @property
    def text(self) -> str:
        """The body as text, which is UTF-8. Raises UnicodeDecodeError."""
        return self.body.decode()

    def json(self) -> Any:
        """Return what the body, JSON text, says. Raises json.JSONDecodeError."""
        return json.loads(self.body)

    @property
    def put_time(self) -> datetime | None:
        """When it was put, in UTC; None if it was not yet."""
        return time_of(self.put_time_ms)

    @property
    def expires_at(self) -> datetime | None:
        """When it expires, in UTC; None if it does not, or was not yet put."""
        return time_of(self.expires_at_ms)

    @property
    def first_in_unit(self) -> bool:
        """Whether it was the first put of its unit."""
        return self.unit_size > 0 and self.unit_index == 0

    @property
    def last_in_unit(self) -> bool:
        """Whether it was the last put of its unit."""
        return self.unit_size > 0 and self.unit_index == self.unit_size - 1

    def decode(self, schema: SchemaName | None = None, *, named: bool = False) -> Any:
        """Return the Avro value that the body is, in the standard frame (Queue.put_value).

        schema: what it is to be read as, if not as it was written: what is new in it takes its
        default, what is gone is left out. It is named as put_value names one. named: a record of a
        union of several is (its full name, the record), which put_value takes too. The registry is
        that of the connection the message was got from. Raises NotAvro for a body that is no such
        value, SchemaIncompatible, SchemaNotFound, RegistryNotAvailable; InvalidOption without a
        registry.
        """
        schemas: Schemas = self.__dict__.get("schemas") or Schemas(None)
        return schemas.decode(self.body, schema=schema, named=named)

    def __repr__(self) -> str:
        body = self.body if len(self.body) <= 40 else self.body[:37] + b"..."
        return (
            f"<{type(self).__name__} {body!r} {len(self.body)} bytes, priority "
            f"{a.shown(self.priority)}, id {shown_id(self.message_id)}, "
            f"backed out {a.shown(self.backout_count)}>"
        )


def shown_id(ident: object) -> str:
    """Return an id as it was got, or as a program has given it, which a put may refuse."""
    return ident.hex() if isinstance(ident, bytes) else a.shown(ident)


def time_of(milliseconds: int) -> datetime | None:
    """Return a time in UTC; None for 0, which is no time."""
    return EPOCH + timedelta(milliseconds=milliseconds) if milliseconds else None


class PutResult(Struct, frozen=True):
    """What a put gave the message."""

    message_id: bytes
    put_time_ms: int
    """0 if it is not known: the message was put with wait=False."""
    subscriptions: int | None = None
    """Of a publication: how many subscriptions it was for. None for any other put, and if it is not
    known any more: the answer came again after a restart of the queue manager."""

    @property
    def put_time(self) -> datetime:
        """When it was put, in UTC. Raises InvalidOption for a put with wait=False."""
        if not self.put_time_ms:
            raise InvalidOption("the put time is not known: the message was put with wait=False")
        return EPOCH + timedelta(milliseconds=self.put_time_ms)


class PutFields(TypedDict, total=False):
    """What put() takes beside the body; what is not given stays as the message has it."""

    priority: int | None
    persistent: bool | None
    expiry_s: float | timedelta | None
    expires_at: datetime | None
    deliver_after: float | timedelta | None
    deliver_at: datetime | None
    message_id: a.Identifier | None
    correlation_id: a.Identifier | None
    group_id: a.Identifier | None
    group_seq: int
    last_in_group: bool
    reply_to: str | None
    reply_to_queue_manager: str | None
    format: str | None
    message_type: int
    report: int
    feedback: int
    encoding: int
    ccsid: int
    properties: Mapping[str, Property] | None
    dead_letter: DeadLetter | None
    details: Details | None
    user: str
    application: str
