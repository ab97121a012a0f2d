"""Headers of a record of Kafka: finding one by its name, and ids of keys.

Of headers of one name the first counts. This module does not know what headers mean.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from adapter.core.contract.exports import RecordHeaders
from adapter.core.contract.message import ID_LENGTH

Headers = RecordHeaders
NamedHeaders = Mapping[str, bytes | None]


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
