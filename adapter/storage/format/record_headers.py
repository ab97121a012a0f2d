"""Headers of a record of Kafka: reading them, finding one by its name, and ids of keys.

Of headers of one name the first counts. This module does not know what headers mean.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

from adapter.core.contract.exports import RecordHeaders
from adapter.core.contract.message import ID_LENGTH

Headers = RecordHeaders
NamedHeaders = Mapping[str, bytes | None]
UNREADABLE = "the name of a header is no text in UTF-8"


class RecordAsRead(Protocol):
    """A record as the client of Kafka gives it."""

    def headers(self) -> Any:
        """Return pairs of name and value, or None."""


def headers_of(record: RecordAsRead) -> Headers | None:
    """Return the headers of a record; None if the client cannot read them: see UNREADABLE.

    Nothing else asks a record for its headers: any program that may write to a topic may write
    such a name. Then the client raises SystemError; or, if the garbage collector has run meanwhile,
    it returns a pair without a name, and a process that looks at that ends by a segmentation fault.
    """
    try:
        pairs = record.headers() or []
        if len(gc.get_referents(*pairs)) != 2 * len(pairs):
            return None
        return [(name, bytes_of(value)) for name, value in pairs]
    except (UnicodeDecodeError, SystemError):
        return None


def bytes_of(value: object) -> bytes | None:
    """Return a key, a value or a header's value as the client gives it; a text as its bytes."""
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else None


def name_headers(headers: Headers) -> NamedHeaders:
    """Return the first header of each name by its name."""
    return dict(reversed(headers))


def text_of(headers: NamedHeaders, name: str) -> str:
    """Return the text of a header, without blanks around it; "" without a name, and if the header
    is missing, null or no text.
    """
    value = headers.get(name) if name else None
    try:
        return value.decode().strip() if value else ""
    except UnicodeDecodeError:
        return ""


def ident_of(key: bytes) -> bytes:
    """Return the id of a key: its bytes, filled up with zeros; of a longer one the first 24 bytes
    of its SHA-256.

    >>> ident_of(b"customer-17").rstrip(bytes(1))
    b'customer-17'
    """
    short = key if len(key) <= ID_LENGTH else hashlib.sha256(key).digest()[:ID_LENGTH]
    return short.ljust(ID_LENGTH, b"\0")
