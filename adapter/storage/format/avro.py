"""Avro's binary encoding of the few types that the hot path writes, without a schema walk.

fastavro needs 6 us for a descriptor and builds a dict first; these functions need a third of that.
A property test proves every value that format.descriptor and format.entries write byte-equal to
fastavro's. This module knows the Avro specification's binary encoding and no schema.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

TRUE: Final = b"\x01"
FALSE: Final = b"\x00"
END: Final = b"\x00"  # of an array's or a map's blocks
_SMALL: Final = 1 << 13  # numbers whose encoding is looked up: two bytes at most
_MEDIUM: Final = 1 << 20  # three bytes at most: places in lanes
_TOO_LONG: Final = 1 << 64
_BITS_MAX: Final = 70  # of ten bytes
_TIMES: Final = 1 << 34  # from here on six bytes, up to 128 times as much: milliseconds, until 2039


def _zigzag(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


_TABLE: Final = tuple(_zigzag(number) for number in range(_SMALL))

_BELOW: Final = tuple(_zigzag(-number) for number in range(64))
"""One byte each; -1 is what a message says that does not expire."""


def long(number: int) -> bytes:
    """Encode an int or long."""
    if 0 <= number < _SMALL:
        return _TABLE[number]
    if -64 < number < 0:
        return _BELOW[-number]
    rest = number << 1
    if _SMALL <= number < _MEDIUM:
        low = rest & 0x7F | (rest & 0x3F80) << 1 | rest >> 14 << 16
        return (low | 0x8080).to_bytes(3, "little")
    if _TIMES <= number < _TIMES << 7:
        low = rest & 0x7F | (rest & 0x3F80) << 1 | (rest & 0x1FC000) << 2
        high = (rest & 0xFE00000) << 3 | (rest & 0x7F0000000) << 4 | rest >> 35 << 40
        return (low | high | 0x8080808080).to_bytes(6, "little")
    return _zigzag(number)


def data(value: bytes) -> bytes:
    """Encode bytes. Avoid it for large values: it copies them."""
    return long(len(value)) + value


def _text(value: str) -> bytes:
    encoded = value.encode()
    return long(len(encoded)) + encoded


text: Callable[[str], bytes] = lru_cache(maxsize=4096)(_text)
"""Encode a string; names recur, so encodings are kept."""


def read_long(source: bytes, at: int) -> tuple[int, int]:
    """Read an int or long, and say where the next thing begins; IndexError past the end, and of a
    number of more than 64 bits.
    """
    byte = source[at]
    value = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        at += 1
        byte = source[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > _BITS_MAX or value >= _TOO_LONG:
            raise IndexError(f"a number of more than 64 bits at byte {at}")
    return value >> 1 ^ -(value & 1), at + 1


def read_text(source: bytes, at: int) -> tuple[str, int]:
    """Read a string, and say where the next thing begins; IndexError past the end."""
    size, at = read_long(source, at)
    if size < 0 or at + size > len(source):
        raise IndexError(f"a string of {size} bytes at byte {at}")
    return source[at : at + size].decode(), at + size


def read_data(source: bytes, at: int) -> tuple[bytes, int]:
    """Read bytes, and say where the next thing begins; IndexError past the end."""
    size, at = read_long(source, at)
    if size < 0 or at + size > len(source):
        raise IndexError(f"{size} bytes at byte {at}")
    return source[at : at + size], at + size
