"""Message handles: properties that a program attaches to messages it puts, or finds with a get.

A property without a folder lies in the folder usr, as in MQ; its name is kept without it. What a
property is, core knows; here are the types that the MQI has for it.
"""

from __future__ import annotations

import itertools
import struct
from typing import Any

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.core.contract.message import Property
from adapter.mqi.reasons import MqiFailure

HANDLES_MAX = 10_000
"""A program that creates handles and deletes none is to hear of it."""
NAME_LENGTH_MAX = 4_095
USER_FOLDER = "usr."
NUMBERS = {
    mq.MQTYPE_INT8: ("b", 1),
    mq.MQTYPE_INT16: ("h", 2),
    mq.MQTYPE_INT32: ("i", 4),
    mq.MQTYPE_INT64: ("q", 8),
    mq.MQTYPE_FLOAT32: ("f", 4),
    mq.MQTYPE_FLOAT64: ("d", 8),
}
"""Format and size of the types that are numbers."""
RESERVED = ("Root.", "Body.")


class PropertyValue(Struct):
    """A property's value, and the type it was set with."""

    value: Property
    type: int


class MessageHandle:
    """One message handle: its properties in the order they were set, and a cursor over them."""

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.properties: dict[str, PropertyValue] = {}
        self.cursor: str | None = None

    def take(self, properties: dict[str, Any] | None) -> None:
        """Hold the properties of a message that was got, and no others."""
        self.cursor = None
        self.properties = {
            name: PropertyValue(value, type_of(value)) for name, value in (properties or {}).items()
        }


class MessageHandles:
    """All message handles of a program."""

    def __init__(self) -> None:
        self._handles: dict[int, MessageHandle] = {}
        self._numbers = itertools.count(1)

    def create(self, connection: int) -> int:
        """MQCRTMH. MqiFailure(2587) if there are too many."""
        if len(self._handles) >= HANDLES_MAX:
            raise MqiFailure(mq.MQRC_HMSG_NOT_AVAILABLE)
        number = next(self._numbers)
        self._handles[number] = MessageHandle(connection)
        return number

    def get(self, number: int) -> MessageHandle:
        """Return a handle. MqiFailure(2460) if no handle has this number."""
        handle = self._handles.get(number)
        if handle is None:
            raise MqiFailure(mq.MQRC_HMSG_ERROR)
        return handle

    def delete(self, connection: int, number: int) -> None:
        """MQDLTMH."""
        handle = self.get(number)
        if handle.connection not in (connection, mq.MQHC_UNASSOCIATED_HCONN):
            raise MqiFailure(mq.MQRC_HMSG_ERROR)
        del self._handles[number]

    def forget(self, connection: int) -> None:
        """A connection has ended: its handles go with it."""
        self._handles = {n: h for n, h in self._handles.items() if h.connection != connection}

    def properties_to_put(self, original: int, new: int) -> dict[str, Property] | None:
        """Return the properties of a put: those of the original message, then the new ones."""
        found: dict[str, Property] = {}
        for number in (original, new):
            if number:
                properties = self.get(number).properties
                found.update((name, held.value) for name, held in properties.items())
        return found or None

    def set(self, number: int, name: str, kind: int, value: Any) -> None:
        """MQSETMP: set a property, or replace it."""
        handle = self.get(number)
        plain = _plain(name)
        handle.properties[plain] = PropertyValue(_check_value(kind, value), kind)

    def unset(self, number: int, name: str, under_cursor: bool) -> None:
        """MQDLTMP. MqiFailure(2471) if there is no such property."""
        handle = self.get(number)
        plain = handle.cursor if under_cursor else _plain(name)
        if plain is None or handle.properties.pop(plain, None) is None:
            raise MqiFailure(mq.MQRC_PROPERTY_NOT_AVAILABLE)

    def find(self, number: int, name: str, options: int) -> tuple[str, PropertyValue]:
        """MQINQMP: find a property by its name, or by one that ends in %; set the cursor to it."""
        handle = self.get(number)
        names = list(handle.properties)
        if options & mq.MQIMPO_INQ_PROP_UNDER_CURSOR:
            fitting = [handle.cursor] if handle.cursor in handle.properties else []
        else:
            if options & mq.MQIMPO_INQ_NEXT and handle.cursor in handle.properties:
                names = names[names.index(handle.cursor) + 1 :]
            fitting = [one for one in names if _fits(one, name)]
        if not fitting or fitting[0] is None:
            raise MqiFailure(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        handle.cursor = fitting[0]
        return fitting[0], handle.properties[fitting[0]]


def type_of(value: Property) -> int:
    """Return the type that the MQI has for a value: of whole numbers the smaller that fits."""
    if isinstance(value, bool):
        return mq.MQTYPE_BOOLEAN
    if isinstance(value, int):
        return mq.MQTYPE_INT32 if -(2**31) <= value < 2**31 else mq.MQTYPE_INT64
    if isinstance(value, float):
        return mq.MQTYPE_FLOAT64
    if isinstance(value, str):
        return mq.MQTYPE_STRING
    return mq.MQTYPE_NULL if value is None else mq.MQTYPE_BYTE_STRING


def size_of(kind: int, value: Property) -> int:
    """Return the bytes that a value takes in the MQI."""
    if kind in NUMBERS:
        return NUMBERS[kind][1]
    if kind == mq.MQTYPE_BOOLEAN:
        return 4
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else 0


def convert(value: Property, kind: int) -> Property:
    """Return a value as another type. MqiFailure(2470, 2472, 2467) if it cannot be one."""
    if kind == mq.MQTYPE_STRING and not isinstance(value, bytes):
        return "" if value is None else _text(value)
    if kind == mq.MQTYPE_BYTE_STRING or value is None or isinstance(value, bytes):
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED)
    try:
        if kind == mq.MQTYPE_BOOLEAN:
            return bool(int(value))
        if kind in (mq.MQTYPE_FLOAT32, mq.MQTYPE_FLOAT64):
            return float(value)
        number = int(value)
        form, _ = NUMBERS[kind]
        struct.pack(form, number)
    except KeyError as error:
        raise MqiFailure(mq.MQRC_PROPERTY_TYPE_ERROR) from error
    except struct.error as error:
        raise MqiFailure(mq.MQRC_PROP_CONV_NOT_SUPPORTED) from error
    except ValueError as error:
        raise MqiFailure(mq.MQRC_PROP_NUMBER_FORMAT_ERROR) from error
    return number


def _text(value: Property) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value)


def _fits(name: str, wanted: str) -> bool:
    if wanted in ("%", USER_FOLDER + "%"):
        return wanted == "%" or "." not in name
    if wanted.endswith(".%"):
        return name.startswith(wanted[:-1])
    return name == _plain(wanted)


def _plain(name: str) -> str:
    """Check a property's name, and take the folder off that it lies in anyway."""
    if not name or name.startswith(RESERVED) or name.endswith("."):
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_ERROR)
    if len(name) > NAME_LENGTH_MAX:
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_TOO_BIG)
    if any(letter.isspace() or letter in "%'\"" for letter in name):
        raise MqiFailure(mq.MQRC_PROPERTY_NAME_ERROR)
    return name.removeprefix(USER_FOLDER)


def _check_value(kind: int, value: Any) -> Property:
    """Take a value of a type, as wide as that type is."""
    if kind == mq.MQTYPE_NULL:
        return None
    if kind == mq.MQTYPE_STRING:
        return str(value)
    if kind == mq.MQTYPE_BYTE_STRING:
        return bytes(value)
    if kind == mq.MQTYPE_BOOLEAN:
        return bool(value)
    if kind not in NUMBERS:
        raise MqiFailure(mq.MQRC_PROPERTY_TYPE_ERROR)
    form, _ = NUMBERS[kind]
    try:
        (narrow,) = struct.unpack(form, struct.pack(form, value))
    except struct.error as error:
        raise MqiFailure(mq.MQRC_PROP_NUMBER_FORMAT_ERROR) from error
    return float(narrow) if isinstance(narrow, float) else int(narrow)
