"""Message, as MSMQ programs have it, and the message of core that it is.

What a program does not set has MSMQ's default. This module knows no queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeVar, overload
from uuid import UUID

from adapter.connection.channel import plain_arguments as a
from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.connection.channel.unit import Unit
from adapter.core.contract import msmq_header as h
from adapter.core.contract.message import Delivered, MessageData
from adapter.msmq import identifiers
from adapter.msmq import variants as vt
from adapter.msmq.enumerations import AcknowledgeTypes, Acknowledgment, MessagePriority, MessageType
from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.formatters import BytesFormatter, MessageFormatter
from adapter.msmq.names import (
    IsKnown,
    absolute,
    as_queue_name,
    here_as_dot,
    is_of_several,
    no_computer,
)
from adapter.msmq.property_names import KnownProperties, unknown_property
from adapter.msmq.xml_formatter import XmlMessageFormatter

LABEL_LENGTH_MAX = 249  # MQ_MAX_MSG_LABEL_LEN, less the end
TIME_MAX_S = 2**31 - 1
QUEUES = frozenset({"administration_queue", "response_queue", "dead_letter_queue"})
IMMUTABLE = (
    str, bytes, int, float, Decimal, datetime, timedelta, UUID, Enum, type(None)
)  # fmt: skip
"""Values that a program cannot change where they are."""
TIMES = frozenset({"time_to_be_received", "time_to_reach_queue"})
FOUR_DAYS = timedelta(milliseconds=h.TTRQ_DEFAULT_MS)
ValueT = TypeVar("ValueT")


class ReadOnly(Generic[ValueT]):
    """A property that the queue manager gives; reading one that a filter left out is refused."""

    is_settable = False

    def __init__(self, default: ValueT) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, message: None, owner: type) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type) -> ValueT: ...
    def __get__(self, message: Message | None, owner: type) -> Self | ValueT:
        if message is None:
            return self
        message.check_read(self._name)
        found: ValueT = message.__dict__.get(self._name, self._default)
        return found

    def __set__(self, message: Message, value: Any) -> None:
        raise AttributeError(f"{self._name} is given by the queue manager, and cannot be set")


class Property(ReadOnly[ValueT]):
    """A property that programs may set, too."""

    is_settable = True

    def __init__(self, default: ValueT, check: Callable[[str, Any], ValueT]) -> None:
        super().__init__(default)
        self._check = check

    def __set__(self, message: Message, value: Any) -> None:
        message.__dict__[self._name] = self._check(self._name, value)
        message._unread -= {self._name}
        message._as_received -= {self._name}


def _priority(name: str, value: object) -> MessagePriority:
    return MessagePriority(a.as_whole(name, value, 0, identifiers.HIGHEST_PRIORITY))


def _acknowledge(name: str, value: object) -> AcknowledgeTypes:
    if not isinstance(value, AcknowledgeTypes):
        raise WrongArgumentType(f"{name} is of AcknowledgeTypes, not {value!r}")
    return value


def _queue(name: str, value: object) -> str:
    """Take a queue, its path or its format name; None and "" mean no queue."""
    if value is None or value == "":
        return ""
    return as_queue_name(getattr(value, "path", value), name)


def _one_queue(name: str, value: object) -> str:
    """Take one queue, where several may not be meant."""
    queue = _queue(name, value)
    if is_of_several(queue):
        raise WrongArgument(f"{name} is one queue, not several separated by commas: {queue}")
    return queue


def _time(name: str, value: object) -> timedelta | None:
    """Take seconds or a timedelta; None is without limit."""
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise WrongArgumentType(f"{name} is a number of seconds or a timedelta, not {value!r}")
    if not 0 <= seconds <= TIME_MAX_S:
        raise WrongArgument(f"{name} is 0 to {TIME_MAX_S} seconds, not {value!r}")
    return timedelta(milliseconds=math.ceil(seconds * 1000))


def _number(name: str, value: object) -> int:
    return a.as_whole(name, value, 0, 2**32 - 1)


def _bytes(name: str, value: object) -> bytes:
    if not isinstance(value, bytes | bytearray):
        raise WrongArgumentType(f"{name} is bytes, not {value!r}")
    return bytes(value)


class Message(KnownProperties):
    """A message, to be sent or as it was received. `INFINITE_TIMEOUT`: no limit of a time.

    body: what is sent, or what the formatter makes of the body that was received. recoverable: kept
    as asked for; mqk stores every message durably. Times are datetimes in UTC.

    A sender sets: label, priority (0 to 7), recoverable, correlation_id, response_queue,
    administration_queue, dead_letter_queue, acknowledge_type, use_dead_letter_queue,
    use_journal_queue, time_to_be_received, time_to_reach_queue (seconds or a timedelta; None is
    without limit), app_specific and extension. The queue manager gives: id, lookup_id,
    acknowledgment, message_class, destination_queue, source_computer, transaction_id,
    is_first_in_transaction, is_last_in_transaction, abort_count, move_count, arrived_time and
    sent_time.
    """

    INFINITE_TIMEOUT: ClassVar[None] = None
    _what = "a message"
    _own_attributes = frozenset({"formatter", "unit_received_in"})

    _unread: frozenset[str] = frozenset()
    _as_received: frozenset[str] = frozenset()
    """Queues that another program has named: a dot in them is the first sender's computer."""

    label = Property("", lambda name, value: a.as_text(name, value, LABEL_LENGTH_MAX))
    priority = Property(MessagePriority.NORMAL, _priority)
    recoverable = Property(False, a.as_flag)
    correlation_id = Property(
        "", lambda name, value: identifiers.shown(identifiers.as_message_id(name, value))
    )
    response_queue = Property("", _queue)
    administration_queue = Property("", _one_queue)
    dead_letter_queue = Property("", _one_queue)
    acknowledge_type = Property(AcknowledgeTypes.NONE, _acknowledge)
    use_dead_letter_queue = Property(False, a.as_flag)
    use_journal_queue = Property(False, a.as_flag)
    time_to_be_received: Property[timedelta | None] = Property(None, _time)
    time_to_reach_queue: Property[timedelta | None] = Property(FOUR_DAYS, _time)
    app_specific = Property(0, _number)
    extension = Property(b"", _bytes)

    id = ReadOnly("")
    lookup_id = ReadOnly(0)
    acknowledgment = ReadOnly(Acknowledgment.NONE)
    message_class = ReadOnly(0)
    destination_queue = ReadOnly("")
    source_computer = ReadOnly("")
    transaction_id = ReadOnly("")
    is_first_in_transaction = ReadOnly(False)
    is_last_in_transaction = ReadOnly(False)
    abort_count = ReadOnly(0)
    move_count = ReadOnly(0)
    arrived_time: ReadOnly[datetime | None] = ReadOnly(None)
    sent_time: ReadOnly[datetime | None] = ReadOnly(None)

    def __init__(
        self, body: Any = None, formatter: MessageFormatter | None = None, **properties: Any
    ) -> None:
        """formatter: None is that of the queue it is sent to. properties: as named above."""
        self._raw: tuple[bytes, int] | None = None
        self._reader: MessageFormatter | None = None
        """What has read the value from _raw."""
        self._value = body
        self._has_value = True
        self.unit_received_in: Unit | None = None
        """The unit that it was received in, for mark_rejected()."""
        self.formatter = formatter
        for name, value in properties.items():
            if not isinstance(getattr(type(self), name, None), Property):
                raise WrongArgument(unknown_property(type(self), name))
            setattr(self, name, value)

    def check_read(self, name: str) -> None:
        """Raise InvalidOperationError if a filter has left a property out."""
        if name in self._unread:
            raise InvalidOperationError(
                f"property {name} was not read: set message_read_property_filter.{name} of the "
                "queue before the message is received"
            )

    @property
    def message_type(self) -> MessageType:
        """What it is, by its message_class."""
        if self.message_class == Acknowledgment.REPORT:
            return MessageType.REPORT
        return MessageType.ACKNOWLEDGMENT if self.message_class else MessageType.NORMAL

    @property
    def body(self) -> Any:
        """The value of the body. Raises InvalidOperationError if the formatter cannot read it."""
        self.check_read("body")
        if not self._has_value:
            body, kind = self._raw or (b"", vt.VT_EMPTY)
            formatter = self.formatter or XmlMessageFormatter()
            if kind == vt.VT_BYTES:
                formatter = BytesFormatter()
            self._reader = formatter
            self._value, self._has_value = _read(formatter, body, kind), True
        return self._value

    @body.setter
    def body(self, value: Any) -> None:
        self._value, self._has_value, self._raw, self._reader = value, True, None, None
        self._unread -= {"body"}

    @property
    def body_bytes(self) -> bytes:
        """The body as it is sent."""
        self.check_read("body")
        return self.encode_body(None)[0]

    @property
    def body_type(self) -> int:
        """Which type the body is of, as a number of VARENUM."""
        self.check_read("body")
        return self.encode_body(None)[1]

    def encode_body(self, formatter: MessageFormatter | None) -> tuple[bytes, int]:
        """Return body and type, by the message's own formatter, or this one. A body that was
        received stays as it is, unless the program has changed the value that it read.
        """
        if self._raw is not None and not self._is_changed(self._raw):
            return self._raw
        if self._value is None and self.formatter is None:
            return b"", vt.VT_EMPTY
        if isinstance(self._value, bytes | bytearray | memoryview):
            return BytesFormatter().write(self._value)
        return _written(self.formatter or formatter or XmlMessageFormatter(), self._value)

    def _is_changed(self, raw: tuple[bytes, int]) -> bool:
        """Whether the value that was read is another one now: a list or Struct may be."""
        reader = self._reader
        if reader is None or isinstance(self._value, IMMUTABLE):
            return False
        found = _read(reader, *raw)
        try:
            return reader.write(found) != reader.write(self._value)
        except Exception:  # noqa: BLE001 -- of a formatter that only reads, or no value to write
            return bool(found != self._value)

    def set_properties(self) -> dict[str, Any]:
        """Return the properties that the program has set."""
        mine = type(self)
        return {
            name: value
            for name, value in self.__dict__.items()
            if isinstance(mine.__dict__.get(name), Property)
        }

    def copy(self) -> Message:
        """Return a message to be sent, with this body and what a sender may set.

        Its times to live begin anew. Queues that it names are those of its first sender: they have
        the name of that computer in place of a dot.
        """
        copy = Message(formatter=self.formatter)
        copy._raw, copy._has_value = self.encode_body(None), False
        copy._unread = self._unread
        for name, value in self.set_properties().items():
            if name not in TIMES:  # what another client has written is not checked again
                copy.__dict__[name] = self._name_queue(name) if name in QUEUES else value
        return copy

    def _name_queue(self, name: str) -> str:
        """Return the name of a queue for another sender."""
        queue: str = self.__dict__.get(name, "")
        source = self.__dict__.get("source_computer", "")
        return absolute(queue, source) if name in self._as_received else queue

    def sent_as(self, identifier: bytes) -> None:
        """Note the id that the queue manager has given it."""
        self.__dict__["id"] = identifiers.shown(identifier)
        self._unread -= {"id"}

    def to_data(
        self, formatter: MessageFormatter | None = None, is_known: IsKnown = no_computer
    ) -> MessageData:
        """Return the message of core. is_known: see here_as_dot(): names of queues are those of the
        sender's machine, and are sent with a dot; those of a message that was received are the
        first sender's, and have the name of that computer.

        Properties that a filter has left out are sent as if they had not been set. Raises
        InvalidOperationError if the body is one of them.
        """
        if self._unread:
            return self._without_unread().to_data(formatter, is_known)
        body, kind = self.encode_body(formatter)
        reach, receive = self.time_to_reach_queue, self.time_to_be_received
        header = h.MsmqHeader(
            label=self.label,
            app_specific=self.app_specific,
            body_type=kind,
            extension=self.extension,
            acknowledge=int(self.acknowledge_type),
            journal=h.DEAD_LETTER * self.use_dead_letter_queue + h.JOURNAL * self.use_journal_queue,
            recoverable=self.recoverable,
            administration_queue=here_as_dot(self._name_queue("administration_queue"), is_known),
            response_queue=here_as_dot(self._name_queue("response_queue"), is_known),
            dead_letter_queue=here_as_dot(self._name_queue("dead_letter_queue"), is_known),
            reach_ms=-1 if reach is None else _in_ms(reach),
        )
        return MessageData(
            body=body,
            correlation_id=identifiers.as_message_id("correlation_id", self.correlation_id),
            priority=int(self.priority),
            expiry_ms=-1 if receive is None else _in_ms(receive),
            msmq=header,
        )

    def _without_unread(self) -> Message:
        self.check_read("body")
        read = Message(formatter=self.formatter)
        read._raw, read._value, read._has_value = self._raw, self._value, self._has_value
        read._reader = self._reader
        for name, value in self.set_properties().items():
            if name not in self._unread:
                read.__dict__[name] = self._name_queue(name) if name in QUEUES else value
        return read

    def __repr__(self) -> str:
        return f"<Message {self.__dict__.get('id', '')} {self.__dict__.get('label', '')!r}>"


def _read(formatter: MessageFormatter, body: bytes, kind: int) -> Any:
    """Return the value of a body; None of none, as a body of None is sent."""
    return None if not body and kind == vt.VT_EMPTY else formatter.read(body, kind)


def _written(formatter: MessageFormatter, value: Any) -> tuple[bytes, int]:
    """Return what a formatter writes, checked: it may be a program's own, and the queue manager
    ends the connection at a message that it cannot read, with all that is pending.
    """
    written = formatter.write(value)
    match written:
        case (bytes() | bytearray() | memoryview() as body, int(kind)) if 0 <= kind < 2**32:
            return bytes(body), int(kind)
    raise InvalidOperationError(
        f"{type(formatter).__name__}.write() returned {str(written)[:100]!r}: let it return the "
        "body as bytes and its type, 0 to 4,294,967,295"
    )


def _in_ms(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)


def _when(time_ms: int) -> datetime | None:
    return datetime.fromtimestamp(time_ms / 1000, UTC) if time_ms else None


def incoming(
    delivered: Delivered,
    formatter: MessageFormatter | None,
    unread: frozenset[str] = frozenset(),
    unit: Unit | None = None,
) -> Message:
    """Return the message that a program has received or peeked at. unread: the properties that
    its filter leaves out. unit: in which.
    """
    data = delivered.message
    header = data.msmq or h.MsmqHeader()
    message = Message(formatter=formatter)
    message._raw, message._has_value = (data.body, header.body_type), False
    message._unread, message._as_received = unread, QUEUES
    message.unit_received_in = unit
    message.__dict__.update(_set_by_sender(data, header))
    message.__dict__.update(_set_by_manager(delivered, header))
    return message


def _set_by_sender(data: MessageData, header: h.MsmqHeader) -> dict[str, Any]:
    received_ms = data.expiry_ms if data.expiry_ms >= 0 else None
    return {
        "label": header.label,
        "priority": MessagePriority(min(max(data.priority, 0), identifiers.HIGHEST_PRIORITY)),
        "recoverable": header.recoverable,
        "correlation_id": identifiers.shown(data.correlation_id),
        "response_queue": header.response_queue,
        "administration_queue": header.administration_queue,
        "dead_letter_queue": header.dead_letter_queue,
        "acknowledge_type": AcknowledgeTypes(header.acknowledge),
        "use_dead_letter_queue": bool(header.journal & h.DEAD_LETTER),
        "use_journal_queue": bool(header.journal & h.JOURNAL),
        "time_to_be_received": (
            None if received_ms is None else timedelta(milliseconds=received_ms)
        ),
        "time_to_reach_queue": (
            None if header.reach_ms < 0 else timedelta(milliseconds=header.reach_ms)
        ),
        "app_specific": header.app_specific,
        "extension": header.extension,
    }


def _set_by_manager(delivered: Delivered, header: h.MsmqHeader) -> dict[str, Any]:
    data = delivered.message
    unit, index, size = delivered.unit, delivered.queue_unit_index, delivered.queue_unit_size
    if header.unit:
        unit, index, size = header.unit, header.unit_index, header.unit_size
    sent = header.transactional
    return {
        "id": identifiers.shown(data.message_id),
        "lookup_id": identifiers.lookup_id(delivered.lane, delivered.seq),
        "acknowledgment": _acknowledgment(header.message_class),
        "message_class": header.message_class,
        "destination_queue": header.destination,
        "source_computer": header.source,
        "transaction_id": identifiers.shown(unit) if sent else "",
        "is_first_in_transaction": sent and index == 0,
        "is_last_in_transaction": sent and index == size - 1,
        "abort_count": delivered.backout_count,
        "move_count": header.move_count,
        "arrived_time": _when(data.put_time_ms),
        "sent_time": _when(header.sent_ms or data.put_time_ms),
    }


def _acknowledgment(message_class: int) -> Acknowledgment:
    try:
        return Acknowledgment(message_class)
    except ValueError:
        return Acknowledgment.NONE


def same_id(wanted: str, name: str) -> bytes:
    """Take the id of a message that is to be found; it is never empty."""
    identifier = identifiers.as_message_id(name, wanted)
    if not identifier:
        raise WrongArgument(f"{name} names a message, and is not empty")
    return identifier
