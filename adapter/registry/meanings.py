"""What the numbers of a logical type mean: its unit, and for a decimal its scale.

Avro's resolution looks at how a value is stored. But 12.5 with one digit behind the point is stored
as 1.25 with two, and a time in milliseconds as an early one in microseconds: to read one as the
other would say something that was never written. Java does so without a word; here such types are
not read as each other. A type without a logical type, or with one that Avro does not know, means
nothing more than it is stored as, and is read as any: so a logical type may be added later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

OF_EPOCH, OF_DAY = "since the epoch", "of a day"
UNITS: Final[Mapping[tuple[str, str], str]] = {
    ("int", "date"): f"days {OF_EPOCH}",
    ("int", "time-millis"): f"milliseconds {OF_DAY}",
    ("long", "time-micros"): f"microseconds {OF_DAY}",
    ("long", "timestamp-millis"): f"milliseconds {OF_EPOCH}",
    ("long", "timestamp-micros"): f"microseconds {OF_EPOCH}",
    ("long", "timestamp-nanos"): f"nanoseconds {OF_EPOCH}",
    ("long", "local-timestamp-millis"): f"milliseconds {OF_EPOCH}",
    ("long", "local-timestamp-micros"): f"microseconds {OF_EPOCH}",
    ("long", "local-timestamp-nanos"): f"nanoseconds {OF_EPOCH}",
}
"""By how it is stored, and logical type."""
DECIMAL: Final = "decimal"


def meaning(node: Mapping[str, Any]) -> str:
    """Return what the numbers of a type mean, as people say it; "" if it says nothing of that."""
    kind, logical = node.get("type"), node.get("logicalType")
    if not isinstance(kind, str) or not isinstance(logical, str):
        return ""
    if logical == DECIMAL:
        return f"a decimal of scale {node.get('scale', 0)}" if is_decimal(node) else ""
    return UNITS.get((kind, logical), "")


def differ(reader: Any, writer: Any) -> str:
    """Say how two types differ in what their numbers mean; "" if they do not. Both as JSON has
    them: whatever is no mapping means nothing.
    """
    if not (isinstance(reader, Mapping) and isinstance(writer, Mapping)):
        return ""
    wanted, written = meaning(reader), meaning(writer)
    if not wanted or not written or wanted == written:
        return ""
    return (
        f"{wanted} are not read from {written}"
        if wanted.endswith("s")
        else (f"{wanted} is not read from {written}")
    )


def is_decimal(node: Mapping[str, Any]) -> bool:
    """Whether a type with the logical type decimal is a valid one. One that is not is, by Avro's
    specification, what it is stored as.
    """
    kind, precision, scale = node.get("type"), node.get("precision"), node.get("scale", 0)
    if not _is_number(precision) or not _is_number(scale) or not 0 <= scale <= precision:
        return False
    if kind == "fixed":
        size = node.get("size")
        return precision > 0 and _is_number(size) and size > 0 and precision <= _digits_of(size)
    return kind == "bytes" and precision > 0


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _digits_of(size: int) -> int:
    """Return how many decimal digits every number has that fits so many bytes, with its sign."""
    return math.floor(math.log10(2) * (8 * size - 1))
