"""The public message, and what becomes of it on its way out and in.

It knows core's message, which the wire carries, and no verb.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from msgspec import Struct, structs

from adapter.channel import arguments as a
from adapter.channel.arguments import EPOCH
from adapter.client.schemas import Schemas
from adapter.core.contract import commands as c
from adapter.core.contract import message as core
from adapter.core.contract.details import Details
from adapter.core.contract.message import NO_ID, Delivered, Property
from adapter.core.mq_layouts import dead_letter
from adapter.core.mq_layouts.dead_letter import DeadLetter
from adapter.errors import InvalidOption, InvalidType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adapter.registry.values import SchemaName

__all__ = ["DeadLetter", "Message", "PutFields", "PutResult", "got", "incoming", "outgoing"]


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
        return _time(self.put_time_ms)

    @property
    def expires_at(self) -> datetime | None:
        """When it expires, in UTC; None if it does not, or was not yet put."""
        return _time(self.expires_at_ms)

    @property
    def first_in_unit(self) -> bool:
        """Whether it was the first put of its unit."""
        return self.unit_size > 0 and self.unit_index == 0

    @property
    def last_in_unit(self) -> bool:
        """Whether it was the last put of its unit."""
        return self.unit_size > 0 and self.unit_index == self.unit_size - 1

    def decode(self, schema: SchemaName | None = None) -> Any:
        """Return the Avro value that the body is, in the standard frame (Queue.put_value).

        schema: what it is to be read as, if not as it was written: what is new in it takes its
        default, what is gone is left out. It is named as put_value names one. The registry is that
        of the connection the message was got from. Raises NotAvro for a body that is no such value,
        SchemaIncompatible, SchemaNotFound, RegistryNotAvailable; InvalidOption without a registry.
        """
        schemas: Schemas = self.__dict__.get("schemas") or Schemas(None)
        return schemas.decode(self.body, schema=schema)

    def __repr__(self) -> str:
        body = self.body if len(self.body) <= 40 else self.body[:37] + b"..."
        return (
            f"<{type(self).__name__} {body!r} {len(self.body)} bytes, priority "
            f"{self.priority}, id {self.message_id.hex()}, backed out {self.backout_count}>"
        )


AnyMessage = TypeVar("AnyMessage", bound=Message)


def _time(milliseconds: int) -> datetime | None:
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


# Public field -> (field of core's message, check and conversion).
_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "message_id": ("message_id", lambda v: a.as_identifier("message_id", v)),
    "correlation_id": ("correlation_id", lambda v: a.as_identifier("correlation_id", v)),
    "group_id": ("group_id", lambda v: a.as_identifier("group_id", v)),
    "group_seq": ("group_seq", lambda v: a.as_whole("group_seq", v, 1, 999_999_999)),
    "last_in_group": ("last_in_group", lambda v: a.as_flag("last_in_group", v)),
    "priority": ("priority", a.as_priority),
    "persistent": ("persistence", a.as_persistence),
    "expiry_s": ("expiry_ms", a.as_expiry_ms),
    "deliver_after": ("delay_ms", a.as_delay_ms),
    "deliver_at": ("deliver_at_ms", a.as_time_ms),
    "reply_to": ("reply_to", lambda v: a.as_text("reply_to", v)),
    "reply_to_queue_manager": (
        "reply_to_queue_manager",
        lambda v: a.as_text("reply_to_queue_manager", v),
    ),
    "format": ("format", lambda v: a.as_text("format", v)),
    "message_type": ("message_type", lambda v: a.as_whole("message_type", v)),
    "report": ("report", lambda v: a.as_whole("report", v)),
    "feedback": ("feedback", lambda v: a.as_whole("feedback", v)),
    "encoding": ("encoding", lambda v: a.as_whole("encoding", v)),
    "ccsid": ("ccsid", lambda v: a.as_whole("ccsid", v)),
    "properties": ("properties", a.as_properties),
    "details": ("details", a.as_details),
}
# What a put only says of itself: a message that is put again is put by this program.
_ORIGIN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "user": ("user", lambda v: a.as_text("user", v, a.ORIGIN_LENGTH_MAX)),
    "application": ("application", lambda v: a.as_text("application", v, a.ORIGIN_LENGTH_MAX)),
}


_OF_CONTEXT = frozenset({"user", "application", "details"})


def context_asked(fields: Mapping[str, Any]) -> int:
    """Return which context a put says itself, in core's options; else it is the connection's."""
    if _OF_CONTEXT.isdisjoint(fields):
        return 0
    asked = c.SET_IDENTITY if "user" in fields else 0
    if "application" in fields:
        asked |= c.SET_ORIGIN
    details = fields.get("details")
    if isinstance(details, Details):
        if details.accounting_token or details.identity_data:
            asked |= c.SET_IDENTITY
        if details.appl_type or details.origin_data or details.put_date_time:
            asked |= c.SET_ORIGIN
    return asked


def outgoing(body: object, fields: Mapping[str, Any], application: str = "") -> core.MessageData:
    """Make what is sent of what the caller gave; a clear error for what cannot be sent.

    application: the program's name, said if the put says where the message comes from.
    """
    message = core.MessageData(body=a.as_body(body.body if isinstance(body, Message) else body))
    if context_asked(fields) & c.SET_ORIGIN:
        message.application = application
    if isinstance(body, Message):
        for name, (field, check) in _FIELDS.items():
            setattr(message, field, check(getattr(body, name)))
    header = body.dead_letter if isinstance(body, Message) else None
    for name, value in fields.items():
        if name == "dead_letter":
            header = a.as_dead_letter(value)
            continue
        entry = _FIELDS.get(name) or _ORIGIN.get(name)
        if entry is None:
            taken = ", ".join([*_FIELDS, *_ORIGIN, "dead_letter"])
            raise InvalidType(f"put() takes no argument {name!r}; it takes {taken}")
        field, check = entry
        setattr(message, field, check(value))
    if fields.get("deliver_after") is not None and fields.get("deliver_at") is not None:
        raise InvalidOption("give deliver_after or deliver_at, and not both")
    return message if header is None else _with_header(message, header)


def _with_header(message: core.MessageData, header: DeadLetter) -> core.MessageData:
    """Put a dead-letter header before the body, and let it say what the body is."""
    header = structs.replace(
        header, encoding=message.encoding, ccsid=message.ccsid, format=message.format
    )
    message.body = dead_letter.to_dlh(header) + message.body
    message.format = dead_letter.FORMAT
    message.encoding, message.ccsid = dead_letter.ENCODING, dead_letter.CCSID
    return message


def incoming(delivered: Delivered, schemas: Schemas | None = None) -> Message:
    """Make a public message of what a reply carries. schemas: for its decode()."""
    return readable(Message(**got(delivered)), schemas)


def readable(message: AnyMessage, schemas: Schemas | None) -> AnyMessage:
    """Let a message know what decodes it; that is not a field, and not compared, copied or put."""
    if schemas is not None:
        message.__dict__["schemas"] = schemas
    return message


def got(delivered: Delivered) -> dict[str, Any]:
    """Return the fields of a public message of what a reply carries."""
    m = delivered.message
    header, body = dead_letter.split(m.format, m.body)
    of = m if header is None else header
    return {
        "body": body,
        "message_id": m.message_id,
        "correlation_id": m.correlation_id,
        "group_id": m.group_id,
        "group_seq": m.group_seq,
        "last_in_group": m.last_in_group,
        "priority": m.priority,
        "persistent": m.persistence == 1,
        "expiry_s": m.expiry_ms / 1000 if m.expiry_ms > 0 else None,
        "deliver_at": _time(m.deliver_at_ms),
        "reply_to": m.reply_to,
        "reply_to_queue_manager": m.reply_to_queue_manager,
        "format": of.format,
        "message_type": m.message_type,
        "report": m.report,
        "feedback": m.feedback,
        "encoding": of.encoding,
        "ccsid": of.ccsid,
        "properties": m.properties or {},
        "details": m.details,
        "dead_letter": header,
        "user": m.user,
        "application": m.application,
        "backout_count": delivered.backout_count,
        "put_time_ms": m.put_time_ms,
        "expires_at_ms": m.expires_at_ms,
        "unit_id": delivered.unit,
        "unit_index": delivered.unit_index,
        "unit_size": delivered.unit_size,
        "place": (delivered.lane, delivered.seq, delivered.n),
        "destination": m.destination,
    }
