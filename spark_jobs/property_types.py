"""Types of message properties, whose values are text in a column: what they were, and are again.

This module must not know where properties come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

from adapter.core.contract.message import Property

TYPE_NAMES: Mapping[type, str] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    NoneType: "null",
}
"""As the descriptor's schema names them."""


def as_typed(text: str | None, kind: str | None) -> Property:
    """A value of the type that a message gave it; text as it is if no type is known."""
    if text is None or kind == "null":
        return None
    match kind:
        case "boolean":
            return text == "true"
        case "long":
            return int(text)
        case "double":
            return float(text)
        case "bytes":
            return bytes.fromhex(text)
    return text
