"""What becomes of a message on its way out and in: of the public one, and of the wire's.

This module knows no verb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from msgspec import structs

from adapter.client.message import Message, time_of
from adapter.client.schemas import Schemas
from adapter.connection.channel import arguments as a
from adapter.core.contract import commands as c
from adapter.core.contract import message as core
from adapter.core.contract.details import Details
from adapter.core.contract.message import Delivered
from adapter.core.mq_layouts import dead_letter
from adapter.core.mq_layouts.dead_letter import DeadLetter
from adapter.errors import InvalidOption, InvalidType

_as_tuple: Final = structs.astuple  # not looked up each time

AnyMessage = TypeVar("AnyMessage", bound=Message)

# Public field -> (field of core's message, check and conversion).
_FIELDS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
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


def _as_end_ms(value: object) -> int:
    """Take when a message is to expire; a time before 1970 is over too, and not none."""
    return 0 if value is None else max(1, a.as_time_ms(value, "expires_at"))


# What a put only says of itself: a message that is put again is put by this program.
_ORIGIN: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "user": ("user", lambda v: a.as_text("user", v, a.ORIGIN_LENGTH_MAX)),
    "application": ("application", lambda v: a.as_text("application", v, a.ORIGIN_LENGTH_MAX)),
    "expires_at": ("expires_at_ms", _as_end_ms),
}


_OF_CONTEXT: Final = frozenset({"user", "application", "details"})


def context_asked(fields: Mapping[str, Any]) -> int:
    """Return which context a put says itself, in core's options; else it is the connection's."""
    if _OF_CONTEXT.isdisjoint(fields):
        return 0
    asked = c.SET_IDENTITY if "user" in fields else 0
    if "application" in fields:
        asked |= c.SET_ORIGIN
    if isinstance(fields.get("details"), Details):
        given: Any = fields["details"]  # of any types: they are checked with the other fields
        if given.accounting_token or given.identity_data:
            asked |= c.SET_IDENTITY
        if given.appl_type or given.origin_data or given.put_date_time:
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
        way = on_its_way(body)
        message.transmission = None if way is None else way.transmission
    header = a.as_dead_letter(body.dead_letter) if isinstance(body, Message) else None
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
    if fields.get("expiry_s") is not None and fields.get("expires_at") is not None:
        raise InvalidOption("give expiry_s or expires_at, and not both")
    if header is None:
        return message
    if "format" in fields:  # what a program says itself is refused, and what it got is cut
        a.as_dead_letter(structs.replace(header, format=message.format))
    return _with_header(message, header)


def on_its_way(message: Message) -> core.MessageData | None:
    """Return what was got from a transmission queue, with where it goes; None: this was not.

    It is no field, as programs do not say it: a put to another transmission queue keeps it.
    """
    found: core.MessageData | None = message.__dict__.get("on_its_way")
    return found


def _with_header(message: core.MessageData, header: DeadLetter) -> core.MessageData:
    """Put a dead-letter header before the body, and let it say what the body is: a format that has
    no room in it is cut, as the queue manager's own dead letters have it.
    """
    about = {"encoding": message.encoding, "ccsid": message.ccsid, "format": message.format}
    message.body = dead_letter.to_dlh(structs.replace(header, **about)) + message.body
    message.format = dead_letter.FORMAT
    message.encoding, message.ccsid = dead_letter.ENCODING, dead_letter.CCSID
    return message


def incoming(delivered: Delivered, schemas: Schemas | None = None) -> Message:
    """Make a public message of what a reply carries. schemas: for its decode()."""
    return shown(Message, delivered, schemas)


def shown(
    make: Callable[..., AnyMessage], delivered: Delivered, schemas: Schemas | None
) -> AnyMessage:
    """Make a public message of what a reply carries. make: the class, or what calls it.

    schemas: what its decode() uses; that is not a field, and not compared, copied or put.
    """
    # One call each, where each attribute costs a look-up.
    about = _as_tuple(delivered)
    sent, lane, seq, n, backout_count, unit_id, unit_index, unit_size = about[:8]
    values = _as_tuple(sent)
    body, message_id, correlation_id, group_id, group_seq, last_in_group = values[:6]
    priority, persistence, expiry_ms, format_, message_type, report, feedback = values[6:13]
    encoding, ccsid, reply_to, reply_to_queue_manager, user, application = values[13:19]
    properties, put_time_ms, expires_at_ms, details, _, deliver_at_ms, destination = values[19:26]
    header, body = dead_letter.split(format_, body)
    if header is not None:
        format_, encoding, ccsid = header.format, header.encoding, header.ccsid
    message = make(
        body=body,
        message_id=message_id,
        correlation_id=correlation_id,
        group_id=group_id,
        group_seq=group_seq,
        last_in_group=last_in_group,
        priority=priority,
        persistent=persistence == 1,
        expiry_s=expiry_ms / 1000 if expiry_ms > 0 else None,
        deliver_at=time_of(deliver_at_ms),
        reply_to=reply_to,
        reply_to_queue_manager=reply_to_queue_manager,
        format=format_,
        message_type=message_type,
        report=report,
        feedback=feedback,
        encoding=encoding,
        ccsid=ccsid,
        properties=properties or {},
        details=details,
        dead_letter=header,
        user=user,
        application=application,
        backout_count=backout_count,
        put_time_ms=put_time_ms,
        expires_at_ms=expires_at_ms,
        unit_id=unit_id,
        unit_index=unit_index,
        unit_size=unit_size,
        place=(lane, seq, n),
        destination=destination,
    )
    if schemas is not None:
        message.__dict__["schemas"] = schemas
    if sent.transmission is not None:
        message.__dict__["on_its_way"] = sent
    return message
