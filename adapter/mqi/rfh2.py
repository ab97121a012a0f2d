"""MQRFH2: properties in front of a body, for programs that read them there.

Written for gets without a message handle. A header that a program itself puts in front of a body is
part of the body, and stays as it is.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from html import escape
from typing import Any

from adapter.core.model.message import Property
from adapter.mqi import constants as mq

FIXED = struct.Struct("<4siiii8sii")
CCSID_UTF_8 = 1208
VERSION = 2
FORMAT = b"MQHRF2  "
OF_PUBLICATIONS = {
    "MQTopicString": "mqps.Top",
    "MQSubUserData": "mqps.Sud",
    "MQIsRetained": "mqps.Ret",
}
"""What the queue manager says of a publication, and where in a header."""


def has_more(properties: Mapping[str, Property]) -> bool:
    """Whether there are properties of a program: others alone are not worth a header by default."""
    return any(name not in OF_PUBLICATIONS for name in properties)


def with_properties(md: dict[str, Any], properties: Mapping[str, Property], body: bytes) -> bytes:
    """Return a body behind a header with its properties, and say so in the MQMD."""
    folders: dict[str, list[str]] = {}
    for name, value in properties.items():
        folder, _, rest = OF_PUBLICATIONS.get(name, name).rpartition(".")
        folders.setdefault(folder or "usr", []).append(_element(rest, value))
    parts = [_folder(name, elements) for name, elements in folders.items()]
    data = b"".join(parts)
    head = FIXED.pack(
        b"RFH ",
        VERSION,
        FIXED.size + len(data),
        md["Encoding"],
        md["CodedCharSetId"],
        md["Format"],
        0,
        CCSID_UTF_8,
    )
    md["Format"], md["Encoding"] = FORMAT, mq.MQENC_NATIVE
    md["CodedCharSetId"] = CCSID_UTF_8
    return head + data + body


def _folder(name: str, elements: list[str]) -> bytes:
    """Write a folder, its length before it, padded to a multiple of four bytes."""
    outer = "".join(f"<{part}>" for part in name.split("."))
    inner = "".join(f"</{part}>" for part in reversed(name.split(".")))
    text = f"{outer}{''.join(elements)}{inner}".encode()
    text = text.ljust(-(-len(text) // 4) * 4)
    return struct.pack("<i", len(text)) + text


def _element(name: str, value: Property) -> str:
    if value is None:
        return f'<{name} xsi:nil="true"></{name}>'
    if isinstance(value, bool):
        return f'<{name} dt="boolean">{int(value)}</{name}>'
    if isinstance(value, int):
        size = "i4" if -(2**31) <= value < 2**31 else "i8"
        return f'<{name} dt="{size}">{value}</{name}>'
    if isinstance(value, float):
        return f'<{name} dt="r8">{value!r}</{name}>'
    if isinstance(value, bytes):
        return f'<{name} dt="bin.hex">{value.hex()}</{name}>'
    return f"<{name}>{escape(value, quote=False)}</{name}>"
