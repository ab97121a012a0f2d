"""Text in fields of a fixed number of bytes, filled up with blanks: how MQ structures carry it.

Text is UTF-8. This module knows no structure.
"""

from __future__ import annotations


def pad(text: str, length: int) -> bytes:
    """Encode text into a field; what does not fit is cut, between two characters.

    >>> padded("QM1", 5)
    b'QM1  '
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > length:
        encoded = encoded[:length].decode("utf-8", "ignore").encode()
    return encoded.ljust(length)


def unpadded(field: bytes) -> str:
    """Read a field: up to the first NUL, without the blanks at its end."""
    return field.partition(b"\0")[0].decode("utf-8", "replace").rstrip(" ")
