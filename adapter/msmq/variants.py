"""Types of message bodies (PROPID_M_BODY_TYPE), as numbers of VARENUM. It knows no body."""

from __future__ import annotations

VT_EMPTY = 0
VT_NULL = 1
VT_I2 = 2
VT_I4 = 3
VT_R4 = 4
VT_R8 = 5
VT_CY = 6
VT_DATE = 7
VT_BSTR = 8
VT_BOOL = 11
VT_I1 = 16
VT_UI1 = 17
VT_UI2 = 18
VT_UI4 = 19
VT_I8 = 20
VT_UI8 = 21
VT_LPSTR = 30
VT_LPWSTR = 31
VT_CLSID = 72
BINARY = 768  # what BinaryMessageFormatter of System.Messaging writes
VT_BYTES = 0x1000 | VT_UI1
"""An array of bytes: a body that no formatter made."""
