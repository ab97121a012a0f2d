"""Records of a queue's topic, decoded: headers and value become a message and its position.

A message is one record, or several in a row that carry the same descriptor (format.chunks). This is
the one place that joins them and reads the descriptor. It knows records of Kafka's client; it must
not know why they are read.
"""

from __future__ import annotations

from confluent_kafka import Message as Record

from adapter.core.contract.message import MessageData
from adapter.storage.format import chunks, descriptor
from adapter.storage.format.descriptor import UnitPosition
from adapter.storage.format.record_headers import headers_of
from adapter.storage.format.schemas import UnreadableError


class NotAMessageError(UnreadableError):
    """A record without a descriptor: no queue manager wrote it."""


class RecordDecoder:
    """Decodes the records of one partition, given in order. For one thread. Raises UnreadableError.

    take() joins records; position() looks at one record and changes nothing.
    """

    def __init__(self) -> None:
        self._descriptors = descriptor.DescriptorReader()
        self._joiner = chunks.Joiner()

    def clear(self) -> None:
        """Forget a message of which only some records were taken: reading goes on elsewhere."""
        self._joiner.clear()

    def take(self, record: Record) -> tuple[MessageData, UnitPosition] | None:
        """Return the message that is complete with this record, or None.

        A message is left out if its first record was not taken.
        """
        headers = _headers(record)
        described = _descriptor(headers)
        body: bytes | None = record.value() or b""
        if len(headers) == 1:  # the usual message: one record, and its descriptor
            read = self._descriptors.read(described, body or b"")
            self._joiner.clear()
            return read
        self._descriptors.read(described, b"")  # what is no message is not joined with one
        body = self._joiner.take(headers.get(chunks.HEADER), body or b"", described)
        return None if body is None else self._descriptors.read(described, body)

    def position(self, record: Record) -> UnitPosition:
        """Return the position of the message that a record belongs to."""
        return self._descriptors.read(_descriptor(_headers(record)), b"")[1]


def chunk_of(record: Record) -> tuple[int, int]:
    """Return which record of its message this is, from 0, and of how many."""
    return chunks.place_of(_headers(record).get(chunks.HEADER))


def is_no_message(record: Record) -> bool:
    """Whether this record belongs to no message, and only ended a transaction."""
    return _headers(record).get(chunks.HEADER) == chunks.NO_MESSAGE


def _headers(record: Record) -> dict[str, object]:
    return dict(headers_of(record) or [])


def _descriptor(headers: dict[str, object]) -> bytes:
    header = headers.get(descriptor.HEADER)
    if not isinstance(header, bytes):
        raise NotAMessageError(f"it has no header {descriptor.HEADER}")
    return header
