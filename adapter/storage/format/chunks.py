"""Chunks: a body that is too long for one record of a queue's topic is several of them in a row.

Each carries the message's descriptor, and in the header `mqck` which chunk it is, from 0, and of
how many: two 32-bit numbers, big-endian. They are written in one transaction, in order, and nothing
else comes between them.

A record whose `mqck` is NO_MESSAGE belongs to no message: a mover writes it where only a record can
end a transaction. Who joins chunks leaves it out, like every chunk whose message began before.
This module knows no topics.
"""

from __future__ import annotations

from struct import Struct as Layout
from struct import error as LayoutError  # noqa: N812 -- of a class that is called error
from typing import Any

from adapter.storage.format.schemas import UnreadableError

HEADER = "mqck"
CHUNK_BYTES = 4 * 1024 * 1024
"""MQ's usual maximum length: the default maximum of a queue always fits into one record."""
_PLACE = Layout(">II")
NO_MESSAGE = _PLACE.pack(2**31 - 3, 2**31 - 1)
"""Not the last chunk, and no message has so many."""

ChunkPlace = tuple[int, int]
"""Which chunk a record is, and of how many."""
Headers = list[tuple[str, Any]]
"""Of a record: bytes here; for their readers and writers str and None as well."""


def cut(body: bytes, chunk_bytes: int = CHUNK_BYTES) -> list[tuple[bytes, bytes]]:
    """Return header and value of each record that a long body becomes; [] for one that is not."""
    count = -(-len(body) // chunk_bytes)
    if count <= 1:
        return []
    return [
        (_PLACE.pack(index, count), body[index * chunk_bytes : (index + 1) * chunk_bytes])
        for index in range(count)
    ]


def records_of(
    header: tuple[str, bytes], body: bytes, chunk_bytes: int = CHUNK_BYTES
) -> list[tuple[Headers, bytes]]:
    """Return headers and value of each record that a message is on its topic.

    header: its descriptor, that each of them carries.
    """
    pieces = cut(body, chunk_bytes)
    if not pieces:
        return [([header], body)]
    return [([header, (HEADER, place)], piece) for place, piece in pieces]


def place_of(header: object) -> ChunkPlace:
    """Read which chunk a record is, and of how many; (0, 1) without the header."""
    if header is None:
        return 0, 1
    try:
        index, count = _PLACE.unpack(header)  # type: ignore[arg-type]  # whatever it is
    except (LayoutError, TypeError) as error:
        raise UnreadableError(f"header {HEADER}: {header!r} is not the place of a chunk") from error
    if index >= count:
        raise UnreadableError(f"header {HEADER}: chunk {index} of {count}")
    return index, count


class Joiner:
    """Joins the chunks of one partition's records, given in order."""

    __slots__ = ("_chunks", "_of")

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._of = 0, b""
        """Of the message whose first chunks these are: how many it has, and its descriptor."""

    def clear(self) -> None:
        """Begin again at another place."""
        self._chunks = []

    def take(self, header: object, value: bytes, described: bytes) -> bytes | None:
        """Take a record; the body that is complete with it, or None.

        described: its descriptor, which no other message has. A chunk behind those of another
        message, as comes when records between were read elsewhere, is joined with none. Who begins
        to read within a message does not get it. Raises UnreadableError.
        """
        index, count = place_of(header)
        if index == 0:
            self._chunks, self._of = [], (count, described)
        if index != len(self._chunks) or self._of != (count, described):
            return None
        if count == 1:
            return value
        self._chunks.append(value)
        if index + 1 < count:
            return None
        chunks, self._chunks = self._chunks, []
        return b"".join(chunks)
