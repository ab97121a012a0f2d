"""Fields of a decoded value of a record as properties: `order.customer.tier` by its path.

A number, a text, a truth value, bytes and null can be a property; a record, a map or an array
cannot, but what is inside of a record or a map can. This module does not know how a value is
decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapter.core.contract.message import PROPERTY_TYPES, Property

NAME_LENGTH_MAX = 255
"""Of a path, with ALL: a schema of others may have names of any length."""
ALL, NONE = "ALL", "NONE"


def fields_of(value: Any, wanted: str) -> Iterator[tuple[str, Property]]:
    """Iterate over the fields that are wanted: ALL, NONE, or paths separated by commas."""
    if wanted == ALL:
        yield from _leaves(value, "")
    elif wanted != NONE:
        for path in wanted.split(","):
            yield from _at(value, path.strip())


def _leaves(value: Any, prefix: str) -> Iterator[tuple[str, Property]]:
    if not isinstance(value, dict):
        return
    for name, one in value.items():
        path = f"{prefix}{name}"
        if not name or len(path) > NAME_LENGTH_MAX:
            continue
        if type(one) in PROPERTY_TYPES:
            yield path, one
        else:
            yield from _leaves(one, f"{path}.")


def _at(value: Any, path: str) -> Iterator[tuple[str, Property]]:
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return
        value = value[name]
    if type(value) in PROPERTY_TYPES:
        yield path, value
