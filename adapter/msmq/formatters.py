"""Formatters: values of programs to message bodies, and back.

A formatter is an object with write(value) -> (body, body type) and read(body, body type) -> value.
Reading foreign bodies runs no code of theirs: nothing is unpickled, and no class is looked up by a
name that a body contains. This module knows no queue.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from adapter.msmq import variants as vt
from adapter.msmq.errors import InvalidOperationError

YEAR_1 = datetime(1, 1, 1, tzinfo=UTC)
CURRENCY_SCALE = 10_000
TICKS_OF_MICROSECOND = 10
NUMBERS = {
    vt.VT_I1: "<b", vt.VT_UI1: "<B", vt.VT_I2: "<h", vt.VT_UI2: "<H", vt.VT_I4: "<i",
    vt.VT_UI4: "<I", vt.VT_I8: "<q", vt.VT_UI8: "<Q", vt.VT_R4: "<f", vt.VT_R8: "<d",
}  # fmt: skip
"""Numbers by their type, as struct has them."""


class MessageFormatter(Protocol):
    """What MessageQueue.formatter is."""

    def write(self, value: Any) -> tuple[bytes, int]:
        """Return a body and its type. Raises InvalidOperationError for a value it cannot write."""

    def read(self, body: bytes, body_type: int) -> Any:
        """Return the value of a body. Raises InvalidOperationError for a body it cannot read."""


class BytesFormatter:
    """Bodies are bytes, and stay as they are."""

    def write(self, value: Any) -> tuple[bytes, int]:
        """Return the bytes. Raises InvalidOperationError for anything else."""
        if not isinstance(value, bytes | bytearray | memoryview):
            raise cannot_write(self, value, "bytes")
        return bytes(value), vt.VT_BYTES

    def read(self, body: bytes, body_type: int) -> bytes:  # noqa: ARG002 -- whatever it is
        """Return the body."""
        return body


class ActiveXMessageFormatter:
    """Bodies as COM components of MSMQ write them: a value of a basic type, named by the body type.

    Written and read: str, bytes, bool, int of up to 64 bits, float, Decimal (currency), datetime
    (with a zone), UUID and None.
    """

    def write(self, value: Any) -> tuple[bytes, int]:
        """Return a body and its type."""
        try:
            return self._write(value)
        except (struct.error, ArithmeticError, ValueError) as error:
            raise cannot_write(self, value, str(error)) from error

    def _write(self, value: Any) -> tuple[bytes, int]:
        if value is None:
            return b"", vt.VT_NULL
        if isinstance(value, str):
            return value.encode("utf-16-le"), vt.VT_LPWSTR
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value), vt.VT_BYTES
        if isinstance(value, bool):
            return (b"\xff" if value else b"\0"), vt.VT_BOOL
        if isinstance(value, int):
            kind = vt.VT_I4 if -(2**31) <= value < 2**31 else vt.VT_I8
            return struct.pack(NUMBERS[kind], value), kind
        if isinstance(value, float):
            return struct.pack("<d", value), vt.VT_R8
        if isinstance(value, UUID):
            return value.bytes_le, vt.VT_CLSID
        if isinstance(value, Decimal):
            return struct.pack("<q", round(value * CURRENCY_SCALE)), vt.VT_CY
        if isinstance(value, datetime) and value.utcoffset() is not None:
            ticks = (value - YEAR_1) // timedelta(microseconds=1) * TICKS_OF_MICROSECOND
            return struct.pack("<q", ticks), vt.VT_DATE
        raise cannot_write(self, value, "a value of a basic type, and a datetime with a zone")

    def read(self, body: bytes, body_type: int) -> Any:
        """Return the value of a body, by its type."""
        try:
            return self._read(body, body_type)
        except (struct.error, ValueError, OverflowError) as error:
            raise cannot_read(self, body_type, str(error)) from error

    def _read(self, body: bytes, body_type: int) -> Any:
        if body_type in NUMBERS:
            return struct.unpack_from(NUMBERS[body_type], body)[0]
        if body_type in (vt.VT_BSTR, vt.VT_LPWSTR):
            return body.decode("utf-16-le")
        if body_type == vt.VT_LPSTR:
            return body.decode("ascii")
        if body_type == vt.VT_BYTES:
            return body
        if body_type == vt.VT_BOOL:
            return any(body[:2])
        if body_type == vt.VT_NULL:
            return None
        if body_type == vt.VT_CLSID:
            return UUID(bytes_le=body[:16])
        (number,) = struct.unpack_from("<q", body)
        if body_type == vt.VT_CY:
            return Decimal(number) / CURRENCY_SCALE
        if body_type == vt.VT_DATE:
            return YEAR_1 + timedelta(microseconds=number // TICKS_OF_MICROSECOND)
        raise cannot_read(self, body_type, "it is not a value of a basic type")


def cannot_write(formatter: object, value: object, takes: str) -> InvalidOperationError:
    """Make the error for a value that a formatter cannot write."""
    return InvalidOperationError(
        f"{type(formatter).__name__} cannot write a {type(value).__name__}: {takes}"
    )


def cannot_read(formatter: object, body_type: int, why: str) -> InvalidOperationError:
    """Make the error for a body that a formatter cannot read."""
    return InvalidOperationError(
        f"{type(formatter).__name__} cannot read the body, which is of type {body_type}: {why}; "
        "set the formatter that it was written with, or read body_bytes"
    )
