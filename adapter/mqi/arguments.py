"""What the functions of the extension modules take: each check is that of their C originals."""

from __future__ import annotations

from typing import Any


def buffer(value: object) -> bytes:
    """Take bytes. Raises TypeError for text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"a bytes-like object is required, not '{type(value).__name__}'")


def name_of(value: object) -> str:
    """Take a name as bytes or text; it ends at its first NUL."""
    text = value if isinstance(value, str) else buffer(value).decode("utf-8", "replace")
    return text.partition("\0")[0]


def as_list(value: object, problem: type[Exception]) -> list[Any]:
    """Take a list. Raises the module's own error."""
    if not isinstance(value, list):
        raise problem("Arg is not a list")
    return value


def integer(value: object) -> int:
    """Take a whole number of 32 bits. Raises TypeError, OverflowError."""
    if not isinstance(value, int):
        raise TypeError(f"an integer is required, not '{type(value).__name__}'")
    if not -(2**31) <= value < 2**31:
        raise OverflowError(f"{value} does not fit in 32 bits")
    return int(value)


def integers(values: list[Any]) -> list[int]:
    """Take whole numbers of 32 bits. Raises TypeError, OverflowError."""
    return [integer(value) for value in values]
