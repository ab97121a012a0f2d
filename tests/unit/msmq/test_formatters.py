"""ActiveX and bytes: what is written is read, and what is not of a basic type is refused."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msmq import ActiveXMessageFormatter, BytesFormatter, InvalidOperationError
from adapter.msmq import variants as vt

GUID = UUID("00112233-4455-6677-8899-aabbccddeeff")
WHEN = datetime(2003, 4, 24, 12, 0, 0, 5, UTC)


@pytest.mark.parametrize(
    ("value", "body", "kind"),
    [
        ("hé", "hé".encode("utf-16-le"), vt.VT_LPWSTR),
        ("", b"", vt.VT_LPWSTR),
        (b"\0x", b"\0x", vt.VT_BYTES),
        (True, b"\xff", vt.VT_BOOL),
        (False, b"\0", vt.VT_BOOL),
        (-2, b"\xfe\xff\xff\xff", vt.VT_I4),
        (2**40, b"\0\0\0\0\0\1\0\0", vt.VT_I8),
        (1.5, b"\0\0\0\0\0\0\xf8?", vt.VT_R8),
        (Decimal("1.25"), (12_500).to_bytes(8, "little"), vt.VT_CY),
        (GUID, GUID.bytes_le, vt.VT_CLSID),
        (None, b"", vt.VT_NULL),
    ],
)
def test_values_as_com_components_write_them(value: object, body: bytes, kind: int) -> None:
    formatter = ActiveXMessageFormatter()
    assert formatter.write(value) == (body, kind)
    assert formatter.read(body, kind) == value


def test_times_and_strings_of_com() -> None:
    formatter = ActiveXMessageFormatter()
    assert formatter.read(*formatter.write(WHEN)) == WHEN
    assert formatter.read("bstr".encode("utf-16-le"), vt.VT_BSTR) == "bstr"
    assert formatter.read(b"lpstr", vt.VT_LPSTR) == "lpstr"
    assert formatter.read(b"\xff\xff", vt.VT_BOOL) is True


@pytest.mark.parametrize(
    "value", [object(), 2**63, {}, WHEN.replace(tzinfo=None), "\ud800", Decimal("NaN")]
)
def test_what_cannot_be_written_is_named(value: object) -> None:
    with pytest.raises(InvalidOperationError, match="cannot write"):
        ActiveXMessageFormatter().write(value)


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", vt.VT_I4), (b"\xff", vt.VT_LPSTR), (b"x" * 8, 0), (b"", vt.VT_CLSID)]
)
def test_what_cannot_be_read_is_named(body: bytes, kind: int) -> None:
    with pytest.raises(InvalidOperationError, match="body_bytes"):
        ActiveXMessageFormatter().read(body, kind)


@given(body=st.binary(max_size=64), kind=st.integers(0, 0x2000))
def test_any_body_is_read_or_refused(body: bytes, kind: int) -> None:
    try:
        ActiveXMessageFormatter().read(body, kind)
    except InvalidOperationError:
        return


def test_bytes_are_bytes() -> None:
    formatter: Any = BytesFormatter()
    assert formatter.write(bytearray(b"x")) == (b"x", vt.VT_BYTES)
    assert formatter.read(b"y", 77) == b"y"
    with pytest.raises(InvalidOperationError):
        formatter.write("text")
