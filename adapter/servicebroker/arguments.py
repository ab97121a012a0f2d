"""The checks of arguments, as ServiceBrokerError. Each is that of adapter.channel.arguments.

This module knows no statement.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from adapter.channel import arguments as a
from adapter.servicebroker.errors import as_broker

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def _checked(check: Callable[P, ResultT]) -> Callable[P, ResultT]:
    @wraps(check)
    def checked(*arguments: P.args, **named: P.kwargs) -> ResultT:
        with as_broker():
            return check(*arguments, **named)

    return checked


as_flag = _checked(a.as_flag)
as_text = _checked(a.as_text)
as_unit_id = _checked(a.as_unit_id)
as_whole = _checked(a.as_whole)
