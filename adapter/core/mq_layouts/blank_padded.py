"""Text in fields of a fixed number of bytes, filled up with blanks: how MQ structures carry it.

Text is UTF-8. Programs write other character sets too, and no field says which. A byte that is no
UTF-8 is a character of its own here, U+F700 and the byte, so that a field which is read and written
again has the bytes that it had. Those characters are for private use, and a text with them can be
kept and sent as any other, which one with halves of surrogate pairs cannot. This module knows no
structure.
"""

from __future__ import annotations

from typing import Final

_FOREIGN: Final = 0xF700
_BYTES: Final = range(0x80, 0x100)
_TO_BYTES: Final = {chr(_FOREIGN + byte): bytes([byte]) for byte in _BYTES}
_ESCAPED: Final = {0xDC00 + byte: chr(_FOREIGN + byte) for byte in _BYTES}
"""What Python makes of such a byte, with "surrogateescape"."""
_READ: Final = _ESCAPED | {
    ord(one): "".join(chr(_FOREIGN + byte) for byte in one.encode()) for one in _TO_BYTES
}
"""And for these characters themselves, if a program writes them in UTF-8: for each of its bytes."""


def pad(text: str, length: int) -> bytes:
    """Encode text into a field; what does not fit is cut, between two characters.

    >>> pad("QM1", 5)
    b'QM1  '
    """
    if text.isascii():
        return text.encode()[:length].ljust(length)
    field = b""
    for character in text:
        encoded = _TO_BYTES.get(character) or character.encode("utf-8", "replace")
        if len(field) + len(encoded) > length:
            break
        field += encoded
    return field.ljust(length)


def length_of(text: str) -> int:
    """Return how many bytes a text takes in a field.

    >>> length_of("é")
    2
    """
    if text.isascii():
        return len(text)
    return sum(len(_TO_BYTES.get(one) or one.encode("utf-8", "replace")) for one in text)


def unpadded(field: bytes) -> str:
    """Read a field: up to the first NUL, without the blanks at its end."""
    text = field.partition(b"\0")[0].decode("utf-8", "surrogateescape").rstrip(" ")
    return text if text.isascii() else text.translate(_READ)
