"""The checks of arguments, as ServiceBrokerError. Each is that of
adapter.connection.channel.arguments.

This module knows no statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from adapter.connection.channel import arguments as a
from adapter.core.attributes.broker import QUEUE
from adapter.servicebroker.errors import InvalidArgument, as_broker

P = ParamSpec("P")
ResultT = TypeVar("ResultT")
SCHEMA = "dbo"
OF_SCHEMA = f"{SCHEMA}."
BRACKETED = re.compile(r"\[((?:[^\]]|\]\])*)\]")
QUALIFIED = re.compile(rf"(?:(\w+|{BRACKETED.pattern})\.)?(?:{BRACKETED.pattern}|([^\[\].]+))")


def _with_broker_errors(check: Callable[P, ResultT]) -> Callable[P, ResultT]:
    @wraps(check)
    def checked(*arguments: P.args, **named: P.kwargs) -> ResultT:
        with as_broker():
            return check(*arguments, **named)

    return checked


as_flag = _with_broker_errors(a.as_flag)
as_text = _with_broker_errors(a.as_text)
as_unit_id = _with_broker_errors(a.as_unit_id)
as_whole = _with_broker_errors(a.as_whole)


def as_option(option: str, value: str) -> str:
    """Check a word of an option, which is written in upper or lower case, as in Transact-SQL."""
    return as_text(option, value).upper()


def as_name(kind: str, name: str) -> str:
    """Check the name of an object that is no queue; it may be in brackets, as in Transact-SQL.

    >>> as_name("service", "[//parts/Store]"), as_name("service", "//parts/[a]")
    ('//parts/Store', '//parts/[a]')
    """
    found = BRACKETED.fullmatch(as_text(kind, name))
    return name if found is None else _unescaped(found[1])


def as_queue(name: str) -> str:
    """Check the name of a queue, which may be written as in Transact-SQL: in brackets, with dbo.

    >>> as_queue("[dbo].[Orders]"), as_queue("[Orders]"), as_queue("dbo.[a]]b]"), as_queue("Orders")
    ('Orders', 'Orders', 'a]b', 'Orders')
    """
    text = as_text("queue", name)
    queue = _without_schema(text)
    if queue.lower().startswith(OF_SCHEMA):  # the queue manager takes it for the schema again
        raise InvalidArgument(
            f"queue {text}: the name of a queue does not begin with {OF_SCHEMA}: leave that out"
        )
    return queue


def as_new(kind: str, name: str) -> str:
    """Check the name of a new object: read once more, as views show it, it is the same name."""
    is_queue = kind == QUEUE
    found = as_queue(name) if is_queue else as_name("name", name)
    if written(found) != found if is_queue else as_name("name", found) != found:
        raise InvalidArgument(
            f"{found!r} cannot be a name, because brackets are how names are written: choose one "
            "without them"
        )
    return found


def written(queue: str) -> str:
    """Write the name of a queue so that as_queue() reads it.

    >>> written("Orders"), written("[Orders]"), as_queue(written("[Orders]"))
    ('Orders', '[[Orders]]]', '[Orders]')
    """
    try:
        is_read = as_queue(queue) == queue
    except InvalidArgument:
        is_read = False
    return queue if is_read else f"[{queue.replace(']', ']]')}]"


def _without_schema(text: str) -> str:
    found = QUALIFIED.fullmatch(text) if "[" in text else None
    if found is None:
        return text[len(OF_SCHEMA) :] if text.lower().startswith(OF_SCHEMA) else text
    schema, in_brackets, queue, plain = found.groups()
    if schema is not None and _unescaped(in_brackets or schema).lower() != SCHEMA:
        raise InvalidArgument(f"queue {text}: there is no schema but {SCHEMA}: leave it out")
    return plain or _unescaped(queue)


def _unescaped(name: str) -> str:
    return name.replace("]]", "]")
