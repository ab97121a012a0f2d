"""Message handles: properties that a program attaches to messages it puts, or finds with a get.

What a property is, core knows. This module knows no rule of names, and none of values.
"""

from __future__ import annotations

import itertools
from typing import Any

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.core.contract.message import Property
from adapter.mqi import options as permitted
from adapter.mqi import property_names
from adapter.mqi.property_values import FLOATING, WHOLE, check_value, holds, type_of
from adapter.mqi.reasons import MqiFailure

HANDLES_MAX = 10_000
"""A program that creates handles and deletes none is to hear of it."""


class PropertyValue(Struct):
    """A property's value, and the type it was set with.

    is_guessed: it came with a message, which says of a number only whether it is whole.
    """

    value: Property
    type: int
    is_guessed: bool = False

    def is_of(self, kind: int) -> bool:
        """Whether it was set with a type (MQTYPE_*), as far as that is known."""
        if kind == self.type:
            return True
        kinds = WHOLE if self.type in WHOLE else FLOATING
        return self.is_guessed and {kind, self.type} <= kinds and holds(kind, self.value)


class MessageHandle:
    """One message handle: its properties in the order they were set, and a cursor over them."""

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.properties: dict[str, PropertyValue] = {}
        self.cursor: str | None = None
        """The property that was inquired last, unless it is deleted."""
        self._wanted = ""
        self._next_at = 0  # behind the cursor, also of a property that is deleted

    def take(self, properties: dict[str, Any] | None) -> None:
        """Hold the properties of a message that was got, and no others."""
        self.cursor, self._wanted, self._next_at = None, "", 0
        self.properties = {
            name: PropertyValue(value, type_of(value), is_guessed=True)
            for name, value in (properties or {}).items()
        }

    def find(self, wanted: str, *, is_next: bool) -> str | None:
        """Set the cursor to a property, the first that fits or the next one; None: it stays.

        With another name than before the next one is the first.
        """
        names = list(self.properties)
        begin = self._next_at if is_next and wanted == self._wanted else 0
        found = property_names.fitting(names[begin:], wanted)
        if not found:
            return None
        self.cursor, self._wanted = found[0], wanted
        self._next_at = names.index(found[0]) + 1
        return found[0]

    def delete(self, name: str) -> None:
        """Delete a property; the cursor stays between those beside it. MqiFailure(2471), which is a
        warning, if the handle does not have it.
        """
        if name not in self.properties:
            raise MqiFailure(mq.MQRC_PROPERTY_NOT_AVAILABLE, warning=True)
        if list(self.properties).index(name) < self._next_at:
            self._next_at -= 1
        if name == self.cursor:
            self.cursor = None
        del self.properties[name]


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

    def get(self, number: int, connection: int) -> MessageHandle:
        """Return a handle of a connection, or of none. MqiFailure(2460) if there is no such one."""
        handle = self._handles.get(number)
        if handle is None or handle.connection not in (connection, mq.MQHC_UNASSOCIATED_HCONN):
            raise MqiFailure(mq.MQRC_HMSG_ERROR)
        return handle

    def delete(self, connection: int, number: int) -> None:
        """MQDLTMH."""
        self.get(number, connection)
        self._handles.pop(number, None)  # it may be forgotten meanwhile

    def forget(self, connection: int) -> None:
        """A connection has ended: its handles go with it. Other threads make some meanwhile."""
        for number, handle in list(self._handles.items()):
            if handle.connection == connection:
                self._handles.pop(number, None)

    def properties_to_put(
        self, connection: int, original: int, new: int
    ) -> dict[str, Property] | None:
        """Return the properties of a put: those of the original message, then the new ones."""
        found: dict[str, Property] = {}
        for number in (original, new):
            if number:
                properties = self.get(number, connection).properties
                found.update((name, held.value) for name, held in properties.items())
        return found or None

    def set(self, connection: int, number: int, name: str, kind: int, value: Any) -> None:
        """MQSETMP: set a property, or replace it."""
        handle = self.get(number, connection)
        plain = property_names.to_set(name, handle.properties)
        if property_names.is_of_other_type(plain, kind):
            raise MqiFailure(mq.MQRC_PROPERTY_TYPE_ERROR)
        plain = property_names.known_as(plain, handle.properties)
        handle.properties[plain] = PropertyValue(check_value(kind, value), kind)

    def unset(self, connection: int, number: int, name: str, under_cursor: bool) -> None:
        """MQDLTMP. MqiFailure(2442, 2471) if there is no such name, or no such property."""
        handle = self.get(number, connection)
        plain = handle.cursor
        if not under_cursor:
            plain = property_names.known_as(property_names.single(name), handle.properties)
        if plain is None:
            raise MqiFailure(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        handle.delete(plain)

    def find(
        self, connection: int, number: int, name: str, options: int
    ) -> tuple[str, PropertyValue]:
        """MQINQMP: find a property by its name, or by one that ends in %; set the cursor to it."""
        handle = self.get(number, connection)
        permitted.INQUIRE_PROPERTY.check(options)
        if options & mq.MQIMPO_INQ_PROP_UNDER_CURSOR:
            found = handle.cursor
        else:
            found = handle.find(name, is_next=bool(options & mq.MQIMPO_INQ_NEXT))
        if found is None:
            raise MqiFailure(mq.MQRC_PROPERTY_NOT_AVAILABLE)
        return found, handle.properties[found]
