"""A message's descriptor: the header `mqmd` of its copy, and the same bytes in the ledger.

It is encoded once, when the unit commits, with everything that is known then: what the application
said of the message, and its place and its unit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, cast

import msgspec
from msgspec import Struct, structs

from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.details import Details
from adapter.core.contract.message import ID_LENGTH, MessageData, Property
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.transmission import Transmission
from adapter.core.contract.unit_records import Placed
from adapter.storage.format import avro, msmq_header
from adapter.storage.format.msmq_header import MsmqHeaderReader
from adapter.storage.format.schemas import Codec, UnreadableError

_as_tuple: Final = structs.astuple  # not looked up each time

HEADER: Final = "mqmd"
VERSION: Final = 7
"""1 knew no details, 2 no delays, 3 neither transmissions nor MSMQ, 4 no Service Broker, 5 no dates
and times that programs set, 6 not by whose authorities reports are put."""

_codec = Codec("descriptor", VERSION)
_older = tuple(Codec(f"descriptor.{old}", old, old) for old in range(1, VERSION))
"""Each reads as it was written: resolved to another schema, bytes among properties would become
text."""
_VERSION: Final = bytes((VERSION,))
_NULL: Final = avro.long(0)
_DETAILS: Final = avro.long(1)
"""The union of a message's details."""
_AT_ONCE: Final = avro.long(0) + avro.text("")  # deliver_at_ms, destination
_TRANSMITTED: Final = avro.long(1)
_OF_MSMQ: Final = avro.long(1)
"""The unions of transmission and msmq."""
_USUAL: Final = _NULL + _AT_ONCE
_PLAIN_END: Final = _USUAL + _NULL + _NULL + _NULL
_AFTER_IDS: Final = 1 + 3 * ID_LENGTH
_IDS: Final = 1
_SAID: Final = 4
_FORMAT: Final = 9
_PROPERTIES: Final = 19
_PUT_TIME: Final = 20
_EXPIRES_AT: Final = 21
_RARE: Final = 22
_BROKER: Final = 28
"""Where fields are among those of a message: message_id, group_seq, and so on. From details on most
messages have nothing."""
_NOTHING_RARE: Final = (None, 0, 0, "", None, None, None)
Described = tuple[str, int, int, int, int, int, str, str, str, str]  # format to application
_NEVER: Final = b"\xff" * 11  # no Avro number begins so: a descriptor never has it
_DESCRIBED_KINDS: Final[tuple[Callable[[bytes, int], tuple[Any, int]], ...]] = (
    avro.read_text,  # format
    *(avro.read_long,) * 5,  # message_type, report, feedback, encoding, ccsid
    *(avro.read_text,) * 4,  # reply_to, reply_to_queue_manager, user, application
)


class UnitPosition(Struct):
    """Where a unit put a message: seq in its lane, unit, indexes and sizes."""

    seq: int
    unit: bytes
    unit_index: int
    unit_size: int
    queue_unit_index: int
    queue_unit_size: int


_POSITION: Final = UnitPosition.__struct_fields__
_HEADERS: Final[dict[str, type[Struct]]] = {
    "details": Details,
    "transmission": Transmission,
    "msmq": MsmqHeader,
    "broker": BrokerHeader,
}
"""The fields of a message that most messages do not have."""
_OWN: Final = ("body", "persistence", "properties", "delay_ms", *_HEADERS)
_SAME: Final = tuple(name for name in MessageData.__struct_fields__ if name not in _OWN)


class DescriptorWriter:
    """Writes the descriptors of one unit, in the order of its puts.

    What programs say the same of all messages of a unit is encoded once, and compared then.
    """

    __slots__ = ("_said", "_said_bytes", "_unit", "_unit_size")

    def __init__(self, unit: bytes, unit_size: int) -> None:
        self._unit = unit
        self._unit_size = avro.long(unit_size)
        self._said: tuple[Any, ...] = ()
        self._said_bytes = b""

    def write(self, placed: Placed) -> bytes:
        """Return the descriptor of a persistent message at its place."""
        message = placed.message
        values = _as_tuple(message)  # one call, where each attribute costs a look-up
        if values[_PROPERTIES] or values[_BROKER] is not None:
            unit_size, _ = avro.read_long(self._unit_size, 0)
            return _codec.encode(value_of(placed, self._unit, unit_size))
        said = values[_SAID:_RARE]
        if said != self._said:
            self._said, self._said_bytes = said, _said(said)
        return b"".join(
            (
                _VERSION,
                values[_IDS],
                values[_IDS + 1],
                values[_IDS + 2],
                self._said_bytes,
                avro.long(placed.seq),
                self._unit,
                avro.long(placed.index),
                self._unit_size,
                avro.long(placed.queue_index),
                avro.long(placed.queue_size),
                _PLAIN_END if values[_RARE:] == _NOTHING_RARE else _end(message),
            )
        )


def encode(placed: Placed, unit: bytes, unit_size: int) -> bytes:
    """Return the descriptor of a persistent message at its place."""
    return DescriptorWriter(unit, unit_size).write(placed)


def _said(values: tuple[Any, ...]) -> bytes:
    """Encode what stands between the ids and the place: group_seq to application.

    values: the fields of a message from group_seq to expires_at_ms.
    """
    return b"".join(
        (
            avro.long(values[0]),
            avro.TRUE if values[1] else avro.FALSE,
            avro.long(values[2]),
            avro.TRUE if values[3] else avro.FALSE,
            avro.long(values[4]),
            avro.long(values[_EXPIRES_AT - _SAID]),
            avro.long(values[_PUT_TIME - _SAID]),
            _encode_values(values[_FORMAT - _SAID : _PROPERTIES - _SAID]),
        )
    )


def _end(message: MessageData) -> bytes:
    """Encode what stands behind the place."""
    return b"".join(
        (
            _NULL if message.details is None else _encode_details(message.details),
            _AT_ONCE if _is_at_once(message) else _encode_delivery(message),
            _NULL if message.transmission is None else _encode_transmission(message.transmission),
            _NULL if message.msmq is None else _OF_MSMQ + msmq_header.encode(message.msmq),
            _NULL,  # broker
        )
    )


def _is_at_once(message: MessageData) -> bool:
    return not message.deliver_at_ms and not message.destination


def _encode_delivery(message: MessageData) -> bytes:
    return avro.long(message.deliver_at_ms) + avro.text(message.destination)


def _encode_transmission(to: Transmission) -> bytes:
    parts = (to.queue, to.queue_manager, to.computer)
    return _TRANSMITTED + b"".join(map(avro.text, parts))


def _encode_details(details: Details) -> bytes:
    return b"".join(
        (
            _DETAILS,
            avro.data(details.accounting_token),
            avro.text(details.identity_data),
            avro.long(details.appl_type),
            avro.text(details.origin_data),
            avro.long(details.offset),
            avro.long(details.flags),
            avro.long(details.original_length),
            avro.long(details.priority_asked),
            avro.text(details.put_date_time),
            avro.text(details.putter),
        )
    )


@lru_cache(maxsize=4096)
def _encode_values(values: tuple[Any, ...]) -> bytes:
    """Encode what a program says the same of all its messages, and the empty properties."""
    parts = [avro.text(value) if isinstance(value, str) else avro.long(value) for value in values]
    return b"".join(parts) + avro.END


def value_of(placed: Placed, unit: bytes, unit_size: int) -> dict[str, Any]:
    """Return a descriptor's fields as the schema names them."""
    message = placed.message
    value: dict[str, Any] = {name: getattr(message, name) for name in _SAME}
    value["persistent"] = message.persistence == 1
    value["properties"] = message.properties or {}
    for name in _HEADERS:
        header = getattr(message, name)
        value[name] = None if header is None else msgspec.structs.asdict(header)
    value["seq"] = placed.seq
    value["unit"] = unit
    value["unit_index"] = placed.index
    value["unit_size"] = unit_size
    value["queue_unit_index"] = placed.queue_index
    value["queue_unit_size"] = placed.queue_size
    return value


class DescriptorReader:
    """Reads descriptors, mostly those of one queue manager one after another.

    What programs say the same of all their messages is met again and again: its bytes are compared
    with the last ones instead of being read.
    """

    __slots__ = (
        "_described",
        "_described_bytes",
        "_msmq",
        "_said",
        "_said_bytes",
        "_to",
        "_to_bytes",
    )

    def __init__(self) -> None:
        self._msmq = MsmqHeaderReader()
        self._described_bytes = _NEVER
        self._described: Described = ("", 0, 0, 0, 0, 0, "", "", "", "")
        self._said_bytes = _NEVER
        self._said: tuple[Any, ...] = ()
        """The fields of MessageData from group_seq to expires_at_ms."""
        self._to_bytes = _NEVER
        self._to = ("", "", "")

    def read(self, data: bytes, body: bytes) -> tuple[MessageData, UnitPosition]:
        """Read a descriptor; schemas.UnreadableError if it is damaged."""
        try:
            found = self._read(data, body) if data[:1] == _VERSION else None
        except (IndexError, UnicodeDecodeError) as error:
            raise UnreadableError(f"descriptor: {len(data)} damaged bytes ({error})") from error
        return found or decode_by_schema(data, body)

    def _read(self, data: bytes, body: bytes) -> tuple[MessageData, UnitPosition] | None:
        """Read a descriptor without what most messages do not have; None if it has any."""
        read_long = avro.read_long
        if data.startswith(self._said_bytes, _AFTER_IDS):
            at = _AFTER_IDS + len(self._said_bytes)
        else:
            at = self._read_said(data)
            if at < 0:
                return None
        seq, at = read_long(data, at)
        unit, at = data[at : at + ID_LENGTH], at + ID_LENGTH
        unit_index, at = read_long(data, at)
        unit_size, at = read_long(data, at)
        queue_unit_index, at = read_long(data, at)
        queue_unit_size, at = read_long(data, at)
        to, header = None, None
        if data.startswith(_PLAIN_END, at):
            at += len(_PLAIN_END)
        elif data.startswith(_USUAL, at):
            to, at = self._read_transmission(data, at + len(_USUAL))
            header, at = self._read_msmq(data, at)
            if data[at : at + 1] != _NULL:
                return None
            at += 1
        else:
            return None
        if at != len(data):
            raise IndexError(f"{at} bytes were expected")
        message = MessageData(body, data[1:25], data[25:49], data[49:73], *self._said)
        message.transmission, message.msmq = to, header
        place = UnitPosition(seq, unit, unit_index, unit_size, queue_unit_index, queue_unit_size)
        return message, place

    def _read_transmission(self, data: bytes, at: int) -> tuple[Transmission | None, int]:
        """Read where a message goes, mostly as the one before, and where the next field begins."""
        if data[at : at + 1] == _NULL:
            return None, at + 1
        if data.startswith(self._to_bytes, at):
            return Transmission(*self._to), at + len(self._to_bytes)
        start = at
        at = _after(_TRANSMITTED, data, at)
        queue, at = avro.read_text(data, at)
        queue_manager, at = avro.read_text(data, at)
        computer, at = avro.read_text(data, at)
        self._to, self._to_bytes = (queue, queue_manager, computer), data[start:at]
        return Transmission(queue, queue_manager, computer), at

    def _read_msmq(self, data: bytes, at: int) -> tuple[MsmqHeader | None, int]:
        """Read what MSMQ says of a message, and where the next field begins."""
        if data[at : at + 1] == _NULL:
            return None, at + 1
        return self._msmq.read(data, _after(_OF_MSMQ, data, at))

    def _read_said(self, data: bytes) -> int:
        """Read what stands between the ids and the place; -1 if there are properties."""
        read_long = avro.read_long
        group_seq, at = read_long(data, _AFTER_IDS)
        last_in_group = data[at] != 0  # as fastavro reads it
        priority, at = read_long(data, at + 1)
        persistent = 1 if data[at] else 0
        expiry_ms, at = read_long(data, at + 1)
        expires_at_ms, at = read_long(data, at)
        put_time_ms, at = read_long(data, at)
        if data.startswith(self._described_bytes, at):
            at += len(self._described_bytes)
        else:
            at = self._read_described(data, at)
            if at < 0:
                return -1
        first = (group_seq, last_in_group, priority, persistent, expiry_ms)
        self._said = (*first, *self._described, None, put_time_ms, expires_at_ms)
        self._said_bytes = data[_AFTER_IDS:at]
        return at

    def _read_described(self, data: bytes, at: int) -> int:
        """Read format to application, and that there are no properties; -1 if there are."""
        start = at
        values: list[Any] = []
        for kind in _DESCRIBED_KINDS:
            value, at = kind(data, at)
            values.append(value)
        if data[at : at + 1] != avro.END:
            return -1
        self._described = cast("Described", tuple(values))
        self._described_bytes = data[start : at + 1]
        return at + 1


def _after(expected: bytes, data: bytes, at: int) -> int:
    """Return where the next field begins, behind bytes that must be there."""
    if not data.startswith(expected, at):
        raise IndexError(f"unexpected bytes at byte {at}")
    return at + len(expected)


def decode(data: bytes, body: bytes) -> tuple[MessageData, UnitPosition]:
    """Read one descriptor; schemas.UnreadableError if it is damaged."""
    return DescriptorReader().read(data, body)


def decode_by_schema(data: bytes, body: bytes) -> tuple[MessageData, UnitPosition]:
    """Read one descriptor as its schema says: the measure of Reader."""
    version = data[0] if data else VERSION
    value = (_older[version - 1] if 0 < version < VERSION else _codec).decode(data)
    properties: dict[str, Property] | None = value.pop("properties") or None
    headers = {name: _header(kind, value.pop(name, None)) for name, kind in _HEADERS.items()}
    position = UnitPosition(**{name: value.pop(name) for name in _POSITION})
    persistence = int(value.pop("persistent"))
    message = MessageData(
        body=body, persistence=persistence, properties=properties, **headers, **value
    )
    return message, position


def _header(kind: type[Struct], value: Any) -> Any:
    """Read a part of a descriptor that may be null."""
    if isinstance(value, tuple):  # with the name of its record
        value = value[1]
    return None if value is None else kind(**value)
