"""Actions of rules, and the parameters that they are given.

This module knows how a program is started and a function called; it does not know when.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from enum import Enum
from typing import Any

from msgspec import Struct

from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.msmq.message import Message
from adapter.msmq.triggers.conditions import string_body


class MessageProperty(Enum):
    """A parameter: a property of the message that has activated the trigger."""

    ADMINISTRATION_QUEUE = "administration_queue"
    APP_SPECIFIC = "app_specific"
    ARRIVED_TIME = "arrived_time"
    BODY = "body"
    CORRELATION_ID = "correlation_id"
    DESTINATION_QUEUE = "destination_queue"
    ID = "id"
    LABEL = "label"
    LOOKUP_ID = "lookup_id"
    PRIORITY = "priority"
    RESPONSE_QUEUE = "response_queue"
    SENT_TIME = "sent_time"
    SOURCE_COMPUTER = "source_computer"
    TRANSACTION_ID = "transaction_id"


class TriggerName(Struct, frozen=True):
    """A parameter: the name of the trigger."""


class TriggerId(Struct, frozen=True):
    """A parameter: the id of the trigger."""


Parameter = MessageProperty | TriggerName | TriggerId | type[TriggerName] | type[TriggerId] | Any


class Run(Struct, frozen=True):
    """Start a program, with one argument for each parameter. A status other than 0 is a failure.

    executable: a program on PATH, or a path. A program of a trigger that is not serialized and only
    peeks runs beside the service; any other is waited for.
    """

    executable: str
    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if not self.executable:
            raise WrongArgument(f"executable is the name or path of a program: {self.executable!r}")
        check_parameters(self.parameters)


class Call(Struct, frozen=True):
    """Call a function with the parameters. function: a callable, or "module:function".

    What it raises is a failure.
    """

    function: Callable[..., object] | str
    parameters: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.function):
            found_function(self.function)
        check_parameters(self.parameters)

    def call(self, values: list[Any]) -> None:
        """Call the function."""
        function = self.function if callable(self.function) else found_function(self.function)
        function(*values)


Action = Run | Call


def check_parameters(parameters: object) -> None:
    """Raise WrongArgumentType unless this is a tuple or a list."""
    if not isinstance(parameters, tuple | list):
        raise WrongArgumentType(
            f"parameters is a tuple, such as (MessageProperty.LABEL,): {parameters!r}"
        )


def found_function(name: object) -> Callable[..., object]:
    """Import "module:function". Raises WrongArgumentType or WrongArgument."""
    if not isinstance(name, str):
        raise WrongArgumentType(f"a Call takes a function or 'module:function', not {name!r}")
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise WrongArgument(f"{name!r} does not name a function: write 'module:function'")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise WrongArgument(f"{name!r} does not name a function: {error}") from error
    if not callable(found):
        raise WrongArgument(f"{name!r} does not name a function, but a {type(found).__name__}")
    function: Callable[..., object] = found
    return function


def values_of(
    parameters: tuple[Parameter, ...], message: Message, name: str, identifier: str
) -> list[Any]:
    """Return the values of parameters. name, identifier: the trigger's."""
    return [_value(one, message, name, identifier) for one in parameters]


def _value(parameter: Parameter, message: Message, name: str, identifier: str) -> Any:
    if isinstance(parameter, MessageProperty):
        if parameter is MessageProperty.BODY:
            text = string_body(message)
            return message.body_bytes if text is None else text
        return getattr(message, parameter.value)
    if isinstance(parameter, TriggerName) or parameter is TriggerName:
        return name
    if isinstance(parameter, TriggerId) or parameter is TriggerId:
        return identifier
    return parameter


def as_argument(value: Any) -> str:
    """Return a value as an argument of a program; bytes in hexadecimal."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    return str(value.value if isinstance(value, Enum) else value)
