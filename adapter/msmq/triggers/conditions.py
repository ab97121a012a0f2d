"""Conditions of rules: tests of one property of a message.

The conditions of one rule hold together. This module knows neither queues nor actions.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.msmq import variants as vt
from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.formatters import ActiveXMessageFormatter
from adapter.msmq.message import Message
from adapter.msmq.xml_formatter import XmlMessageFormatter

STRINGS = frozenset({vt.VT_BSTR, vt.VT_LPSTR, vt.VT_LPWSTR})


class MessageCondition(Struct, frozen=True):
    """A test of a message."""

    def holds(self, message: Message) -> bool:
        """Whether it holds."""
        del message
        return False


class LabelContains(MessageCondition, frozen=True):
    """The label contains a text; case counts."""

    text: str

    def holds(self, message: Message) -> bool:
        return self.text in message.label


class LabelDoesNotContain(MessageCondition, frozen=True):
    """The label does not contain a text; case counts."""

    text: str

    def holds(self, message: Message) -> bool:
        return self.text not in message.label


class BodyContains(MessageCondition, frozen=True):
    """The body is a string that contains a text; false for all other bodies."""

    text: str

    def holds(self, message: Message) -> bool:
        body = string_body(message)
        return body is not None and self.text in body


class BodyDoesNotContain(MessageCondition, frozen=True):
    """The body is a string that does not contain a text; false for all other bodies."""

    text: str

    def holds(self, message: Message) -> bool:
        body = string_body(message)
        return body is not None and self.text not in body


class PriorityEquals(MessageCondition, frozen=True):
    """The priority is this."""

    priority: int

    def holds(self, message: Message) -> bool:
        return message.priority == self.priority


class PriorityNotEqual(MessageCondition, frozen=True):
    """The priority is another."""

    priority: int

    def holds(self, message: Message) -> bool:
        return message.priority != self.priority


class PriorityGreaterThan(MessageCondition, frozen=True):
    """The priority is higher."""

    priority: int

    def holds(self, message: Message) -> bool:
        return message.priority > self.priority


class PriorityLessThan(MessageCondition, frozen=True):
    """The priority is lower."""

    priority: int

    def holds(self, message: Message) -> bool:
        return message.priority < self.priority


class AppSpecificEquals(MessageCondition, frozen=True):
    """The application's number is this."""

    number: int

    def holds(self, message: Message) -> bool:
        return message.app_specific == self.number


class AppSpecificNotEqual(MessageCondition, frozen=True):
    """The application's number is another."""

    number: int

    def holds(self, message: Message) -> bool:
        return message.app_specific != self.number


class AppSpecificGreaterThan(MessageCondition, frozen=True):
    """The application's number is higher."""

    number: int

    def holds(self, message: Message) -> bool:
        return message.app_specific > self.number


class AppSpecificLessThan(MessageCondition, frozen=True):
    """The application's number is lower."""

    number: int

    def holds(self, message: Message) -> bool:
        return message.app_specific < self.number


class SourceComputerEquals(MessageCondition, frozen=True):
    """The message was sent from this computer; case does not count."""

    computer: str

    def holds(self, message: Message) -> bool:
        return message.source_computer.casefold() == self.computer.casefold()


class SourceComputerNotEqual(MessageCondition, frozen=True):
    """The message was sent from another computer; case does not count."""

    computer: str

    def holds(self, message: Message) -> bool:
        return message.source_computer.casefold() != self.computer.casefold()


CONDITIONS: tuple[type[MessageCondition], ...] = (
    LabelContains, LabelDoesNotContain, BodyContains, BodyDoesNotContain, PriorityEquals,
    PriorityNotEqual, PriorityGreaterThan, PriorityLessThan, AppSpecificEquals,
    AppSpecificNotEqual, AppSpecificGreaterThan, AppSpecificLessThan, SourceComputerEquals,
    SourceComputerNotEqual,
)  # fmt: skip


def string_body(message: Message) -> str | None:
    """Return the body if it is a string: of a COM component, or of XmlMessageFormatter."""
    body, kind = message.body_bytes, message.body_type
    try:
        if kind in STRINGS:
            found = ActiveXMessageFormatter().read(body, kind)
        elif kind == vt.VT_EMPTY and body:
            found = XmlMessageFormatter().read(body, kind)
        else:
            return None
    except InvalidOperationError:
        return None
    return found if isinstance(found, str) else None
