"""The checks of arguments, for faces that have no reason codes of IBM MQ.

Each check is that of adapter.connection.channel.arguments; its errors are those of programs that
know no other ones. This module knows no verb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from adapter.connection.channel import arguments as a
from adapter.errors import InvalidOption, InvalidType, InvalidValue

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


class WrongArgumentType(InvalidType):
    """An argument has the wrong type."""


class WrongArgument(InvalidOption):
    """An argument, or a combination of arguments, is invalid."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Have errors of arguments raised without the reason codes of single ones."""
    try:
        yield
    except InvalidType as error:
        raise WrongArgumentType(error.text) from None
    except InvalidValue as error:
        raise WrongArgument(error.text) from None


def _plain(check: Callable[P, ResultT]) -> Callable[P, ResultT]:
    @wraps(check)
    def checked(*arguments: P.args, **named: P.kwargs) -> ResultT:
        with plain_errors():
            return check(*arguments, **named)

    return checked


as_flag = _plain(a.as_flag)
as_name = _plain(a.as_name)
as_text = _plain(a.as_text)
as_unit_id = _plain(a.as_unit_id)
as_wait_ms = _plain(a.as_wait_ms)
as_whole = _plain(a.as_whole)
